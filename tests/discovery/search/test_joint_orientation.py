"""The order that agrees best with all triples, and the graph that it makes."""

from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from oracle import random_dag

from acid_causal.discovery.search.joint_orientation import agreeing_places
from acid_causal.discovery.search.meeks_rules import points
from acid_causal.discovery.search.orientation import Triple, orient
from acid_causal.discovery.search.skeleton import Skeleton, find_skeleton
from benchmarks.metrics.endpoints import cpdag_of


def _drawn(seed: int) -> tuple[np.ndarray, dict[tuple[int, int, int], float]]:
    rng = np.random.default_rng(seed)
    linked = np.triu(rng.random((6, 6)) < 0.6, 1)
    linked |= linked.T
    triples = [
        (a, b, c)
        for b in range(6)
        for a, c in combinations(np.flatnonzero(linked[b]).tolist(), 2)
        if not linked[a, c]
    ]
    return linked, dict(zip(triples, rng.normal(size=len(triples)).tolist(), strict=True))


def _total(places: np.ndarray, weights: dict[tuple[int, int, int], float]) -> float:
    return sum(w for (a, b, c), w in weights.items() if places[a] < places[b] > places[c])


def test_hardly_an_order_agrees_better() -> None:
    orders = np.array(list(permutations(range(6))))
    best = []
    for seed in range(20):
        linked, weights = _drawn(seed)
        found = agreeing_places(linked, weights, frozenset())
        assert sorted(found) == list(range(6))
        most = max(_total(order, weights) for order in orders)
        best.append(_total(found, weights) > most - 1e-9)
    assert sum(best) >= 18


@pytest.mark.parametrize("seed", range(10))
def test_forbidden_directions_are_kept_whatever_the_weights(seed: int) -> None:
    linked, weights = _drawn(seed)
    true = np.random.default_rng(seed).permutation(6)
    forbidden = {(i, j) for i, j in permutations(range(6), 2) if linked[i, j] and true[i] > true[j]}
    found = agreeing_places(linked, weights, sorted(forbidden)[::2])
    assert all(found[i] > found[j] for i, j in sorted(forbidden)[::2])


def test_without_triples_any_order_will_do() -> None:
    assert sorted(agreeing_places(np.zeros((3, 3), dtype=bool), {}, ())) == [0, 1, 2]


@pytest.mark.parametrize("seed", range(6))
def test_true_answers_give_the_true_graph(seed: int) -> None:
    dag = random_dag(8, 3.0, seed)

    def ask(x: int, y: int, cond: tuple[int, ...]) -> float:
        return float(nx.is_d_separator(dag, {x}, {y}, set(cond)))

    skeleton = find_skeleton(8, 0.05, ask, apart=(), max_size=None)
    found = orient(skeleton, "joint", ask, {})
    assert found.conflicts == ()
    np.testing.assert_array_equal(found.endpoints, cpdag_of(dag))


def test_several_colliders_outweigh_a_stronger_one() -> None:
    """1 - 0 is wanted by one collider at 1 with more evidence, and by two at 0 with some."""
    links = [(0, 1), (1, 2), (0, 3), (0, 4)]
    linked = np.zeros((5, 5), dtype=bool)
    for i, j in links:
        linked[i, j] = linked[j, i] = True
    pvalues = {(0, 2, ()): 0.9, (0, 2, (1,)): 0.1}
    pvalues |= {(1, 3, ()): 0.5, (1, 3, (0,)): 0.1, (1, 4, ()): 0.5, (1, 4, (0,)): 0.1}

    def ask(x: int, y: int, cond: tuple[int, ...]) -> float:
        return pvalues.get((x, y, cond), 0.3)

    apart = [pair for pair in combinations(range(5), 2) if pair not in links]
    sepsets: dict[tuple[int, int], list[tuple[int, ...]]]
    sepsets = {pair: [()] for i, j in apart for pair in ((i, j), (j, i))}
    skeleton = Skeleton(linked, sepsets, 1)
    greedy, joint = (orient(skeleton, rule, ask, {}) for rule in ("maxp", "joint"))
    assert points(greedy.endpoints, 0, 1)
    assert points(joint.endpoints, 1, 0)
    assert joint.conflicts == (Triple(0, 1, 2),)
