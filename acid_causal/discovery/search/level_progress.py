"""A progress bar for each level of a search: |Z| = 0, then 1, and so on.

causal-learn does not report levels, but the level of a question is the size of its conditioning
set. The number of questions of a level follows from the p-values of the lower levels.
"""

from collections.abc import Collection, Mapping
from math import comb
from typing import Any

from acid_causal.causal_learn.level import Level, Pair, note_worst, still_adjacent
from acid_causal.progress import Estimate, progress_bar, say_how_long
from acid_causal.tables.inputs import Question


class LevelProgress:
    """Follows one search question by question.

    Args:
        d: number of columns.
        alpha: level of each test.
        required: pairs that stay adjacent.
        apart: pairs that are separated at level 0.
        max_size: size of the largest conditioning set; None: no limit.
        later: name of what follows the levels.
        show: show progress; False: count only.

    Attributes:
        totals: predicted number of distinct questions of each level so far.
        counts: number of questions computed in each level so far.
    """

    def __init__(
        self,
        d: int,
        alpha: float,
        required: Collection[Pair] = frozenset(),
        apart: Collection[Pair] = frozenset(),
        *,
        max_size: int | None = None,
        later: str = "hidden causes",
        show: bool = True,
    ) -> None:
        self._d = d
        self._max_size = max_size
        self._alpha = alpha
        self._required, self._apart = required, apart
        self._show = show
        self._bar: Any = None
        self._estimate: Estimate | None = None
        self._later = False
        self._name_of_later = later
        self.totals: list[int] = []
        self.counts: list[int] = []

    def follow(self, question: Question, pvalues: Mapping[Question, float]) -> None:
        """Opens a new bar if a question is the first of a level.

        Args:
            question: the question asked now.
            pvalues: p-values of the questions asked before.
        """
        size = len(question[2])
        if self._later or size == len(self.totals) - 1:
            return
        # A search goes through the levels in order; later phases ask about sets of any size.
        total = self._foreseen(size, pvalues) if size == len(self.totals) else 0
        self._later = total == 0
        self._open(None if self._later else total, self._name_of_later if self._later else size)
        self.totals.append(total)
        self.counts.append(0)

    def advance(self, count: int) -> None:
        """Adds to the number of questions computed."""
        each = None if self._estimate is None else self._estimate.advance(count)
        if each is not None and len(self.totals) == 1:
            self._foretell(each)
        self.counts[-1] += count
        if self._bar is not None:
            self._bar.update(count)

    def close(self) -> None:
        """Ends the last bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _open(self, total: int | None, level: int | str) -> None:
        self.close()
        if self._show:
            label = f"|Z| = {level}" if isinstance(level, int) else level
            self._bar = progress_bar(total=total, label=label, unit=" tests")
            what = f"tests of {label}"
            self._estimate = None if total is None else Estimate(what, total, seconds=1.0)

    def _foretell(self, each: float) -> None:
        """Says how long |Z| = 1 may take when |Z| = 0 has begun: all sets of one for all pairs.

        Args:
            each: seconds of a test of |Z| = 0; where all pairs are tested given a variable, such a
                test takes about as long.
        """
        most = comb(self._d, 2) * (self._d - 2)
        if self._max_size is None or self._max_size > 0:
            what = f"tests of |Z| = 1: at most {most:,}, if no pair is independent"
            say_how_long(what, most * each)

    def _foreseen(self, size: int, pvalues: Mapping[Question, float]) -> int:
        """Counts the distinct questions of a level of a stable search."""
        if size == 0:  # all pairs: with a thousand columns counting takes seconds
            return comb(self._d, 2)
        worst: dict[Pair, float] = {}
        for (i, j, _), pvalue in pvalues.items():
            note_worst(worst, (i, j), pvalue)
        # Pairs in `apart` are asked about once, with an empty conditioning set.
        adjacent = still_adjacent(worst, self._alpha, self._apart)
        return Level(self._d, size, adjacent, self._required).count()
