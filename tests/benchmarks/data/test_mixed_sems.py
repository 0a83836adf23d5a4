"""Random mixed tables: their kinds, and that their graph is the truth about them."""

import itertools

import networkx as nx
import numpy as np
import pytest

from acid_causal.errors import OptionError
from benchmarks.data.mixed_model import MOST_LEVELS
from benchmarks.data.mixed_sems import MECHANISMS, mixed_table
from benchmarks.data.random_sems import random_dag


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kinds_and_graph(mechanism: str) -> None:
    table = mixed_table(10, 300, mechanism, 0)
    assert table.data.shape == (300, 10)
    assert np.isfinite(table.data).all()
    assert len(table.categorical) == (10 if mechanism == "categorical" else 5)
    for column, values in enumerate(table.data.T):
        levels = len(set(values))
        if column in table.categorical:
            assert 1 < levels <= MOST_LEVELS
            assert (values == values.astype(int)).all()
        else:
            assert levels == 300
    # The columns are the graph's variables in another order.
    assert list(table.dag) == list(range(10))
    assert nx.is_directed_acyclic_graph(table.dag)
    assert nx.is_isomorphic(table.dag, random_dag(10, 0))


def test_tables_share_rows_and_graphs() -> None:
    few, many, other = (
        mixed_table(10, n, "nonlinear", seed) for n, seed in ((100, 3), (400, 3), (100, 4))
    )
    np.testing.assert_array_equal(few.data, many.data[:100])
    assert few.dag.edges == many.dag.edges
    assert not np.array_equal(few.data, other.data)


def test_effects_follow_their_causes() -> None:
    """Lines: numbers that share no ancestor are uncorrelated, causes and effects mostly are not."""
    apart, linked = [], []
    for seed in range(20):
        table = mixed_table(10, 2000, "linear", seed)
        numbers = [k for k in range(10) if k not in table.categorical]
        ancestors = {k: nx.ancestors(table.dag, k) | {k} for k in numbers}
        correlation = np.asarray(np.corrcoef(table.data.T))
        for i, j in itertools.combinations(numbers, 2):
            if not ancestors[i] & ancestors[j]:
                apart.append(abs(correlation[i, j]))
            elif table.dag.has_edge(i, j) or table.dag.has_edge(j, i):
                linked.append(abs(correlation[i, j]))
    assert len(apart) > 20
    assert np.mean(np.array(apart) > 0.0438) < 0.2  # the 5 % point of 2,000 rows
    assert np.mean(np.array(linked) > 0.0438) > 0.8


def test_unknown_mechanism() -> None:
    with pytest.raises(OptionError, match="unknown mechanism 'lineer'"):
        mixed_table(10, 100, "lineer", 0)
