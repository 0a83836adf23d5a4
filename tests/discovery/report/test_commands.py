"""The lines of a report make its graph again."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from graph_cases import made_discovery

from acid_causal.discovery.discovery import Discovery, discover
from acid_causal.discovery.knowledge import Knowledge
from acid_causal.discovery.report.commands import python_lines, shell_lines
from acid_causal.tables.number_marks import Marks
from acid_causal.tables.table_file import Format
from acid_causal.weights.checkpoint import TrainedModel


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 60))
    return pd.DataFrame({"it's \u202e": a, "b": a + b, "c": b}).round(3)


def described(found: Discovery, **changes: Any) -> Discovery:
    return replace(found, provenance={**found.provenance, **changes})


@pytest.mark.filterwarnings("ignore::acid_causal.errors.AcidWarning")
def test_python_lines_run(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    # Semicolons and decimal commas: what pandas does not find out.
    frame.assign(d=1.0).to_csv("my 'table'.csv", index=False, sep=";", decimal=",", na_rep="?")
    known = Knowledge(forbid=(("b", "c"),), tiers=(("it's \u202e",), ("b",)))
    found = discover(frame, test="fisherz", alpha=0.1, max_size=1, knowledge=known)
    said = Format(missing=("?",)).said()
    file = {"name": "my 'table'.csv", "sha256": "", "format": said}
    lines = python_lines(described(found, file=file))
    assert "\u202e" not in lines  # escaped
    names: dict[str, Any] = {}
    exec(lines, names)
    assert capsys.readouterr().out == f"{found}\n"
    again = names["found"].provenance
    assert again["search"] == found.provenance["search"]
    assert again["knowledge"] == found.provenance["knowledge"]
    assert shell_lines(found) == ""  # no command takes another test


@pytest.mark.filterwarnings("ignore::acid_causal.errors.AcidWarning")
def test_lines_name_the_options(frame: pd.DataFrame, tiny_model: TrainedModel) -> None:
    table = frame.assign(
        kind=["r", "s"] * 30, size=pd.Categorical(["M", "S"] * 30, ["S", "M"], ordered=True)
    )
    found = discover(
        table[["b", "c", "kind", "size"]],
        model=tiny_model,
        bootstrap=2,
        n_jobs=1,
        orient="first",
        null="pooled",
        knowledge=Knowledge(require=(("b", "c"),)),
    )
    shell, python = shell_lines(found), python_lines(found)
    words = shlex.split(shell)
    assert words[:3] == ["acid-causal", "discover", "TABLE.csv"]
    for flag, value in (
        ("--alpha", "0.05"),
        ("--model", tiny_model.name),
        ("--null", "pooled"),
        ("--orient", "first"),
        ("--bootstrap", "2"),
        ("--fraction", "0.7"),
        ("--seed", "0"),
        ("--categorical", "kind"),
        ("--ordered", "size=S,M"),
        ("--require", "b,c"),
    ):
        assert words[words.index(flag) + 1] == value
    for part in (
        "pd.read_csv('TABLE.csv')[['b', 'c', 'kind', 'size']]",
        "null='pooled', orient='first', bootstrap=2, rows='subsample', fraction=0.7, seed=0",
        "categorical=['kind'], ordered={'size': ['S', 'M']}, knowledge=known",
        "Knowledge(require=(('b', 'c'),))",
    ):
        assert part in python, part
    compile(python, "lines", "exec")


def test_the_command_that_was_given_and_the_kind_of_file() -> None:
    found = made_discovery("ab", [])
    found = described(
        found,
        command="acid-causal discover x.xlsx",
        file={"name": "x.xlsx", "format": {"decimal": ","}},
    )
    assert shell_lines(found) == "acid-causal discover x.xlsx"
    assert "read_table_file(Path('x.xlsx'), Format.of(decimal=','))" in python_lines(found)
    assert Format.of(decimal=",") == Format(marks=Marks(decimal=","))
