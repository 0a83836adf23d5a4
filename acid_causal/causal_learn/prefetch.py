"""Predicts the questions of a level-wise skeleton search, to compute them in one batch.

The graph at the start of a level follows from the p-values of the lower levels and from alpha, and
the questions of the level follow from the graph. `LevelPrefetch` observes the questions, rebuilds
the graph, and returns the questions to compute together with the one asked.

A wrong prediction costs time and changes no p-value. The cost is limited: predicted questions that
have not been asked yet may be as many as the questions asked so far, plus a small constant. The
questions of earlier levels count only if all predictions so far were right.
"""

from collections.abc import Collection, Container

from acid_causal.causal_learn.level import Level, Pair, note_worst, still_adjacent
from acid_causal.tables.inputs import Question

FIRST: Question = (0, 1, ())  # the first question of every search
SECOND: Question = (0, 2, ())

# Questions per batch; between batches p-values can be saved to disk.
BATCH_LIMIT = 2048
# Number of predictions that is always allowed once a search has begun.
ALWAYS_ALLOWED = 64
# Larger values of alpha are not used: a question that implies one belongs to another phase.
LARGEST_ALPHA = 0.3


class LevelPrefetch:
    """Follows one skeleton search, question by question.

    Args:
        d: Number of columns.
        alpha: Significance level that the search is assumed to use.
        required: Pairs that stay adjacent whatever their p-values; they are asked about only
            with an empty conditioning set.
    """

    def __init__(self, d: int, alpha: float, required: Collection[Pair] = frozenset()) -> None:
        self._d = d
        self._required = frozenset(required)
        self._given_alpha = alpha
        self._start()
        self._following = False

    def batch(self, question: Question, row: int, known: Container[Question]) -> list[Question]:
        """Returns the questions to compute now: `question` first, then the predicted ones.

        Args:
            question: The question asked.
            row: The column that came first in the call.
            known: Questions whose p-values are known.

        Returns:
            Distinct questions, none of them known; empty if `question` is known.
        """
        self._follow(question)
        self._rows.add(row)
        if question in known:
            return []
        if not self._following or not (self._level.expects(question) or self._corrected(question)):
            return [question]
        self._drop_passed_over(row, sum(question[:2]) - row)
        chosen = dict.fromkeys([question])
        room = self._allowance()
        for candidate in self._level.questions(from_row=row):
            if len(chosen) > room:
                break
            if candidate not in known:
                chosen[candidate] = None
        self._unasked.update(chosen)
        return list(chosen)

    def record(self, question: Question, pvalue: float) -> None:
        """Records the p-value of a question that was asked."""
        self._unasked.discard(question)
        i, j, cond = question
        if self._following and len(cond) == self._level.size:
            self._asked.add(question)
            note_worst(self._level_worst, (i, j), pvalue)

    # ---- which level the search is at ------------------------------------------------------------

    def _follow(self, question: Question) -> None:
        size = len(question[2])
        if question == FIRST and not (self._following and self._level.size == 0):
            self._start()
        elif not self._following or size == self._level.size:
            # A single question may come from a user; the second one shows a search.
            if question == SECOND and self._asked == {FIRST}:
                self._credit = BATCH_LIMIT  # all pairs: cheap, as they need only d encodings
        elif size == self._level.size + 1:
            self._next_level()
        else:  # a later phase, such as orientation or FCI's possible-d-sep
            self._following = False

    def _start(self) -> None:
        self._following = True
        self._alpha = self._given_alpha
        self._exact = True  # whether all levels so far were predicted exactly
        self._credit = 0  # predictions allowed before the level has asked anything
        self._n_asked = 0  # distinct questions of the lower levels
        self._worst: dict[Pair, float] = {}  # largest p of each pair, lower levels
        self._absent: set[Pair] = set()  # predicted pairs that the search skipped
        self._open_level(0)

    def _next_level(self) -> None:
        predicted = sum(map(self._level.expects, self._asked))
        if 2 * predicted < self._planned:  # another kind of search, or one that ends levels early
            self._following = False
            return
        self._exact &= predicted == self._planned == len(self._asked)
        self._drop_passed_over(self._d, 0)
        for pair, pvalue in self._level_worst.items():
            note_worst(self._worst, pair, pvalue)
        self._n_asked += len(self._asked)
        self._credit = ALWAYS_ALLOWED + (self._n_asked if self._exact else 0)
        self._open_level(self._level.size + 1)

    def _open_level(self, size: int) -> None:
        self._asked: set[Question] = set()
        self._rows: set[int] = set()  # x of the questions asked
        self._unasked: set[Question] = set()  # predicted in this level, and not asked so far
        self._level_worst: dict[Pair, float] = {}
        self._rebuild(size)

    # ---- corrections of the graph and of alpha ---------------------------------------------------

    def _rebuild(self, size: int) -> None:
        """Rebuilds the graph at the start of a level, and so its questions."""
        adjacent = still_adjacent(self._worst, self._alpha, self._absent)
        self._level = Level(self._d, size, adjacent, self._required)
        self._planned = self._level.count()

    def _corrected(self, question: Question) -> bool:
        """Raises alpha if that explains an unpredicted question; returns whether it did.

        The question implies that x is adjacent to y and to all of Z, so alpha is at least the
        largest p-value of these pairs. Each correction is a new maximum, so their number grows only
        with the logarithm of the number of edges that the assumed alpha left out.
        """
        i, j, cond = question
        implied = min(
            max(
                self._worst.get(pair, 0.0)
                for v in (i, j, *cond)
                if v != x and (pair := (min(x, v), max(x, v))) not in self._required
            )
            for x in (i, j)
        )
        complete = len(self._asked) >= self._planned  # the level is over: this is a later phase
        if complete or not self._alpha < implied <= LARGEST_ALPHA:
            self._following = False
            return False
        self._alpha, self._exact = implied, False
        self._rebuild(self._level.size)
        return self._level.expects(question)

    def _drop_passed_over(self, x: int, y: int) -> None:
        """Drops edges that the search has skipped, if it is now at row x and neighbour y.

        Background knowledge and a smaller alpha only show in questions that are not asked. A row
        without any question is ignored: it may have too few neighbours for this level.
        """
        passed = {
            (min(row, v), max(row, v))
            for row in self._rows
            for v in self._level.neighbours[row]
            if (row < x or (row == x and v < y)) and self._level.asks_about(row, v)
        }
        if passed := passed.difference(self._level_worst):
            self._absent |= passed
            self._exact = False
            self._rebuild(self._level.size)

    def _allowance(self) -> int:
        """Returns how many predictions one batch may hold."""
        room = self._credit + len(self._asked) - len(self._unasked)
        return min(max(room, 0), BATCH_LIMIT - 1)
