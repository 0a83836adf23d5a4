"""`mixed` in small."""

from pathlib import Path

import pandas as pd

from benchmarks.experiments.mixed.questions import METHODS, MIXED, make_jobs, report, run
from benchmarks.harness.jobs import Job

SETTING = (("relation", "nonlinear"), ("pair", "category-category"), ("given", "categorical"))


def test_a_job_computes_metrics() -> None:
    job = Job("mixed", "chisq", (*SETTING, ("n", 300), ("d_z", 1), ("datasets", 40)), 0)
    found = run(job)
    assert set(found) == set(MIXED.result_columns)
    assert float(found["auc"] or 0) > 0.8
    assert float(found["type_1"] or 0) <= 0.2


def test_methods_are_asked_what_they_can_answer() -> None:
    jobs = make_jobs(METHODS, quick=False)
    assert {job["given"] for job in jobs if job.method == "gsq"} == {"categorical"}
    assert {job["pair"] for job in jobs if job.method == "gsq"} == {"category-category"}
    assert {job["n"] for job in jobs if job.method == "pillai"} == {500}
    assert {job["d_z"] for job in jobs if job["given"] == "mixed"} == {2, 4}
    sampled = [job for job in jobs if job.method == "cmiknn-mixed"]
    assert {(job["n"], job["d_z"], job["datasets"]) for job in sampled} == {(500, 2, 20)}
    assert len(sampled) == 2 * 9 - 1  # nothing is linear among categories
    cells = [job.setting for job in jobs if job.method == "acid"]
    assert len(cells) == 2 * (2 * 3 * (2 + 3 + 3) - 3)


def test_the_report(tmp_path: Path) -> None:
    row = {"relation": "linear", "given": "numeric", "n": 500, "d_z": 1, "datasets": 200}
    rows = pd.DataFrame(
        [
            {**row, "pair": pair, "method": method, "auc": auc, "type_1": 0.05, "power": 0.9}
            | {"seconds_per_test": 0.01}
            for pair in ("numeric-numeric", "numeric-category")
            for method, auc in (("acid", 0.95), ("cond_gauss", 0.85))
        ]
    )
    text = report(rows, tmp_path / "mixed.png")
    assert (tmp_path / "mixed.png").stat().st_size > 10_000
    lines = [line for line in text.splitlines() if "numeric-category" in line]
    assert ["0.95" in line for line in lines] == [True, False]
    assert "100 independent and 100 dependent" in text
    assert "cmiknn" not in text


def test_the_report_tells_what_is_sampled(tmp_path: Path) -> None:
    row = {"relation": "linear", "pair": "numeric-numeric", "given": "numeric", "n": 500, "d_z": 2}
    scores = {"auc": 0.9, "type_1": 0.05, "power": 0.9, "seconds_per_test": 0.01}
    rows = pd.DataFrame(
        {**row, "datasets": datasets, "method": method, **scores}
        for method, datasets in (("acid", 200), ("cmiknn-mixed", 20))
    )
    text = report(rows, tmp_path / "mixed.png")
    assert "100 independent and 100 dependent" in text
    assert "cmiknn-mixed: n = 500, |Z| = 2, 20 datasets a cell." in text
