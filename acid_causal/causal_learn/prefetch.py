"""Foresees which questions a level-wise skeleton search will ask, so that they share one batch.

The graph at the start of a level follows from the p-values of the lower levels and from alpha, and
the questions of the level follow from the graph. `LevelPrefetch` listens to the questions, rebuilds
the graph and names the questions to compute together with the one asked.

It only guesses. A wrong guess costs time and never changes an answer, and what it may cost is
bounded: but for a small constant, the guesses of a level that nobody has asked for yet are no more
than the questions asked, in the whole search while it goes as foreseen, and in this level alone
once it has not.
"""

from collections.abc import Collection, Container

from acid_causal.causal_learn.level import Level, Pair, note_worst
from acid_causal.tables.inputs import Question

FIRST: Question = (0, 1, ())  # every search starts with it
SECOND: Question = (0, 2, ())

# At most this many questions in one batch: between batches p-values can be saved to disk.
BATCH_LIMIT = 2048
# Once a search is under way, so many guesses are allowed in any case.
ALWAYS_ALLOWED = 64
# Nobody runs PC above this alpha: a question that would imply it belongs to another phase.
LARGEST_ALPHA = 0.3


class LevelPrefetch:
    """Follows one skeleton search, question by question.

    Args:
        d: Number of columns.
        alpha: Significance level that the search is believed to use.
        settled: Pairs that stay adjacent whatever their p-values, and are asked about given nothing
            alone.
    """

    def __init__(self, d: int, alpha: float, settled: Collection[Pair] = frozenset()) -> None:
        self._d = d
        self._settled = frozenset(settled)
        self._given_alpha = alpha
        self._start()
        self._following = False

    def batch(self, question: Question, row: int, known: Container[Question]) -> list[Question]:
        """Names the questions to compute now: `question` itself first, then the foreseen ones.

        Args:
            question: The question asked.
            row: Which of its two columns came first when it was asked.
            known: Questions whose p-values need not be computed again.

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
        """Takes in the answer to a question that was asked."""
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
            # One question alone is often asked by hand; the second shows that a search has begun.
            if question == SECOND and self._asked == {FIRST}:
                self._credit = BATCH_LIMIT  # all pairs: cheap, as d encodings serve all of them
        elif size == self._level.size + 1:
            self._next_level()
        else:  # a later phase, such as orientation or FCI's possible-d-sep
            self._following = False

    def _start(self) -> None:
        self._following = True
        self._alpha = self._given_alpha
        self._exact = True  # every level so far was asked as foreseen
        self._credit = 0  # guesses allowed before the level has asked anything
        self._n_asked = 0  # distinct questions of the lower levels
        self._worst: dict[Pair, float] = {}  # largest p of each pair, lower levels
        self._absent: set[Pair] = set()  # pairs that the search silently passed over
        self._open_level(0)

    def _next_level(self) -> None:
        foreseen = sum(map(self._level.expects, self._asked))
        if 2 * foreseen < self._planned:  # not a search of ours, or one that leaves levels early
            self._following = False
            return
        self._exact &= foreseen == self._planned == len(self._asked)
        self._drop_passed_over(self._d, 0)
        for pair, pvalue in self._level_worst.items():
            note_worst(self._worst, pair, pvalue)
        self._n_asked += len(self._asked)
        self._credit = ALWAYS_ALLOWED + (self._n_asked if self._exact else 0)
        self._open_level(self._level.size + 1)

    def _open_level(self, size: int) -> None:
        self._asked: set[Question] = set()
        self._rows: set[int] = set()  # x of the questions asked
        self._unasked: set[Question] = set()  # guessed in this level, and not asked so far
        self._level_worst: dict[Pair, float] = {}
        self._rebuild(size)

    # ---- what was believed and turns out otherwise -----------------------------------------------

    def _rebuild(self, size: int) -> None:
        """Rebuilds the graph at the start of a level, and so its questions."""
        self._level = Level(self._d, size, self._is_adjacent, self._settled)
        self._planned = self._level.count()

    def _is_adjacent(self, pair: Pair) -> bool:
        return self._worst.get(pair, 0.0) <= self._alpha and pair not in self._absent

    def _corrected(self, question: Question) -> bool:
        """Raises alpha if that explains an unforeseen question; says whether it did.

        The question shows edges x - y and x - s, so alpha is at least their largest p-values. Each
        correction is a new maximum, hence their number grows only with the logarithm of the number
        of edges that the believed alpha left out.
        """
        i, j, cond = question
        implied = min(
            max(
                self._worst.get(pair, 0.0)
                for v in (i, j, *cond)
                if v != x and (pair := (min(x, v), max(x, v))) not in self._settled
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
        """Drops the edges that the search, now at row x and neighbour y, should have asked about.

        Background knowledge and a smaller alpha show only in what is not asked. A row without a
        single question tells nothing: it may have too few neighbours for this level.
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
        """Limits the guesses of one batch."""
        room = self._credit + len(self._asked) - len(self._unasked)
        return min(max(room, 0), BATCH_LIMIT - 1)
