"""`consistency` in small."""

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.data.plain_cases import CASES
from benchmarks.experiments.consistency import CONSISTENCY, make_jobs, report, run
from benchmarks.harness.jobs import Job
from benchmarks.methods import FAST


def test_a_job_counts_rejections_of_both_forms() -> None:
    setting = (("case", "linear"), ("n", 200), ("d_z", 1), ("datasets", 20))
    found = run(Job("consistency", "fisherz", setting, 0))
    assert set(found) == set(CONSISTENCY.result_columns)
    assert float(found["type_1"] or 0) <= 0.2
    assert found["power"] == 1.0
    assert float(found["log10_median_p"] or 0) < -10
    lost = run(Job("consistency", "fisherz", (("case", "squares"), *setting[1:]), 0))
    assert float(lost["type_1"] or 0) > 0.8  # what a linear test makes of a common square


def test_slow_methods_are_asked_where_they_can_run() -> None:
    jobs = make_jobs(CONSISTENCY.methods, quick=False)
    reach = {
        method: max(j.number("n") for j in jobs if j.method == method)
        for method in CONSISTENCY.methods
    }
    slow = {FAST: 1000, "acid-checked": 200, "kcit": 200, "rcit": 4000, "andrey-rcot": 4000}
    assert reach == {"acid": 20_000, "fisherz": 20_000, **slow}
    assert {str(job["case"]) for job in jobs} == set(CASES)


@pytest.mark.filterwarnings("ignore:Data has no positive values")
def test_the_report_names_the_worst_case(tmp_path: Path) -> None:
    rows = pd.DataFrame(
        [
            {
                "method": "acid",
                "case": case,
                "n": n,
                "d_z": 1,
                "datasets": 200,
                "type_1": error,
                "power": 1 - error,
                "log10_median_p": -5.0,
                "seconds_per_test": 0.01,
            }
            for n in (200, 1000)
            for case, error in (("linear", 0.04), ("squares", 0.5))
        ]
    )
    text = report(rows, tmp_path / "consistency.png")
    assert (tmp_path / "consistency.png").stat().st_size > 10_000
    for line in text.splitlines()[3:]:
        if line.strip().startswith(("acid", "| acid")):
            assert "0.50 (squares, d_z=1)" in line
