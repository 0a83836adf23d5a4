"""One search: causal-learn's own graph, with knowledge respected and nothing left behind."""

import os
import subprocess
import sys
import warnings
from itertools import combinations
from threading import Thread
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from causallearn.search.ConstraintBased.FCI import fci
from causallearn.search.ConstraintBased.PC import pc
from graph_cases import make_oracle
from oracle import FisherZTester, linear_data, random_dag

from acid_causal.causal_learn import acid
from acid_causal.discovery.knowledge import Knowledge
from acid_causal.discovery.mixed_graph import links, mark_between
from acid_causal.discovery.search import graph_search
from acid_causal.discovery.search.graph_search import search_graph
from acid_causal.errors import InputError, OptionError
from acid_causal.inference.tester import Tester
from acid_causal.tables.inputs import Table, read_table
from acid_causal.weights.checkpoint import TrainedModel


def named(data: np.ndarray) -> Table:
    return Table(data, tuple(f"X{k + 1}" for k in range(data.shape[1])), None)


@pytest.mark.parametrize(("seed", "alpha"), [(0, 0.05), (1, 0.2)])
def test_graphs_are_those_of_causal_learn(
    tiny_model: TrainedModel, seed: int, alpha: float, capsys: pytest.CaptureFixture[str]
) -> None:
    data = linear_data(random_dag(5, 2.5, seed), 60, seed)
    options = {"model": tiny_model, "show_progress": False}
    found = search_graph(named(data), alpha=alpha, model=tiny_model, orient_by="first")
    np.testing.assert_array_equal(found.endpoints, pc(data, alpha, acid, **options).G.graph)
    graph, _ = fci(data, acid, alpha, **options)
    capsys.readouterr()
    found = search_graph(named(data), method="fci", alpha=alpha, model=tiny_model)
    np.testing.assert_array_equal(found.endpoints, graph.graph)
    assert capsys.readouterr() == ("", "")


def test_every_question_is_written_down(tiny_model: TrainedModel, table: np.ndarray) -> None:
    found = search_graph(named(table), model=tiny_model, alpha=0.3)
    assert found.asked >= len(found.pvalues) <= found.computed
    answers = Tester(table, model=tiny_model).test_many(list(found.pvalues))
    for (question, pvalue), answer in zip(found.pvalues.items(), answers, strict=True):
        assert pvalue == pytest.approx(answer.pvalue, abs=1e-4), question
    linked = {(min(a, b), max(a, b)) for a, b, _ in links(found.endpoints)}
    for i, j, cond in found.pvalues:
        assert len(cond) <= 4
        worst = max(p for (x, y, _), p in found.pvalues.items() if (x, y) == (i, j))
        assert ((i, j) in linked) == (worst <= 0.3)


def test_a_largest_size(tiny_model: TrainedModel, table: np.ndarray) -> None:
    def sizes(**options: Any) -> set[int]:
        found = search_graph(named(table), model=tiny_model, alpha=0.3, **options)
        return {len(cond) for _, _, cond in found.pvalues}

    for method in ("pc", "fci"):
        assert max(sizes(method=method)) > 1  # so that the limit matters
        assert sizes(method=method, max_size=1) == {0, 1}


# ---- knowledge ---------------------------------------------------------------------------------


def test_keeping_a_pair_apart_makes_no_collider(monkeypatch: pytest.MonkeyPatch) -> None:
    # a -> b -> c: a and c are independent given b, which is asked after they were kept apart.
    table = make_oracle(monkeypatch, nx.relabel_nodes(nx.path_graph(3, nx.DiGraph), int))
    known = Knowledge(forbid=(("a", "c"), ("c", "a")))
    found = search_graph(table, knowledge=known)
    assert [tuple(link) for link in links(found.endpoints)] == [(0, 1, "---"), (1, 2, "---")]


def test_a_pair_that_is_independent_anyway_does_make_one(monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_oracle(monkeypatch, nx.DiGraph([(0, 1), (2, 1)]))
    known = Knowledge(forbid=(("a", "c"), ("c", "a")))
    found = search_graph(table, knowledge=known)
    assert [tuple(link) for link in links(found.endpoints)] == [(0, 1, "-->"), (2, 1, "-->")]


@pytest.mark.parametrize("method", ["pc", "fci"])
def test_required_edges_stay_and_point_as_required(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    table = make_oracle(monkeypatch, nx.DiGraph([(0, 1), (2, 3)]))
    known = Knowledge(require=(("d", "a"),))
    found = search_graph(table, knowledge=known, method=method)
    assert mark_between(found.endpoints, 3, 0) == "-->"
    assert found.pvalues[0, 3, ()] == 1.0  # what the data say is not hidden
    # It is asked once: no set could take the edge away.
    assert [question for question in found.pvalues if question[:2] == (0, 3)] == [(0, 3, ())]


@pytest.mark.parametrize("method", ["pc", "fci"])
def test_required_edges_that_the_data_do_not_show_cost_little(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Without care a search takes five times as long: its batches are foreseen wrongly."""
    dag = random_dag(20, 2.5, 1)
    table = named(linear_data(dag, 500, 1))
    testers: list[FisherZTester] = []

    def make_tester(table: Table, **_: Any) -> FisherZTester:
        testers.append(FisherZTester(table.values))
        return testers[-1]

    monkeypatch.setattr(graph_search, "Tester", make_tester)
    absent = [
        (table.columns[a], table.columns[b])
        for a, b in combinations(nx.topological_sort(dag), 2)
        if nx.is_d_separator(dag, {a}, {b}, set())
    ]
    for require in ((), (absent[0], absent[60], absent[120])):
        search_graph(table, method=method, knowledge=Knowledge(require=require))
    without, required = (tester.batches for tester in testers)
    assert sum(map(len, required)) <= 1.2 * sum(map(len, without))
    assert len(required) <= len(without) + 10  # FCI's later phases ask one by one


@pytest.mark.parametrize("method", ["pc", "fci"])
def test_tiers_point(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    table = make_oracle(monkeypatch, nx.path_graph(3, nx.DiGraph))
    assert {mark for *_, mark in links(search_graph(table).endpoints)} == {"---"}
    known = Knowledge(tiers=(("a",), ("b", "c")))
    found = search_graph(table, knowledge=known, method=method)
    assert mark_between(found.endpoints, 0, 1) == "-->"


# ---- neighbours --------------------------------------------------------------------------------


def test_warnings_of_a_search_that_fails_are_issued(
    tiny_model: TrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("no graph")

    monkeypatch.setattr(graph_search, "run_pc", fail)
    monkeypatch.setattr(graph_search, "ACID", lambda *_, **__: warnings.warn("odd", stacklevel=1))
    table = read_table(np.random.default_rng(0).normal(size=(30, 3)))
    with pytest.warns(UserWarning, match="odd"), pytest.raises(ValueError, match="no graph"):
        graph_search.search_graph(table, model=tiny_model)


def test_warnings_are_caught_with_the_names_of_columns(
    tiny_model: TrainedModel, table: np.ndarray
) -> None:
    names = tuple("abcdef")
    constant = table.copy()
    constant[:, 3] = 7.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = search_graph(Table(constant, names, None), model=tiny_model)
    assert found.warnings == ("constant columns are independent of everything (p = 1): d",)


def test_threads_are_left_as_they_were(tiny_model: TrainedModel, table: np.ndarray) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        search_graph(named(table), model=tiny_model, threads=1)
        assert torch.get_num_threads() == 2
        with pytest.raises(OptionError):
            search_graph(named(table), model=tiny_model, threads=1, device="tpu")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_searches_in_threads(tiny_model: TrainedModel, table: np.ndarray) -> None:
    expected = search_graph(named(table), model=tiny_model).endpoints
    showing = warnings.showwarning
    found = {}

    def search(number: int) -> None:
        found[number] = search_graph(named(table), model=tiny_model).endpoints

    threads = [Thread(target=search, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        np.testing.assert_array_equal(found[number], expected)
    assert warnings.showwarning is showing


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "ges"}, "unknown method 'ges'"),
        ({"alpha": 1.0}, "alpha must be between 0 and 1"),
        ({"alpha": "x"}, "alpha must be between 0 and 1, not 'x'"),
        ({"max_size": -1}, "max_size must be a whole number, 0 or more, not -1"),
        ({"max_size": 1.5}, "max_size must be a whole number"),
        ({"threads": 0}, "threads must be a whole number, 1 or more"),
        ({"knowledge": Knowledge(forbid=(("X1", "X9"),))}, "'X9'"),
        ({"prefetsh": True}, "unknown option"),
    ],
)
def test_mistakes(
    tiny_model: TrainedModel, table: np.ndarray, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        search_graph(named(table), model=tiny_model, **options)


def test_tables_without_a_graph(tiny_model: TrainedModel, table: np.ndarray) -> None:
    with pytest.raises(InputError, match="at least two columns"):
        search_graph(read_table(table[:, :1]), model=tiny_model)
    with pytest.raises(InputError, match="two columns are named 'a'"):
        search_graph(Table(table[:, :2], ("a", "a"), None), model=tiny_model)


SALTED = """
import sys
sys.path.insert(0, "tests")
from oracle import FisherZTester, linear_data, random_dag
from acid_causal.discovery.search import graph_search
from acid_causal.tables.inputs import Table
graph_search.Tester = lambda table, **options: FisherZTester(table.values)
table = Table(linear_data(random_dag(10, 4.0, 10), 300, 10), tuple("abcdefghij"), None)
print(graph_search.search_graph(table, method="fci").endpoints.tolist())
"""


@pytest.mark.slow
def test_fci_does_not_depend_on_the_salt_of_hashes() -> None:
    # With names that are plain strings these two salts give two graphs.
    printed = {
        subprocess.run(
            [sys.executable, "-c", SALTED],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": salt},
        ).stdout
        for salt in ("0", "1")
    }
    assert len(printed) == 1
