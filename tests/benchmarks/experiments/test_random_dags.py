"""Questions on random DAGs: cells, power at an actual level, and the report."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from acid_causal.synthetic import QUESTION_DOMAINS
from benchmarks.command_line import run_experiment
from benchmarks.experiments import random_dags
from benchmarks.harness import folds
from benchmarks.harness.jobs import Job
from benchmarks.harness.runner import attempt
from benchmarks.metrics.ci_metrics import METRICS


def job(domain: str = "linear-gaussian", method: str = "fisherz", fold: int = 0) -> Job:
    setting = (("domain", domain), ("n", 120), ("d_z", 2), ("datasets", 20), ("fold", fold))
    return Job("random-dags", method, setting, seed=random_dags.FIRST_SEED + fold)


def test_cells_are_those_of_the_plan() -> None:
    assert set(random_dags.CELLS) == set(QUESTION_DOMAINS)
    jobs = random_dags.RANDOM_DAGS.jobs(["acid"], False)
    assert len(jobs) == 5 * (2 * 9 + 3 * 15)
    in_training = {(j["n"], j["d_z"]) for j in jobs if j["domain"] == "training"}
    assert {(300, 3), (300, 10)} < in_training
    assert sum(j.number("datasets") for j in jobs[:5]) == 200
    quick = random_dags.RANDOM_DAGS.jobs(["acid"], True)
    assert {j["domain"] for j in quick} == set(random_dags.CELLS)
    assert len(quick) < len(jobs) / 2


def test_rcit_is_asked_where_its_answers_say_something() -> None:
    jobs = random_dags.RANDOM_DAGS.jobs(["rcit"], False)
    cells = {(j.number("n"), j.number("d_z")) for j in jobs}
    assert (100, 0) in cells
    assert (200, 1) in cells
    assert not any(n <= 100 and d_z for n, d_z in cells)


def test_a_row_keeps_its_pvalues() -> None:
    row = attempt(random_dags.RANDOM_DAGS, job(), threads=1)
    assert row["error"] == ""
    independent, dependent = (
        [float(number) for number in row[f"pvalues_{kind}"].split()]
        for kind in ("independent", "dependent")
    )
    assert len(independent) == len(dependent) == 10
    assert float(row["type_1"]) == np.mean(np.array(independent) < 0.05)
    assert float(row["type_2"]) == pytest.approx(1 - np.mean(np.array(dependent) < 0.05))
    # All methods get the same datasets; another fold has others.
    again = attempt(random_dags.RANDOM_DAGS, job(), threads=1)
    assert again["pvalues_dependent"] == row["pvalues_dependent"]
    other = attempt(random_dags.RANDOM_DAGS, job(fold=1), threads=1)
    assert other["pvalues_dependent"] != row["pvalues_dependent"]


@pytest.mark.parametrize(
    ("independent", "dependent", "power"),
    [
        # 100 datasets: the five smallest p-values are rejected, the sixth is the threshold.
        (np.arange(1, 101) / 1000, np.array([0.0001, 0.0055, 0.006, 0.5]), 0.5),
        # A test that rejects everything alike has no power at any level below one.
        (np.zeros(100), np.zeros(50), 0.0),
        # With fewer than 20 datasets none may be rejected.
        (np.array([0.02, 0.5]), np.array([0.01, 0.02, 0.03, 0.6]), 0.25),
    ],
)
def test_power_at_an_actual_level(
    independent: np.ndarray, dependent: np.ndarray, power: float
) -> None:
    assert random_dags.power_at(independent[::-1], dependent) == power


def test_power_at_an_actual_level_undoes_a_bad_scale() -> None:
    """Squared p-values reject too often and order the datasets as before."""
    rng = np.random.default_rng(0)
    independent, dependent = rng.uniform(size=100), rng.uniform(size=100) ** 3
    assert random_dags.power_at(independent**2, dependent**2) == random_dags.power_at(
        independent, dependent
    )


def fold(domain: str, method: str, n: int, d_z: int, fold: int) -> dict[str, object]:
    return {
        **{"domain": domain, "method": method, "n": n, "d_z": d_z, "fold": fold},
        **dict.fromkeys(METRICS, 0.5),
        **{"type_1": 0.01 * d_z, "type_2": 0.25, "datasets": 40, "seconds_per_test": 0.1},
        "pvalues_independent": " ".join(str((k + 1 + 20 * fold) / 200) for k in range(20)),
        "pvalues_dependent": " ".join(["0.001"] * 15 + ["0.9"] * 5),
    }


def test_report_has_means_worst_cells_and_cells_one_by_one(tmp_path: Path) -> None:
    rows = [
        fold(domain, method, n, d_z, k)
        for domain in ("training", "steps")
        for method in ("fisherz", "rcit")
        for n, d_z in ((300, 0), (300, 8))
        for k in range(5)
    ]
    rows.pop()  # rcit, steps, d_z = 8 lacks a fold
    picture = tmp_path / "random-dags.png"
    text = random_dags.report(pd.DataFrame(rows), picture)
    lines = [line.split() for line in text.splitlines()]
    start = ["steps", "fisherz", "2", "0.500", "0.750", "0.040", "0.08", "(n=300,", "d_z=8)"]
    assert [*start, "0.750", "0.1"] in lines
    assert ["steps", "rcit", "1"] in [line[:3] for line in lines]
    for value in ("0.500", "0.750", "0.080"):  # AUC, power at the actual level, Type I error
        assert ["training", "300", "8", value, value] in lines
    assert "rcit runs at n >= 101" in text
    assert picture.stat().st_size > 10_000


def test_quick_run_makes_rows_table_and_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_dags, "QUICK_DATASETS", 2)
    monkeypatch.setattr(random_dags, "QUICK_CELLS", ((60, 1), (300, 2)))
    monkeypatch.setattr(random_dags, "CELLS", {"linear-gaussian": (), "steps": ()})
    assert run_experiment("random-dags", "fisherz,rcit", quick=True, out=tmp_path) == 0
    printed = capsys.readouterr().out
    assert "linear-gaussian" in printed
    assert (tmp_path / "random-dags.png").stat().st_size > 10_000
    rows = pd.read_csv(tmp_path / "random-dags.csv")
    assert rows["error"].isna().all()
    assert set(rows.loc[rows["method"] == "rcit", "n"]) == {300}
    assert len(rows) == 2 * folds.FOLDS * 3
