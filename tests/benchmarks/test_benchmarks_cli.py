import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks import __main__ as command
from benchmarks.experiments import EXPERIMENTS
from benchmarks.jobs import Experiment
from benchmarks.tables import aligned


@pytest.fixture
def with_toy(toy: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXPERIMENTS, "toy", toy)


def test_failures_are_listed_and_end_the_run_with_1(with_toy: None, tmp_path: Path) -> None:
    result = CliRunner().invoke(command.app, ["toy", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "2 good rows" in result.output
    assert "FAILED (1 of 4 rows): fisherz: RuntimeError: two lines" in result.output
    assert (tmp_path / "toy.csv").exists()


def test_unknown_names_are_told_with_the_closest(with_toy: None, tmp_path: Path) -> None:
    result = CliRunner().invoke(command.app, ["sachs-grph"])
    assert result.exit_code == 2
    assert "sachs-graph" in result.output
    result = CliRunner().invoke(command.app, ["toy", "--methods", "kci"])
    assert result.exit_code == 2
    assert "unknown method 'kci'" in result.output


def test_quick_rows_stay_out_of_the_results(
    with_toy: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    CliRunner().invoke(command.app, ["toy", "--quick"])
    assert (tmp_path / "runs" / "quick" / "toy.csv").exists()
    assert not (tmp_path / "results").exists()


def test_module_runs_with_a_fixed_hash_seed(tmp_path: Path) -> None:
    arguments = ["-m", "benchmarks", "sachs-graph", "--methods", "fisherz", "--quick"]
    done = subprocess.run(
        [sys.executable, *arguments, "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
        cwd=Path(command.__file__).parents[1],
    )
    assert "FCI" in done.stdout
    assert (tmp_path / "sachs-graph.png").exists()


def test_aligned_table() -> None:
    text = aligned(("test", "F1"), [("acid", 0.5), ("kci", None), ("z", float("nan"))])
    assert text.splitlines() == [
        "test     F1",
        "----  -----",
        "acid  0.500",
        "kci       –",
        "z         –",
    ]
