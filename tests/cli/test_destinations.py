"""No command writes over what it reads, nor over what others made."""

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import RunCommand

from acid_causal.cli.destinations import claim_file, claim_folder
from acid_causal.discovery.report.file_names import FILES
from acid_causal.errors import OptionError, WriteError
from acid_causal.training import trainer


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: np.ndarray) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(table[:, :3], columns=list("abc")).to_csv("edges.csv", index=False)


def discover(run_command: RunCommand, weights: Path, *options: object) -> tuple[int, str]:
    done = run_command("discover", "edges.csv", "--model", weights, *options)
    return done.code, done.err


@pytest.mark.parametrize("options", [[], ["--overwrite"]])
def test_the_table_is_never_written_over(
    run_command: RunCommand, weights: Path, options: list[str]
) -> None:
    before = Path("edges.csv").read_bytes()
    code, err = discover(run_command, weights, "--out", ".", *options)
    assert (code, len(err.splitlines())) == (2, 1)
    assert "would be written over 'edges.csv', which is read" in err
    Path("results").mkdir()
    os.link("edges.csv", "results/sepsets.csv")
    code, err = discover(run_command, weights, "--out", "results", *options)
    assert (code, "over 'results/sepsets.csv', which is read" in err) == (2, True)
    assert Path("edges.csv").read_bytes() == before
    assert sorted(os.listdir()) == ["edges.csv", "results", "tiny.safetensors"]


def test_files_of_others_stay_unless_told(run_command: RunCommand, weights: Path) -> None:
    Path("mine").mkdir()
    Path("mine/graph.png").write_text("mine")
    Path("mine/notes.txt").write_text("mine")
    code, err = discover(run_command, weights, "--out", "mine")
    assert (code, err) == (
        2,
        "error: --out: 'mine' holds graph.png, which no earlier run has "
        "written; name another folder, or pass --overwrite\n",
    )
    assert sorted(os.listdir("mine")) == ["graph.png", "notes.txt"]
    assert discover(run_command, weights, "--out", "mine", "--overwrite") == (0, "")
    assert sorted(os.listdir("mine")) == sorted([*FILES, "notes.txt"])
    # What an earlier run wrote may go; what stands beside it stays.
    assert discover(run_command, weights, "--out", "mine", "--alpha", "0.2") == (0, "")
    assert Path("mine/notes.txt").read_text() == "mine"


def test_the_folder_one_is_in(run_command: RunCommand, weights: Path, tmp_path: Path) -> None:
    shutil.copy("edges.csv", "data.csv")
    done = run_command("discover", "data.csv", "--model", weights, "--out", tmp_path / "results")
    os.chdir("results")
    done = run_command("discover", "../data.csv", "--model", weights, "--out", ".")
    assert done.code == 0
    assert sorted(os.listdir(tmp_path / "results")) == sorted(FILES)


def test_weights_are_not_written_over(run_command: RunCommand, weights: Path) -> None:
    before = weights.read_bytes()
    for command in (
        ["calibrate", weights, weights],
        ["calibrate", weights, weights, "--overwrite"],
        ["finetune", "edges.csv", "--model", weights, "--out", weights, "--overwrite"],
    ):
        done = run_command(*command)
        assert (done.code, "which is read" in done.err) == (2, True)
    shutil.copy(weights, "other.safetensors")
    for command in (
        ["calibrate", weights, "other.safetensors"],
        ["finetune", "edges.csv", "--model", weights, "--out", "other.safetensors"],
    ):
        done = run_command(*command)
        assert (done.code, "is there already" in done.err) == (2, True)
    assert weights.read_bytes() == before


def test_training_leaves_finished_weights(
    run_command: RunCommand, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = weights.read_bytes()
    Path("recipe.toml").write_text('name = "tiny"\n')
    done = run_command("train", "recipe.toml", "--out", weights.parent)
    assert (done.code, "tiny.safetensors' is there already" in done.err) == (2, True)
    for more in ([], ["--overwrite"]):
        done = run_command(
            "train", "recipe.toml", "--out", weights.parent, "--from", weights, *more
        )
        assert (done.code, "which is read" in done.err) == (2, True)
    assert weights.read_bytes() == before
    monkeypatch.setattr(trainer, "train_model", lambda *_, **__: weights)
    done = run_command("train", "recipe.toml", "--out", weights.parent, "--overwrite")
    assert (done.code, done.out) == (0, f"wrote {weights}\n")


def test_claims_make_nothing(tmp_path: Path) -> None:
    claim_file("--out", Path("deep/er/file"), read=[], overwrite=False)
    claim_folder("--out", Path("deep/er"), FILES, read=[], overwrite=False)
    assert os.listdir() == ["edges.csv"]
    assert claim_file("--out", Path("~/new"), read=[], overwrite=False).is_absolute()
    with pytest.raises(OptionError, match="--out must be a folder"):
        claim_folder("--out", Path("edges.csv"), FILES, read=[], overwrite=True)
    with pytest.raises(OptionError, match="--out must be a file"):
        claim_file("--out", tmp_path, read=[], overwrite=True)
    with pytest.raises(WriteError, match="cannot write to the folder"):
        claim_folder("--out", Path("edges.csv/below"), FILES, read=[], overwrite=True)
