"""Monotone maps that make the p-values of H0 questions uniform."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int64
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A map is known at these quantiles of -log p; beyond them the fit has too few questions.
_QUANTILES = np.concatenate([np.linspace(0.05, 0.9, 18), [0.95, 0.98, 0.99, 0.995, 0.999]])
# Maps for these numbers of rows; between two of them a question uses both.
_SIZES = (16, 40, 100, 250, 600, 1500, 4000, 16_000)
# A kind with fewer questions uses the map of all questions; a size with fewer, that of its kind.
_MIN_QUESTIONS = 400
# At least this many questions lie beyond the highest quantile of a size's map.
_MIN_BEYOND = 8


@dataclass(frozen=True)
class TailMaps:
    """Tail maps by kind of question, and by number of rows.

    Attributes:
        points: of each map, from the -log p of the skew-normal to the final -log p; the third axis
            holds arguments and values. With one size, as in old weights files and in those of
            models that see only ranks, a map is for all numbers of rows.
    """

    points: Float[Array, "kinds sizes 2 points"]

    @classmethod
    def fit(cls, u: Float[Array, " m"]) -> "TailMaps":
        """Fits one map for all questions, to -log p of the skew-normal."""
        return cls(_fit_map(u, np.ones_like(u), _QUANTILES)[None, None])

    @classmethod
    def fit_by_kind(
        cls,
        u: Float[Array, " m"],
        kind_of: Int64[NDArray[np.int64], " m"],
        n: Float[Array, " m"],
        kinds: int,
    ) -> "TailMaps":
        """Fits a map to each kind and size.

        Args:
            u: -log p of the skew-normal.
            kind_of: the kind of each question, less than `kinds`.
            n: numbers of rows.
            kinds: number of kinds.
        """
        weights = _weights_of_sizes(n, len(_SIZES))
        of_all = _fit_map(u, np.ones_like(u), _QUANTILES)
        maps = []
        for kind in range(kinds):
            some = kind_of == kind
            of_kind = of_all
            if some.sum() >= _MIN_QUESTIONS:
                of_kind = _fit_map(u[some], np.ones(some.sum()), _QUANTILES)
            for weight in weights[some].T:
                count = weight.sum()
                if count < _MIN_QUESTIONS:
                    maps.append(of_kind)
                    continue
                levels = _QUANTILES[1 - _MIN_BEYOND / count >= _QUANTILES]
                maps.append(_fit_map(u[some], weight, levels))
        # Shorter maps repeat their last point, so that all have one shape.
        most = max(one.shape[1] for one in maps)
        padded = [np.pad(one, ((0, 0), (0, most - one.shape[1])), mode="edge") for one in maps]
        return cls(np.stack(padded).reshape(kinds, len(_SIZES), 2, most))

    def apply(
        self,
        u: Float[Array, " m"],
        kind_of: Int64[NDArray[np.int64], " m"],
        n: Float[Array, " m"],
        max_slope: float,
    ) -> Float[Array, " m"]:
        """Maps -log p of the skew-normal to the final -log p.

        Args:
            u: -log p of the skew-normal.
            kind_of: the kind of each question.
            n: numbers of rows.
            max_slope: largest slope used to extrapolate a map.
        """
        sizes = self.points.shape[1]
        weights = _weights_of_sizes(n, sizes)
        mapped = np.zeros_like(u)
        for kind in np.unique(kind_of):
            for size in range(sizes):
                some = (kind_of == kind) & (weights[:, size] > 0)
                if some.any():
                    values = _apply_map(u[some], self.points[kind, size], max_slope)
                    mapped[some] += weights[some, size] * values
        return mapped

    def to_list(self) -> list[Any]:
        """Returns JSON values; axes of kinds or sizes of length 1 are left out."""
        kinds, sizes, *_ = self.points.shape
        if sizes > 1:
            return self.points.tolist()
        return (self.points[:, 0] if kinds > 1 else self.points[0, 0]).tolist()

    @classmethod
    def from_list(cls, values: list[Any], kinds: int) -> "TailMaps":
        """Reads the output of `to_list`.

        Raises:
            ValueError: shapes or values that no fit can produce.
        """
        points = np.asarray(values, dtype=np.float64)
        if kinds == 1 and points.ndim == 2:
            points = points[None]
        if points.ndim == 3:
            points = points[:, None]
        if points.ndim != 4 or points.shape[:3] not in ((kinds, 1, 2), (kinds, len(_SIZES), 2)):
            raise ValueError("null distribution with unexpected shapes")
        if not np.isfinite(points).all():
            raise ValueError("null distribution with values that are not finite")
        steps = np.diff(points, axis=3)
        rises = (steps > 0).all(axis=2)
        if kinds > 1:  # shorter maps repeat their last point; see `fit_by_kind`
            rises |= (steps == 0).all(axis=2)
        if not rises.all():
            raise ValueError("null distribution with a tail map that does not increase")
        return cls(points)


def _weights_of_sizes(n: Float[Array, " m"], sizes: int) -> Float[Array, "m sizes"]:
    """Returns interpolation weights of the sizes, linear in log n.

    Each question's weights sum to 1.
    """
    if sizes == 1:
        return np.ones((len(n), 1))
    centres = np.log(_SIZES)
    one_each = np.eye(sizes)
    return np.stack([np.interp(np.log(n), centres, one) for one in one_each], axis=1)


def _fit_map(
    u: Float[Array, " m"], weight: Float[Array, " m"], levels: Float[Array, " quantiles"]
) -> Float[Array, "2 points"]:
    """Maps weighted quantiles of -log p over H0 questions to those of uniform p-values."""
    order = np.argsort(u)
    shares = np.cumsum(weight[order]) - weight[order]
    points = np.interp(levels * shares[-1], shares, u[order])
    # Equal quantiles, as small samples have them, would make the map jump.
    distinct = np.concatenate([[True], np.diff(points) > 1e-9]) & (points > 1e-9)
    fitted = np.stack([points[distinct], -np.log1p(-levels[distinct])])
    return np.hstack([np.zeros((2, 1)), fitted])


def _apply_map(
    u: Float[Array, " m"], points: Float[Array, "2 points"], max_slope: float
) -> Float[Array, " m"]:
    """Interpolates a map; extrapolates with the last slope, at most `max_slope`."""
    x, y = np.unique(points, axis=1)
    if len(x) < 2:
        return u
    slope = min((y[-1] - y[-2]) / (x[-1] - x[-2]), max_slope)
    return np.interp(u, x, y) + slope * np.maximum(u - x[-1], 0)
