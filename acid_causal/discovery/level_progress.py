"""A progress bar for each level of a search: |S| = 0, then 1, and so on.

causal-learn says nothing about levels, but each question shows one: the size of its conditioning
set. What a level will ask follows from the p-values of the lower levels.
"""

from collections.abc import Mapping
from itertools import combinations
from math import comb

from tqdm import tqdm

from acid_causal.discovery.knowledge import Knowledge
from acid_causal.tables.inputs import Question


class LevelProgress:
    """Follows one search question by question.

    Args:
        columns: names of the columns.
        alpha: level of each test.
        knowledge: pairs that it requires or forbids never or always leave the graph.
        show: draw bars where standard error is a terminal; False: count only.

    Attributes:
        totals: the number of distinct questions foreseen for each level so far.
        counts: the number of questions computed in each level so far.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        alpha: float,
        knowledge: Knowledge | None = None,
        *,
        show: bool = True,
    ) -> None:
        self._columns = columns
        self._alpha = alpha
        self._knowledge = knowledge or Knowledge()
        self._show = show
        self._bar: tqdm[None] | None = None
        self._later = False
        self.totals: list[int] = []
        self.counts: list[int] = []

    def follow(self, question: Question, pvalues: Mapping[Question, float]) -> None:
        """Opens a bar where a question begins a level.

        Args:
            question: the one asked now.
            pvalues: of the questions asked before.
        """
        size = len(question[2])
        if self._later or size == len(self.totals) - 1:
            return
        # A search asks for one level after the other; FCI's later phases ask for any size.
        total = self._foreseen(size, pvalues) if size == len(self.totals) else 0
        self._later = total == 0
        self._open(None if self._later else total, "hidden causes" if self._later else size)
        self.totals.append(total)
        self.counts.append(0)

    def advance(self, number: int) -> None:
        """Counts questions that were computed."""
        self.counts[-1] += number
        if self._bar is not None:
            self._bar.update(number)

    def close(self) -> None:
        """Ends the last bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _open(self, total: int | None, level: int | str) -> None:
        self.close()
        if self._show:
            label = f"|S| = {level}" if isinstance(level, int) else level
            # disable=None: no bar where standard error is a file.
            self._bar = tqdm(total=total, desc=label, unit=" tests", disable=None)

    def _foreseen(self, size: int, pvalues: Mapping[Question, float]) -> int:
        """Counts the distinct questions of a level of a stable search."""
        near = self._neighbours(pvalues)
        return sum(
            comb(len(near[i]) - 1, size)
            + comb(len(near[j]) - 1, size)
            - comb(len(near[i] & near[j]), size)
            for i, others in enumerate(near)
            for j in others
            if i < j and not (size and self._knowledge.requires(self._columns[i], self._columns[j]))
        )

    def _neighbours(self, pvalues: Mapping[Question, float]) -> list[set[int]]:
        """Rebuilds the graph that the lower levels left."""
        worst: dict[tuple[int, int], float] = {}
        for (i, j, _), pvalue in pvalues.items():
            worst[i, j] = max(pvalue, worst.get((i, j), 0.0))
        near: list[set[int]] = [set() for _ in self._columns]
        for i, j in combinations(range(len(near)), 2):
            names = self._columns[i], self._columns[j]
            apart = bool(pvalues) and self._knowledge.keeps_apart(*names)
            kept = self._knowledge.requires(*names) or worst.get((i, j), 0.0) <= self._alpha
            if kept and not apart:
                near[i].add(j)
                near[j].add(i)
        return near
