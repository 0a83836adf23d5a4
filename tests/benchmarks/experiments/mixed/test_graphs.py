"""`mixed-graphs` in small."""

from pathlib import Path

from benchmarks.experiments.mixed.graphs import METHODS, MIXED_GRAPHS, make_jobs, report
from benchmarks.harness.jobs import Job
from benchmarks.harness.runner import attempt
from benchmarks.harness.store import frame


def test_settings_are_those_of_the_issue() -> None:
    jobs = make_jobs(METHODS, quick=False)
    acid = [job for job in jobs if job.method == "acid"]
    assert len(acid) == 3 * 4 * 5
    assert {job["d"] for job in acid} == {10, 20}
    assert {job["n"] for job in acid} == {500, 2000}
    assert {job["mechanism"] for job in jobs if job.method == "gsq"} == {"categorical"}
    # All methods get the same tables.
    cells = {
        method: [(job.setting, job.seed) for job in jobs if job.method == method]
        for method in METHODS
    }
    assert cells["acid"] == cells["degen_gauss"] == cells["cond_gauss"]
    assert set(cells["chisq"]) < set(cells["acid"])


def test_rows_and_report(tmp_path: Path) -> None:
    """Chi-square on categories, and a test that must be told which columns are categories."""
    jobs = [
        Job("mixed-graphs", method, (("mechanism", mechanism), ("d", 10), ("n", 500)), seed)
        for method, mechanism in (("chisq", "categorical"), ("degen_gauss", "linear"))
        for seed in range(2)
    ]
    rows = [attempt(MIXED_GRAPHS, job, 1) for job in jobs]
    assert [row["error"] for row in rows] == [""] * 4
    table = frame(rows, MIXED_GRAPHS.columns)
    assert table["precision"].min() > 0.5
    text = report(table, tmp_path / "mixed-graphs.png")
    assert "half of the columns are categories" in text
    assert "interval over 2 graphs." in text
    assert (tmp_path / "mixed-graphs.png").stat().st_size > 10_000
