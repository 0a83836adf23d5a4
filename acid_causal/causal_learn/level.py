"""The questions of one level of a stable skeleton search.

In stable PC and in FCI's adjacency search, the graph at the start of level k fixes its questions:
all (x, y, Z) with y adjacent to x and Z a set of k other neighbours of x.
"""

from collections.abc import Callable, Collection, Container, Iterator, Mapping
from itertools import combinations
from math import comb

from acid_causal.tables.inputs import Question

Pair = tuple[int, int]  # the smaller column first


class Level:
    """The questions of a level, given the graph at its start.

    Args:
        d: number of columns.
        size: size of the conditioning sets.
        adjacent: whether a pair is adjacent when the level starts.
        required: pairs that stay adjacent whatever their p-values; they are asked about only
            with an empty conditioning set.

    Attributes:
        neighbours: the neighbours of each column when the level starts.
    """

    def __init__(
        self,
        d: int,
        size: int,
        adjacent: Callable[[Pair], bool],
        required: Collection[Pair] = frozenset(),
    ) -> None:
        self.size = size
        self._required = required
        self.neighbours: list[set[int]] = [set() for _ in range(d)]
        for pair in combinations(range(d), 2):
            if pair in required or adjacent(pair):
                i, j = pair
                self.neighbours[i].add(j)
                self.neighbours[j].add(i)

    def asks_about(self, i: int, j: int) -> bool:
        """Returns whether the level asks about an adjacent pair."""
        return self.size == 0 or (min(i, j), max(i, j)) not in self._required

    def count(self) -> int:
        """Counts the distinct questions; sets of common neighbours count once."""
        k, near = self.size, self.neighbours
        return sum(
            comb(len(near[i]) - 1, k) + comb(len(near[j]) - 1, k) - comb(len(near[i] & near[j]), k)
            for i, others in enumerate(near)
            for j in others
            if i < j and self.asks_about(i, j)
        )

    def questions(self, from_row: int = 0) -> Iterator[Question]:
        """Yields the questions in the order of the search, from a column on, with repetitions."""
        for x in range(from_row, len(self.neighbours)):
            near = sorted(self.neighbours[x])
            for y in near:
                if not self.asks_about(x, y):
                    continue
                others = [v for v in near if v != y]
                for cond in combinations(others, self.size):
                    yield min(x, y), max(x, y), cond

    def expects(self, question: Question) -> bool:
        """Returns whether a question of the level's size is among its questions."""
        i, j, cond = question
        near = self.neighbours
        return (
            j in near[i]
            and self.asks_about(i, j)
            and (near[i].issuperset(cond) or near[j].issuperset(cond))
        )


def note_worst(worst: dict[Pair, float], pair: Pair, pvalue: float) -> None:
    """Updates the largest p-value of a pair."""
    worst[pair] = max(pvalue, worst.get(pair, 0.0))


def still_adjacent(
    worst: Mapping[Pair, float], alpha: float, apart: Container[Pair]
) -> Callable[[Pair], bool]:
    """Returns a function that says whether a pair is adjacent after the lower levels.

    Args:
        worst: largest p-value of each pair that was asked about; see `note_worst`.
        alpha: level of each test.
        apart: pairs that are separated whatever their p-values.
    """
    return lambda pair: worst.get(pair, 0.0) <= alpha and pair not in apart
