"""Orientation is causal-learn's, rule by rule, and the colliders that gave way are named."""

import time
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from causallearn.graph.GraphNode import GraphNode
from causallearn.search.ConstraintBased.PC import pc
from causallearn.utils.cit import CIT_Base, register_ci_test
from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge

from acid_causal.discovery.mixed_graph import ARROW, TAIL
from acid_causal.discovery.search.meeks_rules import apply_meeks_rules, point, points
from acid_causal.discovery.search.orientation import Triple, orient
from acid_causal.discovery.search.skeleton import Skeleton, find_skeleton
from acid_causal.tables.inputs import Question

# causal-learn's uc_rule and uc_priority for each rule that it has.
IN_CAUSAL_LEARN = {
    "first": (0, 2),
    "both": (0, 1),
    "strongest": (0, 3),
    "clearest": (0, 4),
    "maxp": (1, 4),
}


class Noise(CIT_Base):  # type: ignore[misc]  # causal-learn has no types
    """P-values that depend on the question and on nothing else."""

    def __init__(self, data: Any, seed: int = 0, scale: float = 0.15) -> None:
        super().__init__(np.asarray(data))
        self.method = "noise-of-orientation"
        self.seed, self.scale = seed, scale

    def __call__(self, X: Any, Y: Any, condition_set: Any = None, *args: Any) -> float:
        question = sorted((int(X), int(Y))), sorted(map(int, condition_set))
        return self.scale * (zlib.crc32(f"{self.seed} {question}".encode()) / 2**32)

    def __deepcopy__(self, memo: object) -> "Noise":
        return self


register_ci_test("noise-of-orientation", Noise)


def test_meeks_fourth_rule_needs_knowledge() -> None:
    """d -> c -> b is known; a <- b would make a <- c and a <- d, and of d and b a new collider."""
    a, b, c, d = range(4)
    for forbidden in (set(), {(c, d)}):
        marks = np.zeros((4, 4), dtype=np.int8)
        for i, j in ((a, b), (a, c), (a, d), (c, b), (d, c)):
            marks[i, j] = marks[j, i] = TAIL
        for i, j in ((d, c), (c, b)) if not forbidden else ((d, c),):
            point(marks, i, j)
        apply_meeks_rules(marks, forbidden)
        assert points(marks, c, b)
        assert points(marks, a, b) == bool(forbidden)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rule", IN_CAUSAL_LEARN)
@pytest.mark.parametrize("forbidden", [(), ((0, 1), (3, 2), (4, 6), (7, 1))])
def test_as_causal_learn_orients(seed: int, rule: str, forbidden: Any) -> None:
    d = 8
    data = np.zeros((10, d))
    test = Noise(data, seed)
    known = BackgroundKnowledge()
    uc_rule, uc_priority = IN_CAUSAL_LEARN[rule]
    for i, j in forbidden:
        known.add_forbidden_by_node(GraphNode(f"X{i + 1}"), GraphNode(f"X{j + 1}"))
    expected = pc(
        data,
        0.05,
        "noise-of-orientation",
        uc_rule=uc_rule,
        uc_priority=uc_priority,
        background_knowledge=known,
        show_progress=False,
        seed=seed,
    )
    skeleton = find_skeleton(d, 0.05, test, apart=(), max_size=None)
    computed: set[Any] = set()
    asked: set[Any] = set()

    def ask(x: int, y: int, cond: tuple[int, ...]) -> float:
        asked.add((x, y, cond))
        return test(x, y, cond)

    found = orient(
        replace(skeleton, largest=d),  # causal-learn knows no limit
        rule,
        ask,
        {},
        forbidden=set(forbidden),
        compute=computed.update,
    )
    np.testing.assert_array_equal(found.endpoints, expected.G.graph)
    assert asked == computed


def _skeleton(d: int, links: list[tuple[int, int]], sepsets: dict[Any, Any]) -> Skeleton:
    linked = np.zeros((d, d), dtype=bool)
    for i, j in links:
        linked[i, j] = linked[j, i] = True
    return Skeleton(linked, sepsets | {(j, i): s for (i, j), s in sepsets.items()}, 1)


def test_a_collider_that_gives_way_is_named() -> None:
    """0 - 1 - 2 - 3: colliders at 1 and at 2 want the edge between them in both directions."""
    chain = _skeleton(4, [(0, 1), (1, 2), (2, 3)], {(0, 2): [()], (1, 3): [()], (0, 3): [()]})
    pvalues = {(0, 2, (1,)): 0.04, (1, 3, (2,)): 0.001, (0, 2, ()): 0.1, (1, 3, ()): 0.9}

    def ask(x: int, y: int, cond: tuple[int, ...]) -> float:
        return pvalues.get((x, y, cond), 0.0)

    first = orient(chain, "first", ask, {})
    assert first.conflicts == (Triple(1, 2, 3),)
    assert (first.endpoints[2, 1], first.endpoints[1, 2]) == (ARROW, TAIL)[::-1]
    for rule in ("separation", "strongest", "clearest", "maxp", "joint"):
        found = orient(chain, rule, ask, pvalues)
        assert found.conflicts == (Triple(0, 1, 2),), rule
        assert found.endpoints[1, 2] == TAIL, rule
        assert found.endpoints[2, 1] == ARROW, rule
    both = orient(chain, "both", ask, {})
    assert both.endpoints[1, 2] == both.endpoints[2, 1] == ARROW
    assert both.conflicts == (Triple(0, 1, 2), Triple(1, 2, 3))


def test_sets_are_no_larger_than_those_of_the_search() -> None:
    star = _skeleton(6, [(0, k) for k in range(1, 6)], {})
    pairs: dict[tuple[int, int], list[tuple[int, ...]]] = {
        (i, j): [()] for i in range(1, 6) for j in range(i + 1, 6)
    }
    star.sepsets.update(dict(pairs))
    sizes = set()
    orient(star, "maxp", lambda x, y, cond: sizes.add(len(cond)) or 0.1, {})  # type: ignore[func-returns-value]
    assert sizes == {0, 1}


def test_a_rule_that_asks_too_much_gives_way_to_one_that_asks_nothing() -> None:
    star = _skeleton(4, [(0, 1), (0, 2), (0, 3)], {(1, 2): [()], (1, 3): [()], (2, 3): [()]})
    known: dict[Question, float] = {(1, 2, ()): 0.5, (1, 3, ()): 0.5, (2, 3, ()): 0.5}
    ask = lambda x, y, cond: known.get((x, y, cond), 0.1)  # noqa: E731
    for rule in ("strongest", "maxp", "joint"):
        assert orient(star, rule, ask, known, most=3).rule == rule
        assert orient(star, rule, ask, known, most=2).rule == "separation"
    assert orient(star, "clearest", ask, known, most=0).rule == "clearest"


def test_hundreds_of_variables_cost_seconds() -> None:
    d, rng = 500, np.random.default_rng(0)
    linked = np.triu(rng.random((d, d)) < 0.01, 1)
    skeleton = Skeleton(linked | linked.T, {}, 1)
    apart = np.argwhere(~skeleton.linked).tolist()
    skeleton.sepsets.update({(i, j): [()] for i, j in apart})
    start = time.process_time()
    orient(skeleton, "first", lambda *_: 0.5, {})
    assert time.process_time() - start < 4
