"""The questions of a level, yielded and counted."""

import networkx as nx
import pytest

from acid_causal.causal_learn.level import Level, note_worst, still_adjacent


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("required", [frozenset(), frozenset({(0, 1), (2, 5)})])
def test_count_equals_the_distinct_questions_yielded(
    seed: int, required: frozenset[tuple[int, int]]
) -> None:
    graph = nx.gnp_random_graph(8, 0.5, seed=seed)
    for size in range(4):
        level = Level(8, size, lambda pair: graph.has_edge(*pair), required)
        questions = set(level.questions())
        assert len(questions) == level.count()
        assert all(map(level.expects, questions))
        assert size == 0 or required.isdisjoint((i, j) for i, j, _ in questions)
        assert {(i, j) for i, j, _ in level.questions(from_row=5)} <= {
            (i, j) for i, j, _ in questions if j >= 5
        }


def test_what_is_settled_stays_adjacent() -> None:
    level = Level(3, 1, lambda pair: pair == (1, 2), {(0, 1)})
    assert level.neighbours == [{1}, {0, 2}, {1}]
    assert list(level.questions()) == [(1, 2, (0,))]
    assert not level.expects((0, 1, (2,)))
    assert Level(3, 0, lambda pair: False, {(0, 1)}).expects((0, 1, ()))


def test_the_worst_pvalue_is_kept() -> None:
    worst: dict[tuple[int, int], float] = {}
    for pvalue in (0.2, 0.7, 0.1):
        note_worst(worst, (0, 1), pvalue)
    assert worst == {(0, 1): 0.7}


def test_pairs_are_adjacent_up_to_alpha_unless_they_are_apart() -> None:
    adjacent = still_adjacent({(0, 1): 0.05, (0, 2): 0.06}, 0.05, {(1, 2)})
    pairs = [(0, 1), (0, 2), (1, 2), (2, 3)]
    assert [adjacent(pair) for pair in pairs] == [True, False, False, True]
