"""`graphs`: jobs, one row by hand, means over graphs, the report."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.data.random_sems import random_table
from benchmarks.experiments import graphs
from benchmarks.harness import search
from benchmarks.harness.committed import committed
from benchmarks.harness.jobs import Job
from benchmarks.harness.runner import attempt
from benchmarks.harness.store import frame


def test_settings_are_those_of_the_evaluation_plan() -> None:
    jobs = graphs.GRAPHS.jobs(["acid"], False)
    assert len(jobs) == 3 * (8 * 10 + 50)
    assert {job["mechanism"] for job in jobs} == {"mlp", "additive-gp", "linear"}
    assert {job["d"] for job in jobs} == {10, 20, 30}
    assert {job["n"] for job in jobs} == {200, 500, 1000}


def test_kci_is_asked_where_it_is_cheap() -> None:
    jobs = graphs.GRAPHS.jobs(["kcit"], False)
    assert {(job["d"], job["n"]) for job in jobs} == {(10, 200), (10, 500), (20, 200), (30, 200)}


def test_the_checked_null_is_asked_on_few_rows_and_variables() -> None:
    jobs = graphs.GRAPHS.jobs(["acid-checked"], False)
    assert {(job["d"], job["n"]) for job in jobs} == {(10, 200), (10, 500), (20, 200)}


def test_methods_get_the_same_table() -> None:
    one, other = graphs.GRAPHS.jobs(["rcit", "fisherz"], True)[:2]
    assert (one.method, other.method) == ("rcit", "fisherz")
    assert (one.seed, one.setting) == (other.seed, other.setting)


def test_a_true_cpdag_is_at_distance_nought(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job("graphs", "rcit", (("mechanism", "mlp"), ("d", 10), ("n", 200)), 1)
    dag = random_table(10, 200, "mlp", 1).dag
    from benchmarks.metrics.endpoints import cpdag_of

    found = search.Search(cpdag_of(dag), tests_asked=7, tests_computed=5, seconds=0.1)
    monkeypatch.setattr(search, "search", lambda *args, **kwargs: found)
    results = graphs.run(job)
    assert results == {
        "edges": 20,
        "f1": 1.0,
        "precision": 1.0,
        "recall": 1.0,
        "cpdag_shd": 0,
        "tests_asked": 7,
        "tests_computed": 5,
        "search_seconds": 0.1,
    }


def rows_of(cells: list[tuple[str, int, int, str]], count: int) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "mechanism": mechanism,
                "d": d,
                "n": n,
                "method": method,
                "seed": seed,
                "f1": 0.5 + 0.1 * seed,
                "cpdag_shd": 10 + seed,
                "tests_computed": 40,
                "search_seconds": 1.0,
            }
            for mechanism, d, n, method in cells
            for seed in range(count)
        ]
    )


def test_means_by_hand_and_failed_graphs() -> None:
    rows = rows_of([("mlp", 10, 200, "acid"), ("mlp", 10, 200, "rcit")], 3)
    summary = graphs.summarise(rows[:-1])  # a graph of RCIT failed
    assert summary["method"].tolist() == ["acid"]
    row = summary.iloc[0]
    assert row["f1"] == pytest.approx(0.6)
    # sd .1 over three graphs; the 97.5 % point of Student's t with 2 degrees is 4.303.
    assert row["f1_half"] == pytest.approx(4.303 * 0.1 / np.sqrt(3), rel=1e-3)
    assert row["cpdag_shd"] == 11


def test_cells_may_differ_in_their_number_of_graphs(tmp_path: Path) -> None:
    few, many = rows_of([("mlp", 20, 500, "acid")], 2), rows_of([("mlp", 10, 200, "acid")], 5)
    rows = pd.concat([few, many])
    assert graphs.summarise(rows)["f1"].tolist() == pytest.approx([0.55, 0.7])
    assert len(graphs.summarise(rows[:-1])) == 2  # a graph that all methods lack is none
    text = graphs.report(rows, tmp_path / "graphs.png")
    assert "95 % interval over 2 graphs, 5 at d = 10, n = 200." in text


def test_report_has_methods_side_by_side(tmp_path: Path) -> None:
    cells = [
        (mechanism, d, n, method)
        for mechanism in ("mlp", "linear")
        for d in (10, 20)
        for n in (200, 500)
        for method in ("acid", "kcit")
        if method != "kcit" or d == 10
    ]
    picture = tmp_path / "graphs.png"
    text = graphs.report(rows_of(cells, 2), picture)
    lines = [line.split() for line in text.splitlines()]
    assert ["mechanism", "d", "n", "acid", "kcit"] in lines
    assert ["mlp", "20", "200", "0.550", "±0.635", "–"] in lines
    assert f"kcit {graphs.KCI_NOTE}" in text
    assert picture.stat().st_size > 10_000


def test_a_quick_row_is_whole() -> None:
    job = graphs.GRAPHS.jobs(["fisherz"], True)[0]
    row = attempt(graphs.GRAPHS, job, 1)
    assert row["error"] == ""
    table = frame([row], graphs.GRAPHS.columns)
    assert 0 < float(table["f1"].iloc[0]) <= 1
    assert 0 < int(table["edges"].iloc[0]) <= 45


def test_every_cell_has_its_rows() -> None:
    rows, absent = committed(graphs.GRAPHS)
    assert not absent
    cells = rows.groupby(["mechanism", "d", "n"])["method"].nunique()
    assert len(cells) == 27
    assert cells.min() == 5
