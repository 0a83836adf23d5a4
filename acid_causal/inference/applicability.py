"""Knowing its limits: in what a question is unlike those that the network and its null know.

| kind | the question |
|---|---|
| few samples | has fewer rows than any table of training |
| many samples | has more rows than any that the null was fitted on |
| large set | has a larger conditioning set than any that the null was fitted on |
| ties | holds a column of few values, where training had none, or else conditions on 7 to 20 |
| repeated rows | is about a table whose rows repeat others, as those of a bootstrap sample do |
| serial rows | is about two variables whose values in neighbouring rows are alike, as in a series |
| unfamiliar data | is about variables that look to the network as hardly any of training did |
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.calibration.reference import Reference
from acid_causal.errors import Notices
from acid_causal.inference.batching import Task
from acid_causal.inference.encoding_cache import EncodedQuestions
from acid_causal.inference.rows import TIES, Rows
from acid_causal.weights.checkpoint import TrainedModel

Array = NDArray[np.float64]

# Such a chance, a little above that of seven values: codes of so many categories, conditioned on,
# are more than a regression tells apart. Type I error at .05 is .03 for 6, .18 for 7, .59 for 9.
_SEVEN_LEVELS = 1 / 6.5
# Correlation of neighbouring rows: at least this, and so many of its deviations where it is none.
SERIAL, _SERIAL_DEVIATIONS = 0.3, 5.0
# One question in a thousand is unfamiliar by chance; so many of those asked are not.
_UNFAMILIAR = 0.05


class Difference(NamedTuple):
    """In what a question is unlike those of training.

    Attributes:
        kinds: the kinds of difference; empty if there is none.
        distance: how far its targets look from those of training: the farther of the two, in units
            of the bound; None if the weights file does not say what training looked like.
    """

    kinds: tuple[str, ...]
    distance: float | None


class Applicability:
    """Compares questions with those of training, and warns once of each kind of difference.

    Args:
        model: the model that answers.
        effect: what a difference means for a p-value, to end a warning.
        names: writes a question with the names of its columns.
        notices: what has been warned of.
    """

    def __init__(
        self, model: TrainedModel, effect: str, names: Callable[[Task], str], notices: Notices
    ) -> None:
        self._model, self._effect, self._names, self._notices = model, effect, names, notices
        self._asked = self._unfamiliar = 0

    def check(self, questions: EncodedQuestions) -> list[Difference]:
        """Says of each question in what it is unlike training."""
        found = [self._visible(task, questions.rows) for task in questions.tasks]
        if self._model.null.reference is None:
            return [Difference(kinds, None) for kinds in found]
        distances = _distances(self._model.null.reference, questions)
        self._asked += len(found)
        self._unfamiliar += int((distances > 1).sum())
        farthest = int(distances.argmax())
        if distances[farthest] > 1 and self._unfamiliar > _UNFAMILIAR * self._asked:
            self._notices.warn(
                "unfamiliar data",
                f"{self._names(questions.tasks[farthest])} looks to {self._model.name} as hardly "
                f"any question of its training did: {self._effect}",
            )
        return [
            Difference((*kinds, "unfamiliar data") if distance > 1 else kinds, distance)
            for kinds, distance in zip(found, distances.tolist(), strict=True)
        ]

    def _visible(self, task: Task, rows: Rows) -> tuple[str, ...]:
        """Finds the kinds of difference that need no network."""
        question = _Question(self._model, task, rows, self._effect, self._names)
        found = []
        for kind, check in _CHECKS.items():
            message = check(question)
            if message is not None:
                self._notices.warn(kind, message)
                found.append(kind)
        return tuple(found)


def _distances(reference: Reference, questions: EncodedQuestions) -> Float[Array, " m"]:
    """Says how far the targets of each question are from training: the farther of the two."""
    facts = questions.facts
    of_x, of_y = (
        reference.distance(
            np.stack([place.numbers for place in places]), facts.n, facts.d_z, explained
        )
        for places, explained in zip(
            zip(*questions.pairs, strict=True), (facts.explained_x, facts.explained_y), strict=True
        )
    )
    return np.maximum(of_x, of_y)


# ---- the checks: each says in what a question is unlike training, or None -------------


@dataclass(frozen=True)
class _Question:
    """A question as the checks see it.

    Attributes:
        model: the model that answers.
        task: the question.
        rows: its rows.
        effect: what a difference means for the p-value.
        names: writes a question with the names of its columns.
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
        f"|S| = {size} is larger than the {largest} that the null distribution of "
        f"{q.model.name} was fitted on: {q.effect}"
    )


def _ties(q: _Question) -> str | None:
    columns = (*q.task.x, *q.task.y, *q.task.cond)
    if q.model.recipe.stream.discrete:
        if not any(TIES < q.rows.tie_chance(k) < _SEVEN_LEVELS for k in q.task.cond):
            return None
        return (
            f"{q.shown} conditions on a column of 7 to 20 different values, which no regression "
            f"follows if they are codes of categories in no order: {q.effect}"
        )
    if not any(q.rows.tie_chance(k) > TIES for k in columns):
        return None
    return (
        f"{q.shown} holds a column of few different values, and {q.model.name} was trained on "
        f"continuous ones: {q.effect}"
    )


def _repeated_rows(q: _Question) -> str | None:
    if not q.rows.repeated:
        return None
    return (
        f"{q.rows.repeated:.0%} of the rows repeat others, as in a bootstrap sample: each is "
        "used once, as regressions would find a row in its own copy"
    )


def _serial_rows(q: _Question) -> str | None:
    """Says whether both tested variables change little from row to row."""
    least = max(SERIAL, _SERIAL_DEVIATIONS / math.sqrt(q.rows.n))
    parts = (q.task.x, q.task.y)
    if not all(max(map(q.rows.serial_correlation, part)) > least for part in parts):
        return None
    return (
        f"neighbouring rows of {q.shown} are alike: unless the table was sorted, they follow one "
        "another in time and are not independent draws, which every p-value takes them for: "
        "independence is rejected too often"
    )


_CHECKS: dict[str, Callable[[_Question], str | None]] = {
    "few samples": _few_samples,
    "many samples": _many_samples,
    "large set": _large_set,
    "ties": _ties,
    "repeated rows": _repeated_rows,
    "serial rows": _serial_rows,
}
