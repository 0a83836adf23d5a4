"""Questions about mixed tables, by mechanisms that no model was trained on.

A numeric variable is a sum of functions, one of each cause. Of a numeric cause it is a draw of a
Gaussian process, or a line; of a category a random effect of its levels, or, in nonlinear
questions, another draw for each level. A category is drawn by a multinomial logit whose levels have
such a sum each. (In training a category depends on one continuous variable.)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.random import Generator
from numpy.typing import NDArray

from acid_causal.errors import unknown

Array = NDArray[np.float64]

RELATIONS = ("nonlinear", "linear")
PAIRS = ("numeric-numeric", "numeric-category", "category-category")
GIVEN = ("numeric", "categorical", "mixed")
STRUCTURES = ("fork", "chain", "collider")

FEWEST_LEVELS, MOST_LEVELS = 2, 6
_WAVES = 64


@dataclass(frozen=True)
class MixedQuestion:
    """X and Y, and Z, in one table.

    Attributes:
        values: X, Y and the members of Z, (n, 2 + d_z); categories are codes 0, 1 and so on.
        levels: number of levels of each column; 0 for numbers.
    """

    values: Float[Array, "n columns"]
    levels: tuple[int, ...]

    @property
    def categorical(self) -> list[int]:
        """The columns that are categories."""
        return [k for k, count in enumerate(self.levels) if count]


@dataclass(frozen=True)
class _Variable:
    values: Float[Array, " n"]
    levels: int


def draw_question(
    pair: str, given: str, n: int, d_z: int, *, relation: str, dependent: bool, seed: int
) -> MixedQuestion:
    """Draws a question.

    Args:
        pair: kinds of X and Y, of `PAIRS`; which of them is the number is random.
        given: kinds of the members of Z, of `GIVEN`.
        n: rows.
        d_z: size of Z.
        relation: "nonlinear" or "linear".
        dependent: whether X and Y are dependent given Z.
        seed: equal seeds give equal questions.
    """
    for kind, value, known in (
        ("pair", pair, PAIRS),
        ("kind of Z", given, GIVEN),
        ("relation", relation, RELATIONS),
    ):
        if value not in known:
            raise unknown(kind, value, known)
    rng = np.random.default_rng([seed, n, d_z, int(dependent)])
    model = _Model(n, relation == "nonlinear", rng)
    kinds = [kind == "category" for kind in pair.split("-")]
    of_x, of_y = (model.draw_levels(is_category) for is_category in rng.permutation(kinds))
    of_z = [
        model.draw_levels(given == "categorical" or (given == "mixed" and k % 2 == 1))
        for k in range(d_z)
    ]
    structure = STRUCTURES[rng.integers(len(STRUCTURES))] if d_z else "fork"
    z: list[_Variable] = []
    if structure == "fork":
        for count in of_z:
            z.append(model.draw(z if rng.random() < 0.5 else [], count))
        x = model.draw(z, of_x)
        y = model.draw([*z, x] if dependent else z, of_y)
    elif structure == "chain":
        x = model.draw([], of_x)
        for k, count in enumerate(of_z):
            z.append(model.draw([*z, x] if k == d_z - 1 else [], count))
        y = model.draw([*z, x] if dependent else z, of_y)
    else:
        x, y = model.draw([], of_x), model.draw([], of_y)
        for k, count in enumerate(of_z):
            both = [x, y] if dependent else [x]
            z.append(model.draw([*z, *both] if k == d_z - 1 else [], count))
    variables = [x, y, *z]
    return MixedQuestion(
        np.stack([v.values for v in variables], axis=1), tuple(v.levels for v in variables)
    )


class _Model:
    """Draws variables of one question."""

    def __init__(self, n: int, nonlinear: bool, rng: Generator) -> None:
        self._n, self._nonlinear, self._rng = n, nonlinear, rng

    def draw_levels(self, category: bool) -> int:
        """Draws a number of levels; 0 for a number."""
        return int(self._rng.integers(FEWEST_LEVELS, MOST_LEVELS + 1)) if category else 0

    def draw(self, causes: Sequence[_Variable], levels: int) -> _Variable:
        """Draws a variable given its causes."""
        if not levels:
            noise = self._rng.uniform(0.4, 1.0) * self._rng.normal(size=self._n)
            return _Variable(_unit(self._function(causes) + noise), 0)
        # The levels that are left may be fewer; they are numbered anew.
        logits = self._rng.gumbel(size=(self._n, levels)) + self._rng.normal(size=levels) / 2
        slope = self._rng.uniform(1.5, 3.0)
        for level in range(levels):
            logits[:, level] += slope * self._function(causes)
        found, codes = np.unique(logits.argmax(axis=1), return_inverse=True)
        return _Variable(codes.astype(float), len(found))

    def _function(self, causes: Sequence[_Variable]) -> Float[Array, " n"]:
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
