"""A skew-normal whose parameters follow what is known of a question.

No skew-normal has a tail as heavy as that of the logits, so its p-values pass through one more
increasing map, which makes them uniform over the questions of the fit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int64
from numpy.typing import NDArray

from acid_causal.calibration.skew_normal import bounded_shape, fit_skew_normal, skew_normal_logsf

Array = NDArray[np.float64]

# Covariates of models that see ranks alone, and of those that keep values; kinds of the latter.
OF_RANKS, _OF_VALUES, _KINDS = 5, 7, 5
# Sizes of the conditioning set, and of the sample, at which the null's slopes may change, and
# information of Z on X and Y together.
_BENDS = (4, 12)
_LARGE = 400
_INFORMED = (0.15, 0.5, 1.2)
# Sample sizes at which slopes may change once more, for models that are asked about many rows.
_LARGER = (2000, 8000)
# Where the tail is mended: at these quantiles of -log p, up to where the fit has enough questions.
_LEVELS = np.concatenate([np.linspace(0.05, 0.9, 18), [0.95, 0.98, 0.99, 0.995, 0.999]])
# Statistics that grow without bound: beyond this they are evidence that no fit has seen. It is
# worth a quarter of its square in -log p, half of what a normal statistic's would be.
_SEEN = 4.0
_EVIDENCE = 0.25
# Fewer questions of a kind share the map of all kinds.
_FEWEST = 400
# Sets of two and more variables that are as good as linear are a kind of their own.
_LINEAR = 0.05
# Bounds far beyond what a fit gives; covariates are logs, and -log p.
_LARGEST = {"coefficients": 1e4, "mended": 1e4, "low": 100.0, "high": 100.0}


@dataclass(frozen=True)
class NullRegression:
    """A null that depends on covariates, those of `acid_causal.calibration.facts.Facts`.

    Models that see ranks alone have five covariates; those that keep values have seven, statistics
    without a bound, and a tail that is mended for each kind of question.

    Attributes:
        coefficients: of location, log scale and raw shape on the design.
        mended: points of the map from the skew-normal's -log p to that of the answer: where it is
            evaluated, and its values; one map for each kind, of one kind in models of ranks.
        low: least covariates among the questions of the fit; beyond them the nearest is used.
        high: largest covariates.
    """

    coefficients: Float[Array, "3 terms"]
    mended: Float[Array, "kinds 2 points"]
    low: Float[Array, " covariates"]
    high: Float[Array, " covariates"]

    @classmethod
    def fit(
        cls, statistic: Float[Array, " m"], covariates: Float[Array, "m covariates"]
    ) -> "NullRegression":
        """Fits it by maximum likelihood to the statistics of H0 questions, then mends its tail."""
        unbounded = covariates.shape[1] > OF_RANKS
        plain = cls(
            coefficients=fit_skew_normal(
                _compressed(statistic) if unbounded else statistic, _design(covariates)
            ),
            mended=np.zeros((1, 2, 1)),
            low=covariates.min(axis=0),
            high=covariates.max(axis=0),
        )
        u = -plain._skew_normal(statistic, covariates)
        maps = [_map_to_uniform(u)]
        if unbounded:
            kinds = _kinds(covariates)
            of_each = [u[kinds == kind] for kind in range(_KINDS)]
            maps = [_map_to_uniform(some) if len(some) >= _FEWEST else maps[0] for some in of_each]
        # Maps of fewer points repeat their last, so that all are of one shape.
        points = max(one.shape[1] for one in maps)
        mended = [np.pad(one, ((0, 0), (0, points - one.shape[1])), mode="edge") for one in maps]
        return replace(plain, mended=np.stack(mended))

    @property
    def unbounded(self) -> bool:
        """Whether statistics grow without bound."""
        return len(self.low) > OF_RANKS

    def logsf(
        self, statistic: Float[Array, " m"], covariates: Float[Array, "m 7"]
    ) -> Float[Array, " m"]:
        """Computes the log of the p-value, sound far in the tail.

        Args:
            statistic: of each question.
            covariates: all that are known; a model of ranks takes the first five.
        """
        covariates = covariates[:, : len(self.low)]
        u = -self._skew_normal(statistic, covariates)
        if not self.unbounded:
            return -_mend(u, self.mended[0])
        kinds = _kinds(covariates)
        mended = np.empty_like(u)
        for kind, of_kind in enumerate(self.mended):
            mended[kinds == kind] = _mend(u[kinds == kind], of_kind, steepest=1.0)
        return -mended - _EVIDENCE * np.square(np.maximum(statistic - _SEEN, 0))

    def _skew_normal(self, statistic: Array, covariates: Array) -> Array:
        if self.unbounded:
            statistic = _compressed(statistic)
        inside = np.clip(covariates, self.low, self.high)
        location, log_scale, raw = self.coefficients @ _design(inside).T
        return skew_normal_logsf((statistic - location) / np.exp(log_scale), bounded_shape(raw))

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns plain numbers for a header."""
        return {
            "coefficients": self.coefficients.tolist(),
            "mended": (self.mended if self.unbounded else self.mended[0]).tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> "NullRegression":
        """Reads what `to_dict` wrote.

        Raises:
            ValueError: shapes or values that no fit gives.
        """
        arrays = {
            k: np.asarray(table[k], dtype=np.float64)
            for k in ("coefficients", "mended", "low", "high")
        }
        covariates = arrays["low"].shape
        if covariates not in ((OF_RANKS,), (_OF_VALUES,)):
            raise ValueError("null distribution of another shape")
        if covariates == (OF_RANKS,):
            arrays["mended"] = arrays["mended"][None]
        kinds = 1 if covariates == (OF_RANKS,) else _KINDS
        terms = _design(np.zeros((1, *covariates))).shape[1]
        shapes = {
            "coefficients": (3, terms),
            "mended": (kinds, 2, arrays["mended"].shape[-1]),
            "high": covariates,
        }
        if any(arrays[k].shape != expected for k, expected in shapes.items()):
            raise ValueError("null distribution of another shape")
        if not all(np.isfinite(values).all() for values in arrays.values()):
            raise ValueError("null distribution with values that are not finite")
        if any(np.abs(arrays[k]).max() > bound for k, bound in _LARGEST.items()):
            raise ValueError("null distribution with values beyond all measure")
        if (arrays["low"] > arrays["high"]).any():
            raise ValueError("null distribution fitted to covariates that cannot be")
        steps = np.diff(arrays["mended"], axis=2)
        # Points that are both repeated fill up a map of values; of ranks there are none.
        rises = (steps > 0).all(axis=1)
        if kinds > 1:
            rises |= (steps == 0).all(axis=1)
        if not rises.all():
            raise ValueError("null distribution that does not increase")
        return cls(**arrays)


def _map_to_uniform(u: Float[Array, " m"]) -> Float[Array, "2 points"]:
    """Maps -log p of H0 questions to what it would be if their p-values were uniform."""
    points = np.quantile(u, _LEVELS)
    # Levels that fall together, as of few questions, would make the map jump.
    apart = np.concatenate([[True], np.diff(points) > 1e-9]) & (points > 1e-9)
    mended = np.stack([points[apart], -np.log1p(-_LEVELS[apart])])
    return np.hstack([np.zeros((2, 1)), mended])


def _mend(
    u: Float[Array, " m"], points: Float[Array, "2 points"], steepest: float = np.inf
) -> Float[Array, " m"]:
    """Maps -log p; beyond the last point the last slope goes on, if it is not too steep."""
    x, y = np.unique(points, axis=1)
    if len(x) < 2:
        return u
    slope = min((y[-1] - y[-2]) / (x[-1] - x[-2]), steepest)
    return np.interp(u, x, y) + slope * np.maximum(u - x[-1], 0)


def _compressed(statistic: Float[Array, " m"]) -> Float[Array, " m"]:
    """Lets statistics beyond those usually seen grow like their logarithm."""
    return np.minimum(statistic, _SEEN) + np.log1p(np.maximum(statistic - _SEEN, 0))


def _kinds(covariates: Float[Array, "m 7"]) -> Int64[NDArray[np.int64], " m"]:
    """Numbers the kinds of questions, whose tails differ: by the size of Z, and linear ones."""
    log_size, nonlinear = covariates[:, 1], covariates[:, 5]
    kinds = np.searchsorted(np.log1p([0.5, 1.5, 3.5]), log_size)
    return np.where((kinds >= 2) & (nonlinear < _LINEAR), _KINDS - 1, kinds)


def _design(covariates: Float[Array, "m covariates"]) -> Float[Array, "m terms"]:
    """Intercept, covariates, all products of two of the first four, and terms for what bends.

    Sets of no and of one variable get terms of their own: without Z nothing is regressed, and on a
    line smoothers follow what they miss in the plane. At the bends the slopes may change: of a set
    as large as the sample nothing is learned, bases of fixed rank meet their limit in large
    samples, and smoothers miss most of what is neither plain nor absent. Models that keep values
    know how far a relation is from linear: where it is linear nothing is missed.
    """
    covariates, further = covariates[:, :OF_RANKS], covariates[:, OF_RANKS:]
    m, _ = covariates.shape
    log_n, log_size, both, product, pairs = covariates.T
    products = [covariates[:, i] * covariates[:, j] for i in range(4) for j in range(i, 4)]
    none = np.isclose(log_size, 0.0)
    one = np.isclose(log_size, np.log(2.0))
    special = [none, none * log_n, one, one * log_n, one * both]
    bends = [
        hinge * term
        for hinge in (np.maximum(0, log_size - np.log1p(d_z)) for d_z in _BENDS)
        for term in (1.0, log_n, both, product)
    ]
    large = np.maximum(0, log_n - np.log(_LARGE / 200))
    bends += [large * term for term in (1.0, log_size, both, product, none)]
    bends += [
        hinge * term
        for hinge in (np.maximum(0, both - information) for information in _INFORMED)
        for term in (1.0, log_n, log_size)
    ]
    if further.shape[1]:
        nonlinear, of_both = further.T
        larger = [np.maximum(0, log_n - np.log(n / 200)) for n in _LARGER]
        bends += [hinge * term for hinge in larger for term in (1.0, both, product, none)]
        bends += [
            term * other
            for term in (nonlinear, of_both)
            for other in (1.0, log_n, log_size, both, product, large)
        ]
        bends += [pairs * term for term in (pairs, log_n, log_size, both)]
    return np.column_stack([np.ones(m), covariates, *products, log_n**3, *special, *bends])
