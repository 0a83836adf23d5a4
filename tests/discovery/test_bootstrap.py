"""Graphs of many samples: the same whatever computes them."""

import os
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from graph_cases import matrix

from acid_causal.discovery.bootstrap import GraphFrequencies, bootstrap_graphs
from acid_causal.discovery.discovery import discover
from acid_causal.discovery.knowledge import Knowledge
from acid_causal.discovery.search.graph_search import GraphSearch, search_graph
from acid_causal.errors import InputError, OptionError
from acid_causal.tables.inputs import Table
from acid_causal.weights.checkpoint import TrainedModel
from benchmarks.documents.examples import write_data


@pytest.fixture
def data(table: np.ndarray) -> Table:
    return Table(table, tuple("abcdef"), None)


def test_frequencies() -> None:
    graphs = [
        matrix(3, [(0, 1, "-->")]),
        matrix(3, [(0, 1, "<--")]),
        matrix(3, [(1, 2, "o->")]),
        matrix(3, [(0, 1, "-->")]),
    ]
    found = GraphFrequencies(tuple("abc"), np.stack(graphs), {})
    assert found.marks(0, 1) == {"-->": 0.5, "<--": 0.25, "": 0.25}
    assert found.marks(1, 0) == {"<--": 0.5, "-->": 0.25, "": 0.25}
    np.testing.assert_array_equal(found.adjacency(), [[0, 0.75, 0], [0.75, 0, 0.25], [0, 0.25, 0]])


def test_the_whole_table_as_a_sample(tiny_model: TrainedModel, data: Table) -> None:
    found = bootstrap_graphs(data, samples=2, fraction=1.0, model=tiny_model, alpha=0.2)
    expected = search_graph(data, model=tiny_model, alpha=0.2).endpoints
    for graph in found.graphs:
        np.testing.assert_array_equal(graph, expected)
    assert (found.adjacency() > 0).any()


@pytest.mark.parametrize("method", ["pc", "fci"])
def test_the_seed_decides(tiny_model: TrainedModel, data: Table, method: str) -> None:
    options: dict[str, Any] = {"samples": 2, "model": tiny_model, "alpha": 0.2, "method": method}
    # With fewer columns samples often have the same graph.
    data = Table(data.values[:, :5], data.columns[:5], None)
    first = bootstrap_graphs(data, **options, seed=1)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        again = bootstrap_graphs(data, **options, seed=1)
    np.testing.assert_array_equal(first.graphs, again.graphs)
    other = bootstrap_graphs(data, **options, seed=2)
    assert not np.array_equal(first.graphs, other.graphs)
    fewer = bootstrap_graphs(data, **{**options, "samples": 1}, seed=1)
    np.testing.assert_array_equal(first.graphs[:1], fewer.graphs)


def test_rows_with_repetition(
    tiny_model: TrainedModel, data: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def search(table: Table, **options: Any) -> GraphSearch:
        sizes.append((len(table.values), len(np.unique(table.values[:, 0]))))
        return search_graph(table, **options)

    monkeypatch.setattr("acid_causal.discovery.bootstrap.search_graph", search)
    bootstrap_graphs(data, samples=1, model=tiny_model)
    bootstrap_graphs(data, samples=1, model=tiny_model, rows="bootstrap")
    bootstrap_graphs(data, samples=1, model=tiny_model, fraction=0.5)
    (a, distinct_a), (b, distinct_b), (c, distinct_c) = sizes
    assert (a, distinct_a) == (84, 84)
    assert b == 120
    assert 60 < distinct_b < 90  # about 1 - 1/e of them
    assert (c, distinct_c) == (60, 60)


def test_missing_values_and_knowledge_reach_the_samples(
    tiny_model: TrainedModel, table: np.ndarray
) -> None:
    gaps = table.copy()
    gaps[5, 0] = np.nan
    known = Knowledge(require=(("X1", "X6"),))
    with pytest.raises(InputError, match="missing values"):
        bootstrap_graphs(gaps, samples=1, model=tiny_model)
    found = bootstrap_graphs(gaps, samples=3, model=tiny_model, missing="drop", knowledge=known)
    assert found.marks(0, 5) == {"-->": 1.0}
    assert found.adjacency()[0, 5] == 1.0


def test_warnings_are_counted(tiny_model: TrainedModel, data: Table) -> None:
    constant = data.values.copy()
    constant[:, 2] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = bootstrap_graphs(Table(constant, data.columns, None), samples=3, model=tiny_model)
    assert found.warnings == {
        "constant columns are independent of everything (p = 1): c": 3,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": "jackknife"}, "unknown value of rows: 'jackknife'"),
        ({"fraction": 0.0}, "fraction must be"),
        ({"fraction": 1.5}, "fraction must be"),
        ({"fraction": "0.5"}, "fraction must be"),
        ({"samples": 0}, "samples must be a whole number, 1 or more, not 0"),
        ({"samples": 2.5}, "samples must be a whole number, 1 or more, not 2.5"),
        ({"seed": -1}, "seed must be a whole number, 0 or more, not -1"),
        ({"seed": None}, "seed must be a whole number, 0 or more, not None"),
    ],
)
def test_mistakes(
    tiny_model: TrainedModel,
    data: Table,
    options: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(OptionError, match=message):
        bootstrap_graphs(data, model=tiny_model, **options)


def test_too_few_rows(tiny_model: TrainedModel, table: np.ndarray) -> None:
    with pytest.raises(InputError, match="3 of 5 rows are too few"):
        bootstrap_graphs(table[:5], fraction=0.6, model=tiny_model)


@pytest.mark.slow
def test_processes_give_the_same(tiny_model: TrainedModel, data: Table) -> None:
    one = bootstrap_graphs(data, samples=6, model=tiny_model, alpha=0.2, method="fci")
    two = bootstrap_graphs(data, samples=6, model=tiny_model, alpha=0.2, method="fci", n_jobs=2)
    np.testing.assert_array_equal(one.graphs, two.graphs)


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same(tmp_path: Path) -> None:
    """Runs the script of the document, in a process that ends the cluster's threads."""
    pytest.importorskip("distributed")
    text = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n([^`]*distributed[^`]*)```", text)
    (tmp_path / "cluster.py").write_text(code)
    write_data(tmp_path / "data.csv")
    done = subprocess.run(
        [sys.executable, "cluster.py"], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    alone = discover(pd.read_csv(tmp_path / "data.csv").drop(columns="id"), bootstrap=8)
    said = [f"{edge}: in {edge.confidence:.0%} of the samples" for edge in alone.edges]
    assert done.stdout.splitlines() == said, done.stderr


SCRIPT = """
import numpy as np
from acid_causal.discovery.bootstrap import bootstrap_graphs
values = np.random.default_rng(0).normal(size=(200, 30)) @ np.ones((30, 30))
bootstrap_graphs(values + np.random.default_rng(1).normal(size=(200, 30)), samples=500, n_jobs=2)
"""


@pytest.mark.slow
def test_workers_end_with_a_killed_parent() -> None:
    psutil = pytest.importorskip("psutil")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment) as parent:
        workers: list[Any] = []
        deadline = time.monotonic() + 120
        while len(workers) < 2 and time.monotonic() < deadline:
            time.sleep(0.5)
            children = psutil.Process(parent.pid).children(recursive=True)
            # A worker of joblib's that computes, and not its tracker of resources.
            workers = [child for child in children if child.cpu_times().user > 10]
        parent.kill()
    gone, alive = psutil.wait_procs(workers, timeout=10)
    assert (len(gone), alive) == (2, [])
