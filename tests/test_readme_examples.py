"""README's examples run, and print what README says they print."""

import contextlib
import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from causallearn.search.ConstraintBased.PC import pc
from typer.testing import CliRunner

from acid_causal import Tester, acid, ci_test
from acid_causal.cli import app
from acid_causal.errors import AcidError

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)
COMMANDS = sorted(set(re.findall(r"acid-causal ([a-z]+)", README)))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 2
    assert {"train", "calibrate", "test", "models"} <= set(COMMANDS)


def test_examples_print_what_readme_says() -> None:
    """In one namespace, as a reader would type them one after another."""
    namespace: dict[str, object] = {}
    for code, expected in EXAMPLES:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        assert printed.getvalue() == expected


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_exist(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0, result.output


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


TROUBLES: dict[str, Callable[[Path], object]] = {
    "columns that are not real numbers": lambda _: Tester(put("Paris", "b")),
    "missing values (NaN)": lambda _: Tester(put(np.nan, "b")),
    "infinite values": lambda _: Tester(put(np.inf, "b")),
    "a deterministic relation": lambda _: ci_test(X, Y, 2 * X),
    "which no regression follows if they are codes of categories": lambda _: ci_test(
        X, Y, np.arange(200) % 10
    ),
    "neighbouring rows": lambda _: ci_test(np.cumsum(X), np.cumsum(Y)),
    "of the rows repeat others": lambda _: Tester(np.repeat(DATA, 2, axis=0)).test(0, 1),
    "its p-values are extrapolated": lambda _: ci_test(X[:20], Y[:20]),
    "belongs to other data, weights or options": lambda folder: other_data(folder / "p.json"),
    "torch finds no GPU": lambda _: Tester(DATA, device="cuda"),
    "unknown option": lambda _: pc(DATA, indep_test=acid, modl="acid-base", show_progress=False),
}


def test_troubles_are_those_of_readme() -> None:
    section = README.partition("## When something goes wrong")[2].partition("\n## ")[0]
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
