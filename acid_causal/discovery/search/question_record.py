"""Sits between causal-learn and ACID: records questions, and enforces required edges and limits."""

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import Any, Protocol, SupportsIndex, runtime_checkable

import numpy as np
from causallearn.utils.cit import CIT_Base, register_ci_test

from acid_causal.causal_learn import ACID
from acid_causal.causal_learn.level import Pair
from acid_causal.discovery.search.level_progress import LevelProgress
from acid_causal.tables.inputs import Question, normalise_question

# The name under which causal-learn finds the test below.
RECORDED = "acid-recorded"


@runtime_checkable
class Answers(Protocol):
    """What a search asks; see `QuestionRecord`."""

    @property
    def pvalues(self) -> Mapping[Question, float]:
        """The p-values known so far."""

    def answer_pairs(self) -> None:
        """Prepares all pairs with an empty conditioning set."""

    def compute(self, questions: Iterable[Question]) -> None:
        """Prepares questions that will be asked."""

    def answer(
        self, x: SupportsIndex, y: SupportsIndex, cond: Iterable[SupportsIndex] | None
    ) -> float:
        """Returns a p-value."""


class QuestionRecord:
    """Passes the questions of a search to ACID and records them; keeps required pairs adjacent.

    Args:
        acid: computes the p-values.
        required: pairs of columns that stay adjacent whatever the data say.
        max_size: size of the largest conditioning set that is tested; None: no limit.
        progress: shows the progress of the search; None: no progress.

    Attributes:
        pvalues: the p-value of each question tested, in the order of the first asking.
    """

    def __init__(
        self,
        acid: ACID,
        required: Collection[Pair],
        max_size: int | None,
        progress: LevelProgress | None,
    ) -> None:
        self.pvalues: dict[Question, float] = {}
        self._acid, self._required = acid, required
        self._max_size, self._progress = max_size, progress

    def answer_pairs(self) -> None:
        """Tests all pairs with an empty conditioning set, with which every search begins.

        Prefetching would batch them, too, but with many variables it costs more than the tests.
        """
        pairs = combinations(range(self._acid.num_features), 2)
        questions: list[Question] = [(x, y, ()) for x, y in pairs]
        if self._progress is not None:
            self._progress.follow(questions[0], self.pvalues)
        self._acid.compute(questions)

    def compute(self, questions: Iterable[Question]) -> None:
        """Computes the p-values of questions that will be asked, in batches."""
        wanted = list(questions)
        if wanted and self._progress is not None:
            self._progress.follow(wanted[0], self.pvalues)
        self._acid.compute(wanted)

    def answer(
        self, x: SupportsIndex, y: SupportsIndex, cond: Iterable[SupportsIndex] | None
    ) -> float:
        """Returns the p-value for the search.

        For a required edge that is 0. Its true p-value is computed once, with an empty conditioning
        set.
        """
        question = normalise_question(x, y, cond, self._acid.num_features)
        # FCI's later phases ignore the limit. Pairs that are not tested stay adjacent.
        if self._max_size is not None and len(question[2]) > self._max_size:
            return 0.0
        is_required = question[:2] in self._required
        if is_required and question[2]:
            return 0.0
        if self._progress is not None:
            self._progress.follow(question, self.pvalues)
        self.pvalues[question] = pvalue = self._acid(x, y, question[2])
        return 0.0 if is_required else pvalue


class RecordedTest(CIT_Base):  # type: ignore[misc]  # causal-learn has no types
    """A `QuestionRecord`, or what has its methods, with the interface of causal-learn's tests.

    Args:
        data: the table, (n, d).
        record: answers the questions.
    """

    def __init__(self, data: Any, *, record: Answers) -> None:
        super().__init__(np.asarray(data))
        self.method = RECORDED
        self._record = record

    def __call__(
        self,
        X: SupportsIndex,
        Y: SupportsIndex,
        condition_set: Iterable[SupportsIndex] | None = None,
        *_: object,
    ) -> float:
        """Returns the p-value of column X against column Y given those of the set."""
        return self._record.answer(X, Y, condition_set)

    def __deepcopy__(self, memo: dict[int, object]) -> "RecordedTest":
        """Returns the object itself, as causal-learn copies graphs with their test at each step."""
        return self


register_ci_test(RECORDED, RecordedTest)
