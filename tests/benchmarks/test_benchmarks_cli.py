import dataclasses
import os
import runpy
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from benchmarks import command_line as command
from benchmarks.experiments import EXPERIMENTS
from benchmarks.harness import runner
from benchmarks.harness.jobs import Experiment, Job
from benchmarks.harness.tables import aligned


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


def test_a_part_of_an_experiment(with_toy: None, tmp_path: Path) -> None:
    words = ["toy", "--out", str(tmp_path), "--only", "n=1", "--only", "n=4"]
    result = CliRunner().invoke(command.app, words)
    assert result.exit_code == 0
    assert result.output == f"Rows: {tmp_path / 'toy.csv'}\n"
    rows = pd.read_csv(tmp_path / "toy.csv")
    assert rows["n"].tolist() == [1, 4]
    CliRunner().invoke(command.app, [*words, "--only", "outcome=blank", "--only", "seed=4"])
    assert pd.read_csv(tmp_path / "toy.csv").equals(rows)  # it is there


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("n", "a condition is NAME=VALUE, as in n=200, and not 'n'"),
        ("rows=1", "unknown setting 'rows'"),
        ("n=5", "unknown value of n '5'"),
    ],
)
def test_a_part_that_is_not_there(condition: str, says: str, with_toy: None) -> None:
    for name, message in (("toy", says), ("all", "jobs of one experiment")):
        result = CliRunner().invoke(command.app, [name, "--only", condition])
        assert result.exit_code == 2
        # Typer wraps lines within a frame.
        assert message in " ".join(result.output.replace("│", " ").split())


STAND_IN = """
import os, sys

def run():
    print(os.environ["PYTHONHASHSEED"], hash("Raf"), *sys.argv[1:])
"""


def test_module_starts_anew_with_a_fixed_hash_seed(tmp_path: Path) -> None:
    """Real processes, and a stand-in for the command line, whose imports take seconds."""
    package = tmp_path / "benchmarks"
    package.mkdir()
    shutil.copy(Path(command.__file__).with_name("__main__.py"), package)
    (package / "__init__.py").write_text("")
    (package / "command_line.py").write_text(STAND_IN)
    asked = ["sachs-graph", "--quick"]

    def printed(words: list[str], seed: str) -> list[str]:
        return subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=tmp_path,
        ).stdout.split()

    expected = printed(["-c", "print(hash('Raf'))"], "0")
    assert printed(["-m", "benchmarks", *asked], "7") == ["0", *expected, *asked]


def test_module_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")  # so that it does not start anew
    words = ["sachs-graph", "--methods", "fisherz", "--quick", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["benchmarks", *words])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("benchmarks", run_name="__main__")
    assert ended.value.code == 0
    assert "FCI" in capsys.readouterr().out
    assert (tmp_path / "sachs-graph.png").exists()


def test_all_goes_on_after_a_failure(
    toy: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(rows: object, picture: object) -> str:
        raise ZeroDivisionError("a report that cannot be made")

    def only_good(methods: object, quick: bool) -> list[Job]:
        return toy.jobs(methods, quick)[:1]  # type: ignore[arg-type]

    broken = dataclasses.replace(toy, name="broken", jobs=only_good, report=breaks)
    good = dataclasses.replace(toy, name="good", jobs=only_good)
    other = dataclasses.replace(toy, name="other", methods=("rcit",))
    every = {experiment.name: experiment for experiment in (broken, toy, good, other)}
    monkeypatch.setattr(command, "EXPERIMENTS", every)

    arguments = ["all", "--out", str(tmp_path), "--methods", "fisherz"]
    result = CliRunner().invoke(command.app, arguments)
    assert result.exit_code == 1
    summary = {line.split()[0]: line for line in result.stdout.splitlines()[-4:]}
    assert "ZeroDivisionError: a report that cannot be made" in summary["broken"]
    assert "2 jobs failed" in summary["toy"]
    assert " ok " in summary["good"]
    assert "has none of these methods" in summary["other"]
    assert (tmp_path / "good.csv").exists()
    assert not (tmp_path / "other.csv").exists()

    monkeypatch.setattr(command, "EXPERIMENTS", {"good": good})
    assert CliRunner().invoke(command.app, arguments[:3]).exit_code == 0


def test_all_refuses_a_method_that_no_experiment_has(with_toy: None) -> None:
    result = CliRunner().invoke(command.app, ["all", "--methods", "fisher-z"])
    assert result.exit_code == 2
    assert "Did you mean 'fisherz'" in " ".join(result.output.replace("│", " ").split())


def test_jobs_that_cannot_run_here_are_left_out(
    toy: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = dataclasses.replace(toy, runs_here=lambda job: job["outcome"] == "good")
    monkeypatch.setattr(command, "EXPERIMENTS", {"toy": here})
    assert command.run_experiment("toy", out=tmp_path) == 0
    assert len((tmp_path / "toy.csv").read_text().splitlines()) == 2


def test_aligned_table() -> None:
    text = aligned(("test", "F1"), [("acid", 0.5), ("kci", None), ("z", float("nan"))])
    assert text.splitlines() == [
        "test     F1",
        "----  -----",
        "acid  0.500",
        "kci       –",
        "z         –",
    ]


def test_ctrl_c_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)  # the signal comes first

    monkeypatch.setattr(runner, "attempt", interrupted)
    words = ["graphs", "--quick", "--methods", "fisherz", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["benchmarks", *words])
    # A shell that runs the tests in the background makes them ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as ended:
            command.run()
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.value.code == 130
    errors = capsys.readouterr().err
    assert errors.splitlines()[-1].startswith("stopped; finished rows are kept")
    assert "Traceback" not in errors
