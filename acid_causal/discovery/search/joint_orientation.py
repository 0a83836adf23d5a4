"""An order of the columns that agrees best with the evidence on all colliders together.

Colliders that are oriented one after another, each by its own evidence, cannot mend a wrong first
one. Here each unshielded triple has a weight, and the order with the largest total is sought by
moving one column at a time. Edges go from earlier to later columns, so there are no cycles and no
conflicts; a collider with little evidence gives way to several others with more.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from acid_causal.causal_learn.level import Pair

# Searches from random orders; more hardly find better ones.
_STARTS = 16
# A move must gain more than rounding errors.
_LEAST = 1e-9

Places = Int[NDArray[np.int64], " d"]
Terms = Int[NDArray[np.int64], "terms 3"]
Gains = Float[NDArray[np.float64], " terms"]


def agreeing_places(
    linked: Bool[NDArray[np.bool_], "d d"],
    weights: Mapping[tuple[int, int, int], float],
    forbidden: Collection[Pair],
) -> Places:
    """Finds an order with the largest total weight of its colliders.

    Args:
        linked: whether two columns are adjacent.
        weights: of triples a, b, c: what it adds if a and c both come before b; may be negative.
        forbidden: ordered pairs (i, j) where i should not come before j.

    Returns:
        The place of each column, from 0.
    """
    d = len(linked)
    # A pair is a triple whose ends are one column. No sum of triples outweighs it.
    heavy = 1.0 + sum(map(abs, weights.values()))
    of_pairs = {(i, j, i): -heavy for i, j in forbidden if linked[i, j]}
    terms = np.array([*weights, *of_pairs], dtype=np.int64).reshape(-1, 3)
    gains = np.array([*weights.values(), *of_pairs.values()])
    near = {v: np.flatnonzero(linked[v]) for v in np.unique(terms).tolist()}
    of_column = {v: (terms == v).any(axis=1) for v in near}
    columns = [_Column(v, near[v], terms[own], gains[own]) for v, own in of_column.items()]
    rng = np.random.default_rng(0)
    found = [_climb(rng.permutation(d), columns) for _ in range(_STARTS)]
    return max(found, key=lambda places: float(_totals(places[None], terms, gains)[0]))


@dataclass(frozen=True)
class _Column:
    """A column that triples have, with its neighbours, its triples, and their weights."""

    number: int
    near: Int[NDArray[np.int64], " neighbours"]
    terms: Terms
    gains: Gains


def _climb(places: Places, columns: Sequence[_Column]) -> Places:
    """Moves one column after another to its best place, until no move gains anything."""
    moved = True
    while moved:
        moved = False
        for column in columns:
            # Its place now, before each neighbour, and after the last one.
            around = places[column.near]
            slots = np.concatenate([[places[column.number]], around - 0.5, [around.max() + 0.5]])
            tried = np.repeat(places[None].astype(float), len(slots), axis=0)
            tried[:, column.number] = slots
            totals = _totals(tried, column.terms, column.gains)
            best = int(totals.argmax())
            if totals[best] > totals[0] + _LEAST:
                places = tried[best].argsort().argsort()
                moved = True
    return places


def _totals(
    places: Float[NDArray[np.float64], "orders d"] | Int[NDArray[np.int64], "orders d"],
    terms: Terms,
    gains: Gains,
) -> Float[NDArray[np.float64], " orders"]:
    """Returns the total weight of the colliders of each order."""
    a, b, c = (places[:, column] for column in terms.T)
    return ((a < b) & (c < b)) @ gains
