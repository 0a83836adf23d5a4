"""Compares a question with those that the network was trained on and the null was fitted to.

| kind | the question |
|---|---|
| few samples | has fewer rows than any table in training |
| many samples | has more rows than the null was fitted to |
| large set | has a larger conditioning set than the null was fitted to |
| ties | has discrete columns if training had none, else conditions on 7 to 20 whole numbers |
| categories | tests two categories of three or more levels with a model of ranks |
| repeated rows | is about a table with duplicate rows, as a bootstrap sample has them |
| serial rows | is about variables that are both autocorrelated over the rows, given Z |
| little noise, gap in Z, common volatility | see `acid_causal.inference.rank_limits` |
| unfamiliar data | is about variables whose encodings are rare in training |
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.calibration.reference import Reference
from acid_causal.errors import Notices
from acid_causal.inference.batching import Task
from acid_causal.inference.encoding_cache import EncodedQuestions
from acid_causal.inference.rank_limits import GAP, LITTLE_NOISE, VOLATILITY, kinds_by_rank
from acid_causal.inference.rows.measures import TIES
from acid_causal.inference.rows.rows import Rows
from acid_causal.tables.table_notes import MOST_CODES
from acid_causal.weights.checkpoint import TrainedModel

Array = NDArray[np.float64]

# Tie chance of a column with seven values, plus a margin. With seven or more unordered categories
# in Z the regressions fail: Type I error at .05 is .03 for 6 categories, .18 for 7, .59 for 9.
_SEVEN_LEVELS = 1 / 6.5
# Autocorrelation of a serial column: at least this, and this many standard errors.
SERIAL, _SERIAL_DEVIATIONS = 0.3, 5.0
# Among many questions a few are unlike training by chance, for instance one target in a thousand is
# unfamiliar. Above this share of questions we warn.
_BY_CHANCE = 0.05
# Warnings for kinds that a few questions show by chance.
_RARE = {
    "unfamiliar data": "{question} is unlike nearly all questions that {model} was trained on",
    LITTLE_NOISE: "Z explains nearly all of both variables in {question}, and {model}, which sees "
    "ranks alone, may take what is left for dependence",
    GAP: "Z has a wide gap in {question}, as between two clusters, and {model}, which sees ranks "
    "alone, may take what jumps there for dependence",
    VOLATILITY: "Z moves the scale of both variables in {question}, and {model} may take this "
    "for dependence",
}


class Difference(NamedTuple):
    """How a question differs from those of training.

    Attributes:
        kinds: the kinds of difference; empty if there is none.
        distance: the larger distance of its two targets from the reference, in units of the bound;
            None if the weights file has no reference.
    """

    kinds: tuple[str, ...]
    distance: float | None


class Applicability:
    """Compares questions with those of training, and warns once about each kind of difference.

    Args:
        model: the model that answers.
        effect: the last part of a warning: what a difference means for the p-value.
        names: formats a question with the names of its columns.
        notices: the warnings given so far.
    """

    def __init__(
        self, model: TrainedModel, effect: str, names: Callable[[Task], str], notices: Notices
    ) -> None:
        self._model, self._effect, self._names, self._notices = model, effect, names, notices
        self._asked = 0
        self._seen: Counter[str] = Counter()

    def check(self, questions: EncodedQuestions) -> list[Difference]:
        """Returns the differences of each question."""
        visible = [self._visible(task, questions.rows) for task in questions.tasks]
        rare: list[tuple[str, ...]] = [()] * len(visible)
        if not self._model.recipe.model.keeps_values:
            rare = kinds_by_rank(questions)
        distances: Sequence[float | None] = [None] * len(visible)
        reference = self._model.null.reference
        if reference is not None:
            distances = _distances(reference, questions).tolist()
            rare = [
                (*kinds, "unfamiliar data") if distance is not None and distance > 1 else kinds
                for kinds, distance in zip(rare, distances, strict=True)
            ]
        self._warn_of(rare, questions.tasks)
        return [
            Difference((*kinds, *more), distance)
            for kinds, more, distance in zip(visible, rare, distances, strict=True)
        ]

    def _warn_of(self, rare: Sequence[tuple[str, ...]], tasks: Sequence[Task]) -> None:
        """Warns of a kind found in more than 5 % of the questions so far."""
        self._asked += len(tasks)
        for kind, message in _RARE.items():
            of_kind = [task for task, kinds in zip(tasks, rare, strict=True) if kind in kinds]
            self._seen[kind] += len(of_kind)
            if of_kind and self._seen[kind] > _BY_CHANCE * self._asked:
                shown = message.format(question=self._names(of_kind[0]), model=self._model.name)
                self._notices.warn(kind, f"{shown}: {self._effect}")

    def _visible(self, task: Task, rows: Rows) -> tuple[str, ...]:
        """Finds the kinds of difference that do not need the network."""
        question = _Question(self._model, task, rows, self._effect, self._names)
        found = []
        for kind, check in _CHECKS.items():
            message = check(question)
            if message is not None:
                self._notices.warn(kind, message)
                found.append(kind)
        return tuple(found)


def _distances(reference: Reference, questions: EncodedQuestions) -> Float[Array, " m"]:
    """Computes the larger distance of each question's two targets from the reference."""
    facts = questions.facts
    of_x, of_y = (
        reference.distance(
            np.stack([place.summary for place in places]), facts.n, facts.d_z, explained
        )
        for places, explained in zip(
            zip(*questions.pairs, strict=True), (facts.explained_x, facts.explained_y), strict=True
        )
    )
    return np.maximum(of_x, of_y)


# ---- the checks: each returns a message, or None if the question is like training ----


@dataclass(frozen=True)
class _Question:
    """Input of the checks.

    Attributes:
        model: the model that answers.
        task: the question.
        rows: its rows.
        effect: what a difference means for the p-value.
        names: formats a question with the names of its columns.
    """

    model: TrainedModel
    task: Task
    rows: Rows
    effect: str
    names: Callable[[Task], str]

    @property
    def shown(self) -> str:
        """The question, with the names of its columns."""
        return self.names(self.task)


def _few_samples(q: _Question) -> str | None:
    smallest = q.model.recipe.stream.n[0]
    if q.rows.n >= smallest:
        return None
    return (
        f"{q.rows.n} samples are fewer than the {smallest} that {q.model.name} was trained on: "
        f"{q.effect}"
    )


def _many_samples(q: _Question) -> str | None:
    largest = q.model.null.largest_n
    if q.rows.n <= largest:
        return None
    return (
        f"{q.rows.n} samples are more than the {largest} that the null distribution of "
        f"{q.model.name} was fitted on: {q.effect}"
    )


def _large_set(q: _Question) -> str | None:
    size, largest = len(q.task.cond), q.model.null.largest_d_z
    if size <= largest:
        return None
    return (
        f"|Z| = {size} is larger than the {largest} that the null distribution of "
        f"{q.model.name} was fitted on: {q.effect}"
    )


def _ties(q: _Question) -> str | None:
    columns = (*q.task.x, *q.task.y, *q.task.cond)
    if q.model.recipe.stream.discrete:
        codes = [k for k in q.task.cond if _may_be_codes(q.rows, k)]
        if not codes:
            return None
        levels = q.rows.measures.distinct_values(codes[0])
        return (
            f"{q.shown} conditions on a column of {levels} different whole numbers, which "
            "regressions cannot fit if they are codes of unordered categories: if so, pass "
            "categorical=[...]"
        )
    if not any(q.rows.measures.tie_chance(k) > TIES for k in columns):
        return None
    return (
        f"{q.shown} holds a column of few different values, and {q.model.name} was trained on "
        f"continuous ones: {q.effect}"
    )


def _categories(q: _Question) -> str | None:
    """Checks whether X and Y are categories, for models that take levels as numeric columns."""
    levels = [max(map(q.rows.width, part)) for part in (q.task.x, q.task.y)]
    if min(levels) == 1 or q.model.recipe.model.keeps_values:
        return None
    return (
        f"{q.shown} tests two categories, which {q.model.name} rejects several times too often: "
        'the default model, "acid-base", compares all of their levels at once'
    )


def _may_be_codes(rows: Rows, column: int) -> bool:
    measures = rows.measures
    return (
        TIES < measures.tie_chance(column) < _SEVEN_LEVELS
        and measures.distinct_values(column) <= MOST_CODES
        and rows.is_untyped_whole(column)
    )


def _repeated_rows(q: _Question) -> str | None:
    if not q.rows.repeated:
        return None
    return (
        f"{q.rows.repeated:.0%} of the rows repeat others, as in a bootstrap sample: each row is "
        "used once, since a row would help to predict its own copy"
    )


def _serial_rows(q: _Question) -> str | None:
    """Checks whether X and Y are both autocorrelated over the rows, also given Z."""
    least = max(SERIAL, _SERIAL_DEVIATIONS / math.sqrt(q.rows.n))
    for given in ((), q.task.cond):  # the first needs no regression and usually decides
        for part in (q.task.x, q.task.y):
            numbers = [k for k in part if q.rows.width(k) == 1]
            correlations = (q.rows.measures.serial_correlation(k, given) for k in numbers)
            if max(correlations, default=0.0) <= least:
                return None
    return (
        f"neighbouring rows of {q.shown} are alike: unless the table was sorted, they are a time "
        "series or come in groups, and are not independent draws, which every p-value assumes"
    )


_CHECKS: dict[str, Callable[[_Question], str | None]] = {
    "few samples": _few_samples,
    "many samples": _many_samples,
    "large set": _large_set,
    "ties": _ties,
    "categories": _categories,
    "repeated rows": _repeated_rows,
    "serial rows": _serial_rows,
}
