"""Mistakes are told before anything heavy is loaded, in the words of those who use the option."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import RunCommand

import acid_causal
from acid_causal.cli.options import check_options
from acid_causal.errors import ModelError, OptionError

# What takes seconds to load.
HEAVY = ("torch", "causallearn", "matplotlib", "scipy", "sklearn")


MISTAKES = [
    ("discover none.csv", "No such file"),
    ("discover data.csv", "'kind' (an identifier, it seems"),
    ("discover data.csv --method ges", "unknown method 'ges'"),
    ("discover data.csv --rows all", "unknown value of rows: 'all'"),
    ("discover data.csv --alpha 0", "alpha must be between 0 and 1"),
    ("discover data.csv --model acid-bse", "Did you mean 'acid-base'"),
    ("discover data.csv --columns a,c", "unknown column 'c'"),
    ("discover data.csv --columns a,b --knowledge none.toml", "cannot read the knowledge"),
    ("test data.csv a c", "unknown column 'c'"),
    ("test data.csv a b --alpha 1", "alpha must be between 0 and 1"),
    ("test data.csv a b --null poled", "Did you mean 'pooled'"),
    ("test data.csv a b --draws 99", "--draws needs --null checked"),
    ("discover data.csv --null pooled --permutations 199", "--permutations needs --null permut"),
    ("finetune data.csv --model none.safetensors", "there is no weights file"),
    ("calibrate acid-bse out.safetensors", "Did you mean 'acid-base'"),
]

RUN = f"""
import contextlib, io, json, sys
from acid_causal.cli import main

ends = {{}}
for command in json.load(sys.stdin):
    with contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            main(command.split())
        except SystemExit as end:
            ends[command] = end.code, err.getvalue(), sorted(set({HEAVY}) & set(sys.modules))
json.dump(ends, sys.stdout)
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, list[str]]]:
    """How each command ends, and what it loads: in one other process, as this one has torch."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "data.csv").write_text("a,b,kind\n1,2,x\n3,4,y\n5,9,z\n0,8,w\n")
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps([command for command, _ in MISTAKES]),
        capture_output=True,
        text=True,
        cwd=folder,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    read: dict[str, tuple[int, str, list[str]]] = json.loads(done.stdout)
    return read


@pytest.mark.parametrize(("command", "message"), MISTAKES)
def test_mistakes_are_cheap(
    ends: dict[str, tuple[int, str, list[str]]], command: str, message: str
) -> None:
    code, told, loaded = ends[command]
    assert (code, loaded) == (2, [])
    assert message in told
    assert len(told.splitlines()) == 1


def test_values_of_options(tmp_path: Path) -> None:
    check_options(model="acid-base", missing="drop", null="permutation", method="fci", rows=None)
    with pytest.raises(OptionError, match="unknown model"):
        check_options(model="nothing-like-it")
    with pytest.raises(ModelError, match="there is no weights file"):
        check_options(model=str(tmp_path))
    with pytest.raises(OptionError, match="fraction must be"):
        check_options(model="acid-base", fraction=0)


def test_version(run_command: RunCommand) -> None:
    done = run_command("--version")
    assert (done.code, done.out) == (0, f"acid-causal {acid_causal.__version__}\n")
