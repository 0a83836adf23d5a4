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
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.calibration.null import FITTED
from acid_causal.errors import Notices
from acid_causal.inference.batching import Task
from acid_causal.inference.encoding_cache import Place
from acid_causal.inference.rows import TIES, Rows
from acid_causal.weights.checkpoint import TrainedModel

# Such a chance, a little above that of seven values: codes of so many categories, conditioned on,
# are more than a regression tells apart. Type I error at .05 is .03 for 6, .18 for 7, .59 for 9.
_SEVEN_LEVELS = 1 / 6.5
# Correlation of neighbouring rows: at least this, and so many of its deviations where it is none.
SERIAL, _SERIAL_DEVIATIONS = 0.3, 5.0
# One question in a thousand is unfamiliar by chance; so many of those asked are not.
_UNFAMILIAR = 0.05


class Limits:
    """Compares questions with those of training, and warns once of each kind of difference.

    Args:
        model: the model that answers.
        null: where its p-values come from.
        names: writes a question with the names of its columns.
        notices: what has been warned of.
    """

    def __init__(
        self, model: TrainedModel, null: str, names: Callable[[Task], str], notices: Notices
    ) -> None:
        self._model, self._names, self._notices = model, names, notices
        self._fitted = null in FITTED
        self._asked = self._unfamiliar = 0

    def distances(
        self, pairs: Sequence[tuple[Place, Place]], n: int, d_z: int
    ) -> Float[NDArray[np.float64], " m"] | None:
        """Says how far each of m pairs of targets is from training: the farther of the two.

        Args:
            pairs: the targets, given sets of one size.
            n: number of rows.
            d_z: size of the sets.

        Returns:
            Distances of which 1 is the bound; None if the weights file holds no reference.
        """
        reference = self._model.null.reference
        if reference is None:
            return None
        ones = np.ones(len(pairs))
        of_x, of_y = (
            reference.distance(
                np.stack([place.numbers for place in places]),
                n * ones,
                d_z * ones,
                np.array([place.explained for place in places]),
            )
            for places in zip(*pairs, strict=True)
        )
        return np.maximum(of_x, of_y)

    def check(
        self,
        tasks: Sequence[Task],
        distances: Float[NDArray[np.float64], " m"] | None,
        rows: Rows,
    ) -> list[tuple[str, ...]]:
        """Says of each question in what it is unlike training.

        Args:
            tasks: questions of one size.
            distances: what `distances` says of them.
            rows: the rows that they share.
        """
        found = []
        for task in tasks:
            reasons = dict(self._reasons(task, rows))
            for kind, message in reasons.items():
                self._notices.warn(kind, message)
            found.append(tuple(reasons))
        if distances is None:
            return found
        self._asked += len(tasks)
        self._unfamiliar += int((distances > 1).sum())
        farthest = int(distances.argmax())
        if distances[farthest] > 1 and self._unfamiliar > _UNFAMILIAR * self._asked:
            self._notices.warn("unfamiliar data", self._unfamiliar_data(tasks[farthest]))
        return [
            (*reasons, "unfamiliar data") if distance > 1 else reasons
            for reasons, distance in zip(found, distances.tolist(), strict=True)
        ]

    def _reasons(self, task: Task, rows: Rows) -> Iterator[tuple[str, str]]:
        """Yields the kinds of difference that need no network, each with its message."""
        name, n, d_z = self._model.name, rows.n, len(task.cond)
        null, smallest = self._model.null, self._model.recipe.stream.n[0]
        if n < smallest:
            yield (
                "few samples",
                f"{n} samples are fewer than the {smallest} that {name} was trained on: "
                f"{self._effect}",
            )
        if n > null.largest_n:
            yield (
                "many samples",
                f"{n} samples are more than the {null.largest_n} that the null distribution of "
                f"{name} was fitted on: {self._effect}",
            )
        if d_z > null.largest_d_z:
            yield (
                "large set",
                f"|S| = {d_z} is larger than the {null.largest_d_z} that the null distribution "
                f"of {name} was fitted on: {self._effect}",
            )
        if self._model.recipe.stream.discrete:
            if any(TIES < rows.tie_chance(k) < _SEVEN_LEVELS for k in task.cond):
                yield (
                    "ties",
                    f"{self._names(task)} conditions on a column of 7 to 20 different values, "
                    "which no regression follows if they are codes of categories in no order: "
                    f"{self._effect}",
                )
        elif any(rows.tie_chance(k) > TIES for k in (*task.x, *task.y, *task.cond)):
            yield (
                "ties",
                f"{self._names(task)} holds a column of few different values, and {name} was "
                f"trained on continuous ones: {self._effect}",
            )
        if rows.repeated:
            yield (
                "repeated rows",
                f"{rows.repeated:.0%} of the rows repeat others, as in a bootstrap sample: each is "
                "used once, as regressions would find a row in its own copy",
            )
        if _is_serial(task, rows):
            yield (
                "serial rows",
                f"neighbouring rows of {self._names(task)} are alike: unless the table was sorted, "
                "they follow one another in time and are not independent draws, which every "
                "p-value takes them for: independence is rejected too often",
            )

    def _unfamiliar_data(self, task: Task) -> str:
        return (
            f"{self._names(task)} looks to {self._model.name} as hardly any question of its "
            f"training did: {self._effect}"
        )

    @property
    def _effect(self) -> str:
        if self._fitted:
            return 'its p-values are extrapolated; null="permutation" draws them from the data'
        return "its power there is unknown"


def _is_serial(task: Task, rows: Rows) -> bool:
    """Says whether both tested variables change little from row to row."""
    least = max(SERIAL, _SERIAL_DEVIATIONS / math.sqrt(rows.n))
    return all(max(map(rows.serial_correlation, part)) > least for part in (task.x, task.y))
