"""`acid-causal finetune`: a weights file for a table, and how it fails."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import RunCommand

from acid_causal.training import finetuning
from acid_causal.weights.checkpoint import TrainedModel, load_model


@pytest.fixture
def csv(tmp_path: Path, table: np.ndarray, tiny_model: TrainedModel) -> Path:
    tiny_model.save(tmp_path / "tiny.safetensors")
    path = tmp_path / "data.csv"
    frame = pd.DataFrame(table, columns=list("abcdef"))
    frame.assign(kind="text").to_csv(path, index=False)
    return path


@pytest.fixture
def command(csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str | Path]:
    monkeypatch.chdir(tmp_path)
    return [
        "finetune",
        csv,
        "--model",
        "tiny.safetensors",
        "--steps",
        "2",
        "--device",
        "cpu",
        "--null-questions",
        "1000",
    ]


@pytest.mark.slow
def test_finetune(run_command: RunCommand, command: list[str | Path]) -> None:
    done = run_command(*command, "--drop", "kind", "--seed", "3")
    assert done.code == 0
    assert done.out == "wrote data-acid.safetensors; use it with --model data-acid.safetensors\n"
    model = load_model("data-acid.safetensors")
    assert model.history["finetuned"][0]["steps"] == 2
    done = run_command(
        *command, "--drop", "kind", "--seed", "3", "--out", "b.safetensors", "--json"
    )
    assert json.loads(done.out) == {
        "name": model.name,
        "path": "b.safetensors",
        "sha256": model.sha256,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--categorical", "a"], "categories of too many levels: 'a'"),
        (["--columns", "a"], "column"),
        (["--drop", "kind,g"], "unknown column 'g'"),
        (["--drop", "kind", "--out", "model.pt"], "--out must be a .safetensors file"),
        (["--drop", "kind", "--model", "acid-bse"], "Did you mean 'acid-base'"),
    ],
)
def test_mistakes_end_with_a_message(
    run_command: RunCommand, command: list[str | Path], options: list[str], message: str
) -> None:
    done = run_command(*command, *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_missing_values(run_command: RunCommand, command: list[str | Path], csv: Path) -> None:
    frame = pd.read_csv(csv).drop(columns="kind")
    frame.loc[0, "a"] = np.nan
    frame.to_csv(csv, index=False)
    done = run_command(*command)
    assert done.code == 2
    assert "or pass --missing drop" in done.err


def test_a_tuned_model_is_not_lost_where_it_cannot_be_written(
    run_command: RunCommand,
    command: list[str | Path],
    tiny_model: TrainedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place, elsewhere = tmp_path / "place", tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))

    def tune(*_: object, **__: object) -> TrainedModel:
        place.write_text("no folder")
        return tiny_model

    monkeypatch.setattr(finetuning, "finetune", tune)
    done = run_command(*command, "--drop", "kind", "--out", place / "mine.safetensors")
    (kept,) = elsewhere.iterdir()
    assert done.code == 1
    assert done.err.startswith("error: cannot write")
    assert done.err.endswith(f"The model is now in {str(kept)!r}\n")
    assert load_model(kept).sha256 == tiny_model.sha256
