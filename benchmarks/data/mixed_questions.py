"""Questions about mixed tables, whose variables are drawn by `benchmarks.data.mixed_model`."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.errors import unknown
from acid_causal.synthetic import KINDS_OF_PAIRS, KINDS_OF_Z
from benchmarks.data.mixed_model import RELATIONS, MixedModel, Variable

Array = NDArray[np.float64]

STRUCTURES = ("fork", "chain", "collider")


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


def draw_question(
    pair: str, given: str, n: int, d_z: int, *, relation: str, dependent: bool, seed: int
) -> MixedQuestion:
    """Draws a question.

    Args:
        pair: kinds of X and Y, of `KINDS_OF_PAIRS`; which of them is the number is random.
        given: kinds of the members of Z, of `KINDS_OF_Z`.
        n: rows.
        d_z: size of Z.
        relation: "nonlinear" or "linear".
        dependent: whether X and Y are dependent given Z.
        seed: equal seeds give equal questions.
    """
    for kind, value, known in (
        ("pair", pair, KINDS_OF_PAIRS),
        ("kind of Z", given, KINDS_OF_Z),
        ("relation", relation, RELATIONS),
    ):
        if value not in known:
            raise unknown(kind, value, known)
    rng = np.random.default_rng([seed, n, d_z, int(dependent)])
    model = MixedModel(n, relation == "nonlinear", rng)
    kinds = [kind == "category" for kind in pair.split("-")]
    of_x, of_y = (model.draw_levels(is_category) for is_category in rng.permutation(kinds))
    of_z = [
        model.draw_levels(given == "categorical" or (given == "mixed" and k % 2 == 1))
        for k in range(d_z)
    ]
    structure = STRUCTURES[rng.integers(len(STRUCTURES))] if d_z else "fork"
    z: list[Variable] = []
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
