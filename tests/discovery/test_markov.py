"""The check of a graph: the true one passes, a wrong one fails as often as chance."""

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from oracle import linear_data, random_dag

from acid_causal.discovery import markov
from acid_causal.discovery.markov import MarkovCheck, check_markov, extend
from acid_causal.discovery.search.other_tests import OtherTester
from acid_causal.errors import InputError, OptionError
from acid_causal.tables.inputs import Question, Table
from benchmarks.metrics.endpoints import cpdag_of

COLUMNS = tuple("abcdefgh")


@pytest.fixture
def fisherz(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fisher-z answers, so that the test knows the truth about linear data."""
    monkeypatch.setattr(markov, "Tester", lambda table, **_: OtherTester(table, "fisherz"))


@pytest.mark.parametrize("seed", range(8))
def test_a_cpdag_is_extended_to_a_dag_of_its_class(seed: int) -> None:
    dag = random_dag(8, 2.5, seed)
    cpdag = cpdag_of(dag).astype(np.int8)
    found = extend(cpdag)
    np.testing.assert_array_equal(cpdag_of(found), cpdag)


def test_contradictions_give_a_dag_of_the_same_adjacencies() -> None:
    cycle = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], dtype=np.int8)
    both = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=np.int8)
    for marks in (cycle, both):
        dag = extend(marks)
        assert nx.is_directed_acyclic_graph(dag)
        assert dag.number_of_edges() == np.triu(marks != 0).sum()
    with pytest.raises(InputError, match="takes PC's graphs"):
        extend(np.array([[0, 2], [2, 0]], dtype=np.int8))


@pytest.mark.usefixtures("fisherz")
def test_the_truth_passes_and_names_at_random_do_not() -> None:
    dag = random_dag(8, 2.0, 3)
    table = Table(linear_data(dag, 1000, 3), COLUMNS, None)
    right = check_markov(table, cpdag_of(dag).astype(np.int8))
    # Of the implied independences .05 fail by chance; tests of one pair are alike.
    assert right.implied > 20
    assert right.failed < 0.2
    assert right.pvalue == 0.01
    assert "implied independences fail" in str(right)
    order = np.random.default_rng(0).permutation(8)
    wrong = check_markov(table, cpdag_of(dag).astype(np.int8)[np.ix_(order, order)])
    assert wrong.failed > 0.3
    assert wrong.pvalue > 0.05
    first = wrong.violations[0]
    assert first.pvalue <= wrong.violations[-1].pvalue <= 0.05
    assert first.a in COLUMNS


def test_known_pvalues_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markov, "Tester", None)
    chain = cpdag_of(nx.DiGraph([(0, 1), (1, 2)])).astype(np.int8)
    known: dict[Question, float] = {(i, j, ()): 0.001 for i, j in ((0, 1), (0, 2), (1, 2))}
    known |= {(0, 1, (2,)): 0.001, (0, 2, (1,)): 0.7, (1, 2, (0,)): 0.001}
    table = Table(np.zeros((10, 3)), COLUMNS[:3], None)
    check = check_markov(table, chain, known=known, relabelings=9)
    assert (check.implied, check.failed, check.violations) == (1, 0.0, ())
    assert set(check.permuted) == {0.0, 1.0}  # with b in the middle, or with a or c


def test_a_full_graph_implies_nothing() -> None:
    table = Table(np.zeros((10, 2)), COLUMNS[:2], None)
    check = check_markov(table, np.array([[0, -1], [-1, 0]], dtype=np.int8))
    assert check.pvalue == 1.0
    assert str(check) == "the graph implies no independence that could be tested"
    with pytest.raises(InputError, match="3 variables, and the table 2 columns"):
        check_markov(table, np.zeros((3, 3), dtype=np.int8))
    with pytest.raises(OptionError, match="relabelings"):
        check_markov(table, np.zeros((2, 2), dtype=np.int8), relabelings=0)


def test_types_of_columns_are_read_with_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Table] = []

    def tester(table: Table, **_: object) -> OtherTester:
        read.append(table)
        return OtherTester(table, "chisq")

    monkeypatch.setattr(markov, "Tester", tester)
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 4, (60, 3)), columns=list("abd"))
    empty = np.zeros((3, 3), dtype=np.int8)
    check_markov(frame, empty, categorical=["d"], ordered=["b"])
    check_markov(frame, empty, categorical=None)
    assert [list(table.categories) for table in read] == [[2], []]
    assert [list(table.ordered) for table in read] == [[1], []]
    with pytest.raises(OptionError, match="not read yet"):
        check_markov(read[0], empty, categorical=["d"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": "x"}, "alpha must be between 0 and 1, not 'x'"),
        ({"max_size": 0.5}, r"max_size must be a whole number, 0 or more, not 0\.5"),
        ({"relabelings": 2.5}, r"relabelings must be a whole number, 1 or more, not 2\.5"),
        ({"seed": -1}, "seed must be a whole number, 0 or more, not -1"),
    ],
)
@pytest.mark.usefixtures("wrong_types")
def test_mistakes(options: dict[str, Any], message: str) -> None:
    table = Table(np.zeros((10, 2)), COLUMNS[:2], None)
    with pytest.raises(OptionError, match=message):
        check_markov(table, np.zeros((2, 2), dtype=np.int8), **options)


def test_the_pvalue_counts_the_graph_itself() -> None:
    assert MarkovCheck(10, (), (0.0, 0.2, 0.3), 0.05, 1).pvalue == 0.5
