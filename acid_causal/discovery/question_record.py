"""Between causal-learn and ACID: what a search asks is written down, and its rules are kept."""

from collections.abc import Collection, Iterable
from itertools import combinations
from typing import Any, SupportsIndex

import numpy as np
from causallearn.utils.cit import CIT_Base, register_ci_test

from acid_causal.causal_learn import ACID
from acid_causal.causal_learn.level import Pair
from acid_causal.discovery.level_progress import LevelProgress
from acid_causal.tables.inputs import Question, normalise_question

# The name under which causal-learn finds the test below.
RECORDED = "acid-recorded"


class QuestionRecord:
    """Asks ACID what a search asks, writes it down, and never separates a required pair.

    Args:
        acid: answers the questions.
        required: pairs of columns that stay adjacent whatever the data say.
        max_size: of the largest conditioning set that is tested; None: of any size.
        progress: follows the search; None: nothing does.

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
        """Has all pairs tested given nothing, with which every search begins.

        Asked one by one, they would be computed in batches, too; foreseeing those costs more than
        the tests where there are many variables.
        """
        pairs = combinations(range(self._acid.num_features), 2)
        questions: list[Question] = [(x, y, ()) for x, y in pairs]
        if self._progress is not None:
            self._progress.follow(questions[0], self.pvalues)
        self._acid.compute(questions)

    def answer(
        self, x: SupportsIndex, y: SupportsIndex, cond: Iterable[SupportsIndex] | None
    ) -> float:
        """Returns the p-value that the search is to see.

        An edge that is required is dependent. What the data say of it is computed once, given
        nothing: no set can take the edge away.
        """
        question = normalise_question(x, y, cond, self._acid.num_features)
        # FCI's search for hidden causes knows no limit of its own: what is not tested stays linked.
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
    """A record in the form that causal-learn asks for.

    Args:
        data: the table, (n, d).
        record: answers, and writes down what was asked.
    """

    def __init__(self, data: Any, *, record: QuestionRecord) -> None:
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
        """Returns the object itself: causal-learn copies graphs, and their test, at each step."""
        return self


register_ci_test(RECORDED, RecordedTest)
