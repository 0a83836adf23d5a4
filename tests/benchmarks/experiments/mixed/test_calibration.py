"""`mixed-calibration` in small."""

from pathlib import Path

import pandas as pd

from benchmarks.experiments.mixed.calibration import (
    DIMENSIONS,
    METHODS,
    MIXED_CALIBRATION,
    make_jobs,
    report,
    run,
)
from benchmarks.harness.jobs import Job


def cell(**setting: str | int) -> tuple[tuple[str, str | int], ...]:
    return tuple({"pair": "category-category", "given": "categorical", **setting}.items())


def test_a_job_computes_type_1_errors() -> None:
    job = Job("mixed-calibration", "chisq", cell(n=1000, d_z=1, datasets=100), 0)
    found = run(job)
    assert set(found) == set(MIXED_CALIBRATION.result_columns)
    at_01, at_05, at_10 = (float(found[f"type_1_at_{level}"] or 0) for level in ("01", "05", "10"))
    assert at_01 <= at_05 <= at_10
    assert 0.02 <= at_10 <= 0.25


def test_each_method_gets_the_kinds_that_it_can_answer() -> None:
    jobs = make_jobs(METHODS, quick=False)
    assert {job["given"] for job in jobs if job.method == "chisq"} == {"categorical"}
    assert {job["pair"] for job in jobs if job.method == "chisq"} == {"category-category"}
    of_acid = [job.setting for job in jobs if job.method == "acid"]
    assert len(of_acid) == 3 * 3 * (3 * len(DIMENSIONS) - 1)  # one member is not mixed
    assert of_acid == [job.setting for job in jobs if job.method == "cond_gauss"]


def test_the_report(tmp_path: Path) -> None:
    rows = pd.DataFrame(
        {
            **dict(cell(n=n, d_z=d_z, datasets=1000)),
            "method": method,
            "type_1_at_01": 0.01,
            "type_1_at_05": error,
            "type_1_at_10": 0.1,
            "seconds_per_test": 0.002,
        }
        for n in (200, 500)
        for d_z, error in ((1, 0.04), (2, 0.06))
        for method in ("acid", "gsq")
    )
    text = report(rows, tmp_path / "mixed-calibration.png")
    assert (tmp_path / "mixed-calibration.png").stat().st_size > 10_000
    (line,) = (line for line in text.splitlines() if " acid " in line)
    assert line.split("acid")[1].split() == [*("0.050", "[0.040,", "0.060]") * 2, "0.010", "2.000"]
    assert "over |Z| of 1, 2;" in text
    assert "1000 independent datasets" in text
