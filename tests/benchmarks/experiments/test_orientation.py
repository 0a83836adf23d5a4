"""`orientation`: one search a job, and the rules of causal-learn agree with ours."""

from pathlib import Path

from benchmarks.experiments import orientation
from benchmarks.harness.jobs import Job


def test_methods_get_the_same_table() -> None:
    jobs = orientation.ORIENTATION.jobs(["acid", "fisherz"], False)
    assert len(jobs) == 2 * 3 * sum(orientation.CELLS.values())
    assert (jobs[0].seed, jobs[0].setting) == (jobs[1].seed, jobs[1].setting)
    assert len(set(jobs)) == len(jobs)


def test_one_skeleton_and_every_rule() -> None:
    job = Job("orientation", "fisherz", (("mechanism", "linear"), ("d", 10), ("n", 200)), 9_100_000)
    results = orientation.run(job)
    assert set(results) == set(orientation.ORIENTATION.result_columns)
    assert results["shd_first"] == results["shd_0-2"]
    assert results["shd_both"] == results["shd_0-1"]
    assert results["more_first"] == results["more_separation"] == 0
    for rule in orientation.RULES:
        assert results[f"shd_{rule}"] >= results["skeleton_shd"]  # type: ignore[operator]


def test_the_readme_says_by_how_much_the_rules_help() -> None:
    """Its shares are those of the last table of results.md."""
    root = Path(__file__).parents[3]
    table = (root / "docs" / "results.md").read_text("utf-8").partition("Per cent below 0-2")[2]
    header, _, *rows = table.partition("\n\n")[2].splitlines()
    cells = next(row.split() for row in rows if row.split()[:2] == ["acid", "nonlinear"])
    below = dict(zip(header.split(), cells, strict=True))
    readme = " ".join((root / "README.md").read_text("utf-8").split())
    assert f"which lowers the SHD of nonlinear graphs by {below['1-3']} %" in readme
    assert f"together: {below['joint']} %" in readme
