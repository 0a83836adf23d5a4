"""The prefetch must change no answer, and must neither miss nor waste when it knows alpha."""

from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
from causallearn.graph.GraphClass import CausalGraph
from causallearn.graph.GraphNode import GraphNode
from causallearn.search.ConstraintBased.FCI import fci
from causallearn.utils.cit import register_ci_test
from causallearn.utils.FAS import fas
from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge
from causallearn.utils.PCUtils.SkeletonDiscovery import skeleton_discovery
from oracle import CountingTester, FisherZThroughACID, linear_data, random_dag

from acid_causal.causal_learn.prefetch import ALWAYS_ALLOWED, FIRST, SECOND, LevelPrefetch
from acid_causal.tables.inputs import Question


class AskedToo(FisherZThroughACID):
    """Remembers each distinct question and how often an answer was not ready."""

    made: ClassVar[list["AskedToo"]] = []

    def __init__(self, data: np.ndarray, **options: Any) -> None:
        super().__init__(data, **options)
        self.asked: dict[Question, float] = {}
        self.made.append(self)

    def __call__(self, X: Any, Y: Any, condition_set: Any = None, *args: object) -> float:
        pvalue = super().__call__(X, Y, condition_set, *args)
        key = (min(X, Y), max(X, Y), tuple(sorted(condition_set)))
        self.asked[key] = pvalue
        return pvalue

    @property
    def waste(self) -> int:
        return self.n_computed - len(self.asked)

    def n_levels(self) -> int:
        return 1 + max(len(cond) for _, _, cond in self.asked)


register_ci_test("acid-asked-too", AskedToo)


def skeleton(
    data: np.ndarray,
    alpha: float = 0.05,
    stable: bool = True,
    knowledge: BackgroundKnowledge | None = None,
    **options: Any,
) -> tuple[AskedToo, CausalGraph]:
    test = AskedToo(data, **options)
    graph = skeleton_discovery(
        data, alpha, test, stable, background_knowledge=knowledge, show_progress=False
    )
    return test, graph


class KeepsRequired(AskedToo):
    """Keeps pairs adjacent, as a search with required edges does."""

    def __init__(self, data: np.ndarray, required: Any = frozenset(), **options: Any) -> None:
        super().__init__(data, required=required, **options)
        self._required = required

    def __call__(self, X: Any, Y: Any, condition_set: Any = None, *args: object) -> float:
        required = (min(X, Y), max(X, Y)) in self._required
        if required and condition_set:
            return 0.0
        pvalue = super().__call__(X, Y, condition_set, *args)
        return 0.0 if required else pvalue


@pytest.mark.parametrize("seed", range(5))
def test_required_pairs_cost_no_guess_and_bring_no_miss(seed: int) -> None:
    data = table(seed)
    plain, _ = skeleton(data)
    asked = [(int(i), int(j)) for i, j, cond in plain.asked if not cond]
    absent = [pair for pair in asked if plain.asked[*pair, ()] > 0.3][::5]
    assert len(absent) > 2
    test = KeepsRequired(data, required=frozenset(absent))
    graph = skeleton_discovery(data, 0.05, test, show_progress=False)
    assert all(graph.G.graph[pair] for pair in absent)
    assert test.n_computed == len(test.asked)  # no waste
    assert test.n_batches <= test.n_levels() + 3  # no miss
    assert {q[:2] for q in test.asked if q[2]}.isdisjoint(absent)


def waste_limit(test: AskedToo) -> int:
    return len(test.asked) + ALWAYS_ALLOWED * test.n_levels()


def table(seed: int, d: int = 11, degree: float = 3.0, n: int = 200) -> np.ndarray:
    return linear_data(random_dag(d, degree, seed), n, seed)


@pytest.mark.parametrize("seed", range(10))
def test_stable_pc_has_no_miss_and_no_waste(seed: int) -> None:
    test, _ = skeleton(table(seed))
    assert isinstance(test._tester, CountingTester)
    assert {q for batch in test._tester.batches for q in batch} == set(test.asked)
    assert test.n_computed == len(test.asked)
    # One batch a level, one more as level 0 begins with a single question, and a few for levels
    # that are much larger than all before them.
    assert test.n_batches <= test.n_levels() + 3
    assert test.n_batches < len(test.asked) / 10


@pytest.mark.parametrize("seed", range(3))
def test_fas_has_no_miss_and_no_waste(seed: int) -> None:
    data = table(seed, d=15)
    test = AskedToo(data)
    nodes = [GraphNode(f"X{i}") for i in range(15)]
    fas(data, nodes, test, alpha=0.05, show_progress=False)
    assert test.waste == 0
    assert test.n_batches <= test.n_levels() + 3


@pytest.mark.parametrize("alpha", [0.01, 0.2])
def test_prefetch_alpha_is_the_alpha_of_the_search(alpha: float) -> None:
    for seed in range(5):
        test, _ = skeleton(table(seed), alpha=alpha, prefetch_alpha=alpha)
        assert test.waste == 0


@pytest.mark.parametrize(("alpha", "stable"), list(product([1e-4, 0.01, 0.05, 0.1, 0.25], [1, 0])))
def test_never_changes_an_answer_and_bounds_its_waste(alpha: float, stable: int) -> None:
    for seed in range(3):
        data = table(seed, d=14)
        test, graph = skeleton(data, alpha=alpha, stable=bool(stable))
        plain, expected = skeleton(data, alpha=alpha, stable=bool(stable), prefetch=False)
        np.testing.assert_array_equal(graph.G.graph, expected.G.graph)
        assert test.asked == plain.asked
        assert plain.waste == 0
        assert plain.n_batches == len(plain.asked)
        assert test.waste <= waste_limit(test)
        assert test.n_batches <= len(plain.asked) / 2


@pytest.mark.parametrize("alpha", [0.01, 0.15])
def test_another_alpha_is_learned_from_what_is_asked(alpha: float) -> None:
    for seed in range(3):
        test, _ = skeleton(table(seed, d=20), alpha=alpha)
        assert test.n_batches <= 30
        assert test.n_batches < len(test.asked) / 20
        assert test.waste <= len(test.asked) / 2


def test_forbidden_edges_are_noticed() -> None:
    data = table(0, d=16, degree=6.0)
    knowledge = BackgroundKnowledge()
    nodes = [GraphNode(f"X{i + 1}") for i in range(16)]
    for i, j in product(range(16), repeat=2):
        if i // 4 != j // 4:
            knowledge.add_forbidden_by_node(nodes[i], nodes[j])
    test, graph = skeleton(data, knowledge=knowledge)
    _, expected = skeleton(data, knowledge=knowledge, prefetch=False)
    np.testing.assert_array_equal(graph.G.graph, expected.G.graph)
    assert test.waste <= waste_limit(test)
    assert test.n_batches < 25


@pytest.mark.parametrize("depth", [-1, 1])
def test_later_phases_of_fci_are_not_foreseen(depth: int) -> None:
    for seed in range(4):
        data = table(seed, d=13, degree=4.0)[:, 2:]  # two latent variables
        AskedToo.made.clear()
        fci(data, "acid-asked-too", 0.05, depth=depth, show_progress=False)
        (test,) = AskedToo.made
        assert test.waste <= len(test.asked) / 2


def test_questions_by_hand_compute_nothing_else() -> None:
    test = AskedToo(table(0, d=30))
    for question in [(0, 1, ()), (3, 4, ()), (3, 4, (5,)), (3, 4, (5, 6)), (7, 2, (1,))]:
        test(*question)
    assert test.waste <= 3


def test_second_search_on_the_same_object() -> None:
    data = table(3)
    test, _ = skeleton(data)
    n_computed = test.n_computed
    skeleton_discovery(data, 0.05, test, show_progress=False)
    assert test.n_computed == n_computed
    skeleton_discovery(data, 0.01, test, show_progress=False)
    assert test.n_computed <= 2 * n_computed


# ---- without causal-learn ------------------------------------------------------------------------


def test_first_question_alone_then_the_level() -> None:
    prefetch = LevelPrefetch(4, 0.05)
    known: dict[Question, float] = {}
    assert prefetch.batch(FIRST, 0, known) == [FIRST]
    known[FIRST] = 0.0
    prefetch.record(FIRST, 0.0)
    batch = prefetch.batch(SECOND, 0, known)
    assert batch == [(0, 2, ()), (0, 3, ()), (1, 2, ()), (1, 3, ()), (2, 3, ())]
    known.update(dict.fromkeys(batch, 0.0))
    assert prefetch.batch(SECOND, 0, known) == []


def test_known_questions_are_not_computed_again() -> None:
    prefetch = LevelPrefetch(4, 0.05)
    known = {FIRST: 0.0, (0, 3, ()): 0.0}
    assert prefetch.batch(FIRST, 0, known) == []
    prefetch.record(FIRST, 0.0)
    assert (0, 3, ()) not in prefetch.batch(SECOND, 0, known)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_tiny_tables(d: int) -> None:
    prefetch = LevelPrefetch(d, 0.05)
    if d > 1:
        assert prefetch.batch(FIRST, 0, {}) == [FIRST]
        prefetch.record(FIRST, 0.9)
        assert prefetch.batch((0, 1, (2,)), 0, {}) == [(0, 1, (2,))]
