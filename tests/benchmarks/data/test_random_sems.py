"""Random models: graphs with 2 d edges, and tables whose columns go with the graph."""

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import stats

from acid_causal.errors import OptionError
from acid_causal.synthetic import mechanisms
from benchmarks.data import random_sems
from benchmarks.data.random_sems import MECHANISMS, additive_gp, random_dag, random_table
from benchmarks.harness.search import search
from benchmarks.metrics.graph_metrics import skeleton_scores


@pytest.mark.parametrize("d", [10, 20, 30])
def test_graphs_are_dags_with_two_edges_a_variable(d: int) -> None:
    dags = [random_dag(d, seed) for seed in range(5)]
    for dag in dags:
        assert nx.is_directed_acyclic_graph(dag)
        assert (dag.number_of_nodes(), dag.number_of_edges()) == (d, 2 * d)
    assert len({frozenset(dag.edges) for dag in dags}) == len(dags)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_columns_are_standardised(mechanism: str) -> None:
    table = random_table(10, 200, mechanism, seed=3)
    assert table.data.shape == (200, 10)
    np.testing.assert_allclose(table.data.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(table.data.std(axis=0), 1)
    assert list(table.dag) == list(range(10))
    assert table.dag.number_of_edges() == 20
    np.testing.assert_array_equal(table.data, random_table(10, 200, mechanism, seed=3).data)


def test_tables_of_one_model_share_their_rows_and_graph() -> None:
    small, large = (random_table(10, n, "mlp", seed=1) for n in (200, 500))
    for one, other in zip(small.data.T, large.data[:200].T, strict=True):
        assert np.corrcoef(one, other)[0, 1] == pytest.approx(1)
    assert set(small.dag.edges) == set(large.dag.edges)
    other = random_table(10, 200, "linear", seed=1)
    assert set(other.dag.edges) == set(small.dag.edges)
    assert not np.allclose(other.data, small.data)


def test_columns_come_in_no_causal_order() -> None:
    # With 20 edges in each of 20 graphs, half of all edges run against the numbers: 4 sigma.
    edges = [edge for seed in range(20) for edge in random_table(10, 50, "linear", seed).dag.edges]
    against = sum(cause > effect for cause, effect in edges)
    assert abs(against - 200) < 4 * 10


def test_the_graph_is_that_of_the_columns() -> None:
    # An edge of a linear model leaves a partial correlation given all other parents of its effect,
    # up to weak weights; with the columns of another graph half of them would be nought.
    hits = total = 0
    for seed in range(5):
        table = random_table(10, 2000, "linear", seed)
        for cause, effect in table.dag.edges:
            others = [parent for parent in table.dag.predecessors(effect) if parent != cause]
            design = np.column_stack([np.ones(2000), table.data[:, others]])
            left = [
                values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
                for values in (table.data[:, cause], table.data[:, effect])
            ]
            hits += stats.pearsonr(*left).pvalue < 0.01
            total += 1
    assert hits / total > 0.85


def test_noise_lets_fisher_z_recover_linear_models() -> None:
    f1 = []
    for seed in range(10):
        table = random_table(10, 1000, "linear", seed)
        f1.append(skeleton_scores(search("pc", "fisherz", table.data).endpoints, table.dag).f1)
    assert 0.75 < np.mean(f1) < 0.9


def test_additive_draws_are_additive_and_never_trained_on() -> None:
    grid = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])[None]
    generator = torch.Generator().manual_seed(0)
    draws = [additive_gp(grid, torch.ones(1, 2), generator)[0] for _ in range(20)]
    for drawn in draws:
        # No interaction: the mixed difference over a rectangle is nought.
        assert float(drawn[3] - drawn[2] - drawn[1] + drawn[0]) == pytest.approx(0, abs=1e-5)
        assert float(drawn.std()) > 0
    trained = {**mechanisms.TRAINING, **mechanisms.HELD_OUT}
    assert additive_gp not in trained.values()
    # A cause of strength 0 is no cause.
    without = additive_gp(grid, torch.tensor([[1.0, 0.0]]), generator)[0]
    assert float(without[1] - without[0]) == pytest.approx(0, abs=1e-6)


def test_unknown_mechanisms_are_told() -> None:
    with pytest.raises(OptionError, match="Did you mean 'linear'"):
        random_table(10, 50, "liner", 0)
    with pytest.raises(AssertionError):
        random_table(10, random_sems.LARGEST_N + 1, "linear", 0)
