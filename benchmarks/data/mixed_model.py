"""Numbers and categories given their causes, by mechanisms that no model was trained on.

A numeric variable is a sum of functions, one of each cause. Of a numeric cause it is a draw of a
Gaussian process, or a line; of a category a random effect of its levels, or, in nonlinear models,
another draw for each level. A category is drawn by a multinomial logit whose levels have such a sum
each. (In training a category depends on one continuous variable.)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.random import Generator
from numpy.typing import NDArray

Array = NDArray[np.float64]

RELATIONS = ("nonlinear", "linear")
FEWEST_LEVELS, MOST_LEVELS = 2, 6
_WAVES = 64


@dataclass(frozen=True)
class Variable:
    """A variable of a table.

    Attributes:
        values: numbers, or codes 0, 1 and so on.
        levels: number of levels; 0 for numbers.
    """

    values: Float[Array, " n"]
    levels: int


class MixedModel:
    """Draws the variables of one table.

    Args:
        n: rows.
        nonlinear: whether numbers act by curves, which levels may change, or by lines.
        rng: source of randomness.
    """

    def __init__(self, n: int, nonlinear: bool, rng: Generator) -> None:
        self._n, self._nonlinear, self._rng = n, nonlinear, rng

    def draw_levels(self, category: bool) -> int:
        """Draws a number of levels; 0 for a number."""
        return int(self._rng.integers(FEWEST_LEVELS, MOST_LEVELS + 1)) if category else 0

    def draw(self, causes: Sequence[Variable], levels: int) -> Variable:
        """Draws a variable given its causes."""
        if not levels:
            noise = self._rng.uniform(0.4, 1.0) * self._rng.normal(size=self._n)
            return Variable(_unit(self._function(causes) + noise), 0)
        # The levels that are left may be fewer; they are numbered anew.
        logits = self._rng.gumbel(size=(self._n, levels)) + self._rng.normal(size=levels) / 2
        slope = self._rng.uniform(1.5, 3.0)
        for level in range(levels):
            logits[:, level] += slope * self._function(causes)
        found, codes = np.unique(logits.argmax(axis=1), return_inverse=True)
        return Variable(codes.astype(float), len(found))

    def _function(self, causes: Sequence[Variable]) -> Float[Array, " n"]:
        """Draws a function of causes, of mean 0 and variance 1; zeros without a cause."""
        total = np.zeros(self._n)
        numbers = [cause for cause in causes if not cause.levels]
        for cause in causes:
            if not cause.levels:
                total += self._curve(cause.values)
            elif self._nonlinear and numbers and self._rng.random() < 0.5:
                along = numbers[self._rng.integers(len(numbers))].values
                curves = np.stack([self._curve(along) for _ in range(cause.levels)])
                total += curves[cause.values.astype(int), np.arange(self._n)]
            else:
                effects = self._rng.normal(size=cause.levels)
                total += _unit(effects[cause.values.astype(int)])
        return _unit(total)

    def _curve(self, values: Float[Array, " n"]) -> Float[Array, " n"]:
        if not self._nonlinear:
            return self._rng.choice([-1, 1]) * self._rng.uniform(0.5, 1.5) * values
        frequency = self._rng.normal(size=_WAVES) / self._rng.uniform(0.6, 1.5)
        phase = self._rng.uniform(0, 2 * np.pi, size=_WAVES)
        weight = self._rng.normal(size=_WAVES)
        return _unit(np.cos(values[:, None] * frequency + phase) @ weight)


def _unit(values: Float[Array, " n"]) -> Float[Array, " n"]:
    """Standardises values; a constant becomes zeros."""
    centred = values - values.mean()
    sd = centred.std()
    return centred / sd if sd > 0 else centred
