"""README and docs/: code runs and prints what they say, commands exist, messages are in the words.

What is done with a block of code:

- python: runs; what it prints must be the block of text that follows.
- toml: is read as a recipe or as background knowledge.
- bash: each line is a command. `acid-causal discover`, `test` and `models` run, on the table that
  the Python examples have, too. Fine-tuning, training and benchmarks run for a few steps, among
  the slow tests. Of all others, the command, its options and the files that it names must exist:
  `make`, `pip`, `pytest`, `torchrun`, `python -m benchmarks.readme`.
- text, bibtex: not code.
"""

import contextlib
import re
import shlex
import tomllib
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import typer.main
from causallearn.search.ConstraintBased.PC import pc
from typer.testing import CliRunner

from acid_causal import Tester, acid, ci_test, discover
from acid_causal.cli import app
from acid_causal.discovery.knowledge import Knowledge
from acid_causal.errors import AcidError
from acid_causal.weights.recipe import Recipe
from benchmarks.command_line import app as benchmarks_app
from benchmarks.data.plain_cases import draw_case
from benchmarks.documents.examples import with_outputs, write_data
from benchmarks.experiments import EXPERIMENTS
from benchmarks.readme import main as fill_documents

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCUMENTS = [README, *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in DOCUMENTS}
LANGUAGES = {"python", "bash", "toml", "text", "bibtex"}
# Fine-tuning, in which the null distribution is fitted, takes most of a minute.
SLOW = {"training.md"}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_readme_is_short() -> None:
    lines = TEXTS["README.md"].splitlines()
    assert len(lines) <= 130
    assert len(TEXTS["README.md"].split()) <= 1000
    assert [line for line in lines if len(line) > 120] == []


@pytest.mark.parametrize("name", TEXTS)
def test_every_block_says_its_language(name: str) -> None:
    fences = re.findall(r"^```(.*)$", TEXTS[name], re.MULTILINE)
    assert set(fences[::2]) <= LANGUAGES
    assert set(fences[1::2]) <= {""}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name, text in TEXTS.items()
        if blocks(text, "python")
    ],
)
def test_examples_print_what_the_document_says(name: str, tmp_path: Path) -> None:
    """`python -m benchmarks.readme` writes what they print now."""
    assert with_outputs(TEXTS[name], tmp_path) == TEXTS[name]


@pytest.mark.parametrize("content", [b for text in TEXTS.values() for b in blocks(text, "toml")])
def test_toml_is_a_recipe_or_knowledge(content: str) -> None:
    table = tomllib.loads(content)
    if "name" in table:
        assert Recipe.from_dict(table).to_dict()["name"] == table["name"]
    else:
        assert set(Knowledge.from_dict(table).to_dict()) == set(table)


# ---- commands ----------------------------------------------------------------------

LINES = {
    line.partition("    #")[0].strip(): name
    for name, text in TEXTS.items()
    for block in blocks(text, "bash")
    for line in block.splitlines()
}
RUN = ("discover", "test", "models")


def test_there_are_commands() -> None:
    asked = {line.split()[1] for line in LINES if line.startswith("acid-causal")}
    assert asked == set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("line", LINES)
def test_commands_are_known(line: str) -> None:
    program, *words = shlex.split(line)
    if program == "acid-causal":
        parse(typer.main.get_command(app), words)
    elif program == "torchrun":
        assert words[1:4] == ["-m", "acid_causal.cli", "train"]
        parse(typer.main.get_command(app), words[3:])
    elif program == "pip":
        assert words[0] == "install"
        extras = re.fullmatch(r"\.(?:\[([\w,]+)\])?", words[1])
        assert extras, line
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert set((extras[1] or "dev").split(",")) <= set(project["optional-dependencies"])
    elif program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in words)
    else:
        parse_python(program, words)


def parse_python(program: str, words: list[str]) -> None:
    assert program in ("python", ".venv/bin/python")
    assert words.pop(0) == "-m"
    module, *words = words
    if module == "benchmarks":
        parse(typer.main.get_command(benchmarks_app), words)
        assert words[0] in {*EXPERIMENTS, "all"}
    elif module == "benchmarks.readme":
        command = typer.Typer()
        command.command()(fill_documents)
        parse(typer.main.get_command(command), words[: words.index(">")] if ">" in words else words)
    else:
        assert module == "pytest"
        assert all((ROOT / word).exists() for word in words if "/" in word)


def parse(command: Any, words: list[str]) -> None:
    """Reads the words as the command would; it fails at an unknown option or a missing argument."""
    context = command.make_context("command", list(words))
    if hasattr(command, "resolve_command"):
        name, chosen, rest = command.resolve_command(context, list(words))
        chosen.make_context(name, list(rest))


KNOWN = 'tiers = [["A", "B"], ["X", "Y"]]\n'


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=[pytest.mark.slow] if "--bootstrap" in line else [])
        for line in LINES
        if line.startswith(tuple(f"acid-causal {name}" for name in RUN)) and "--model" not in line
    ],
)
def test_commands_run(line: str, tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        write_data(tmp_path / "data.csv")
        (tmp_path / "known.toml").write_text(KNOWN, encoding="utf-8")
        words = shlex.split(line)[1:]
        result = CliRunner().invoke(app, words, obj=words)
    assert result.exit_code == 0, result.output


# What makes a command take seconds instead of minutes.
SHORTENED = {
    "acid-causal finetune": "--steps 2 --null-questions 1000",
    "acid-causal discover": "",
    "acid-causal train": "--null-questions 1000",
    "acid-causal calibrate": "--questions 1000",
    "python -m benchmarks sachs-graph": "--out results",
    "python -m benchmarks graphs": "--quick --out results",
}
LONG = {
    name: [line for line in LINES if LINES[line] == name and line.startswith(tuple(SHORTENED))]
    for name in ("README.md", "training.md", "contributing.md")
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_long_commands_run_when_shortened(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after another, as the document has them: some read what others wrote."""
    read = Recipe.read

    def read_short(path: Path) -> Recipe:
        recipe = read(path)
        return replace(recipe, training=replace(recipe.training, steps=2))

    monkeypatch.setattr(Recipe, "read", read_short)
    write_data(tmp_path / "data.csv")
    for block in blocks(TEXTS[name], "toml"):
        (tmp_path / "recipe.toml").write_text(block, encoding="utf-8")
    assert LONG[name]
    with contextlib.chdir(tmp_path):
        for line in LONG[name]:
            short = next(words for start, words in SHORTENED.items() if line.startswith(start))
            program, *words = shlex.split(f"{line} {short}")
            if program == "python":
                words = words[words.index("benchmarks") + 1 :]
            command = app if program == "acid-causal" else benchmarks_app
            result = CliRunner().invoke(command, words, obj=words)
            assert result.exit_code == 0, (line, result.output)


# ---- messages ----------------------------------------------------------------------


DATA = np.random.default_rng(0).normal(size=(200, 4))
FRAME = pd.DataFrame(DATA, columns=list("abcd"))
X, Y = DATA[:, 0], DATA[:, 1]


def put(value: object, column: str) -> pd.DataFrame:
    frame = FRAME.astype(object) if isinstance(value, str) else FRAME.copy()
    frame.loc[3, column] = value
    return frame


def other_data(cache: Path) -> None:
    for data in (DATA, DATA + 1):
        pc(data, 0.05, indep_test=acid, cache_path=str(cache), show_progress=False)


def ask_case(case: str) -> None:
    ci_test(*draw_case(case, 300, 1, dependent=False, seed=0), model="acid-ranks")


TROUBLES: dict[str, Callable[[Path], object]] = {
    "columns that are neither numbers nor texts": lambda _: Tester(put("Paris", "b")),
    "categories of too many levels": lambda _: Tester(
        FRAME.assign(b=[f"person {k}" for k in range(200)])
    ),
    "few different whole numbers": lambda _: discover(FRAME.assign(b=np.arange(200) % 5)),
    "missing values (NaN)": lambda _: Tester(put(np.nan, "b")),
    "causal-learn takes arrays alone": lambda _: pc(FRAME, 0.05, acid, show_progress=False),
    "infinite values": lambda _: Tester(put(np.inf, "b")),
    "a deterministic relation": lambda _: ci_test(X, Y, 2 * X),
    "rows are too few": lambda _: ci_test(X[:30], Y[:30], DATA[:30].repeat(10, axis=1)),
    "which regressions cannot fit if they are codes of unordered categories": lambda _: ci_test(
        X, Y, np.arange(200) % 10
    ),
    "tests two categories": lambda _: ci_test(
        *(pd.Series([f"level {k % count}" for k in range(200)]) for count in (3, 7)),
        model="acid-ranks",
    ),
    "neighbouring rows": lambda _: ci_test(np.cumsum(X), np.cumsum(Y)),
    "Z explains nearly all of both variables": lambda _: ask_case("two sensors, 10 % noise"),
    "Z has a wide gap": lambda _: ask_case("clusters"),
    "Z moves the scale of both variables": lambda _: ask_case("strong volatility"),
    "of the rows repeat others": lambda _: Tester(np.repeat(DATA, 2, axis=0)).test(0, 1),
    "its p-values are extrapolated": lambda _: ci_test(X[:20], Y[:20], model="acid-ranks"),
    "belongs to other data, weights or options": lambda folder: other_data(folder / "p.json"),
    "torch finds no GPU": lambda _: Tester(DATA, device="cuda"),
    "unknown option": lambda _: pc(DATA, indep_test=acid, modl="acid-base", show_progress=False),
}


def test_troubles_are_those_of_the_document() -> None:
    section = TEXTS["limits.md"].partition("## What the messages mean")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(.*?)` \|", section, re.MULTILINE) == list(TROUBLES)


@pytest.mark.parametrize("message", TROUBLES)
def test_troubles_are_told_in_these_words(message: str, tmp_path: Path) -> None:
    if "GPU" in message and torch.cuda.is_available():
        pytest.skip("there is one")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        told = ""
        try:
            TROUBLES[message](tmp_path)
        except AcidError as error:
            told = str(error)
    assert message in "\n".join([told, *(str(warning.message) for warning in caught)])
