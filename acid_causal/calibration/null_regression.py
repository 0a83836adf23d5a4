"""A skew-normal null whose location, scale and shape are regressed on a question's covariates.

The tail of the logits is heavier than that of a skew-normal. So its p-values pass through an
increasing map, the tail map, which makes them uniform over the questions of the fit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int64
from numpy.typing import NDArray

from acid_causal.calibration.skew_normal import bounded_shape, fit_skew_normal, skew_normal_logsf

Array = NDArray[np.float64]

# Number of covariates of models that see only ranks, of models with `keeps_values` that know no
# categories, and of those that do.
RANK_COVARIATES, NUMERIC_COVARIATES, _ALL_COVARIATES = 5, 7, 8
# Number of tail maps of each: one for each kind of question; see `_kind_of`.
_KINDS = {RANK_COVARIATES: 1, NUMERIC_COVARIATES: 5, _ALL_COVARIATES: 7}
_NEAR_LINEAR_KIND, _ONE_CATEGORY_KIND = 4, 5
# Knots of the hinge terms: d_z, n, and the information of Z on X and Y together.
_D_Z_KNOTS = (4, 12)
_N_KNOT = 400
_INFORMATION_KNOTS = (0.15, 0.5, 1.2)
# Further knots in n, for models with `keeps_values`, which are fitted to larger samples.
_LARGE_N_KNOTS = (2000, 8000)
# The tail map is known at these quantiles of -log p; beyond them the fit has too few questions.
_QUANTILES = np.concatenate([np.linspace(0.05, 0.9, 18), [0.95, 0.98, 0.99, 0.995, 0.999]])
# Unbounded statistics beyond this occur in no fit. The excess adds a quarter of its square to
# -log p, half of what it would add for a normal statistic.
_MAX_FITTED = 4.0
_EXCESS_WEIGHT = 0.25
# Kinds with fewer questions use the tail map of all kinds together.
_MIN_QUESTIONS_OF_KIND = 400
# Below this sum of nonlinear shares a question with d_z >= 2 counts as linear, a kind of its own.
_NEAR_LINEAR = 0.05
# Bounds far beyond what a fit can produce; keys as in a weights file.
_BOUNDS = {"coefficients": 1e4, "mended": 1e4, "low": 100.0, "high": 100.0}


@dataclass(frozen=True)
class NullRegression:
    """A null given the covariates of `acid_causal.calibration.facts.Facts`.

    Models that see only ranks have five covariates and one tail map. Models with `keeps_values`
    have seven covariates, eight if they know categories, an unbounded statistic, and one tail map
    for each kind of question.

    Attributes:
        coefficients: of location, log scale and raw shape on the terms of `_design`.
        tail_map: points of the tail map, from the -log p of the skew-normal to the final -log p;
            the second axis holds arguments and values.
        low: smallest covariates among the questions of the fit; others are clipped to them.
        high: largest covariates, likewise.
    """

    coefficients: Float[Array, "3 terms"]
    tail_map: Float[Array, "kinds 2 points"]
    low: Float[Array, " covariates"]
    high: Float[Array, " covariates"]

    @classmethod
    def fit(
        cls, statistic: Float[Array, " m"], covariates: Float[Array, "m covariates"]
    ) -> "NullRegression":
        """Fits the skew-normal by maximum likelihood to H0 questions, then the tail maps."""
        unbounded = covariates.shape[1] > RANK_COVARIATES
        plain = cls(
            coefficients=fit_skew_normal(
                _compressed(statistic) if unbounded else statistic, _design(covariates)
            ),
            tail_map=np.zeros((1, 2, 1)),
            low=covariates.min(axis=0),
            high=covariates.max(axis=0),
        )
        u = -plain._skew_normal(statistic, covariates)
        maps = [_fit_tail_map(u)]
        if unbounded:
            kind_of = _kind_of(covariates)
            by_kind = [u[kind_of == kind] for kind in range(_KINDS[covariates.shape[1]])]
            maps = [
                _fit_tail_map(some) if len(some) >= _MIN_QUESTIONS_OF_KIND else maps[0]
                for some in by_kind
            ]
        # Shorter maps repeat their last point, so that all have one shape.
        points = max(one.shape[1] for one in maps)
        padded = [np.pad(one, ((0, 0), (0, points - one.shape[1])), mode="edge") for one in maps]
        return replace(plain, tail_map=np.stack(padded))

    @property
    def unbounded(self) -> bool:
        """Whether the statistic is unbounded, as in models with `keeps_values`."""
        return len(self.low) > RANK_COVARIATES

    def logsf(
        self, statistic: Float[Array, " m"], covariates: Float[Array, "m 8"]
    ) -> Float[Array, " m"]:
        """Computes log p-values, accurate far in the tail.

        Args:
            statistic: logit of each question.
            covariates: all eight; a model uses the first five, seven or eight.
        """
        covariates = covariates[:, : len(self.low)]
        u = -self._skew_normal(statistic, covariates)
        if not self.unbounded:
            return -_apply_tail_map(u, self.tail_map[0])
        kind_of = _kind_of(covariates)
        mapped = np.empty_like(u)
        for kind, points in enumerate(self.tail_map):
            mapped[kind_of == kind] = _apply_tail_map(u[kind_of == kind], points, max_slope=1.0)
        return -mapped - _EXCESS_WEIGHT * np.square(np.maximum(statistic - _MAX_FITTED, 0))

    def _skew_normal(self, statistic: Array, covariates: Array) -> Array:
        """Computes log p-values under the skew-normal, before the tail map."""
        if self.unbounded:
            statistic = _compressed(statistic)
        inside = np.clip(covariates, self.low, self.high)
        location, log_scale, raw = self.coefficients @ _design(inside).T
        return skew_normal_logsf((statistic - location) / np.exp(log_scale), bounded_shape(raw))

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns JSON values for the header of a weights file; `tail_map` is "mended" there."""
        return {
            "coefficients": self.coefficients.tolist(),
            "mended": (self.tail_map if self.unbounded else self.tail_map[0]).tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> "NullRegression":
        """Reads the output of `to_dict`.

        Raises:
            ValueError: shapes or values that no fit can produce.
        """
        arrays = {
            k: np.asarray(table[k], dtype=np.float64)
            for k in ("coefficients", "mended", "low", "high")
        }
        covariates = arrays["low"].shape
        if len(covariates) != 1 or covariates[0] not in _KINDS:
            raise ValueError("null distribution with unexpected shapes")
        kinds = _KINDS[covariates[0]]
        if kinds == 1:
            arrays["mended"] = arrays["mended"][None]
        terms = _design(np.zeros((1, *covariates))).shape[1]
        shapes = {
            "coefficients": (3, terms),
            "mended": (kinds, 2, arrays["mended"].shape[-1]),
            "high": covariates,
        }
        if any(arrays[k].shape != expected for k, expected in shapes.items()):
            raise ValueError("null distribution with unexpected shapes")
        if not all(np.isfinite(values).all() for values in arrays.values()):
            raise ValueError("null distribution with values that are not finite")
        if any(np.abs(arrays[k]).max() > bound for k, bound in _BOUNDS.items()):
            raise ValueError("null distribution with values out of range")
        if (arrays["low"] > arrays["high"]).any():
            raise ValueError("null distribution with covariate bounds low above high")
        steps = np.diff(arrays["mended"], axis=2)
        rises = (steps > 0).all(axis=1)
        if kinds > 1:  # shorter maps repeat their last point; see `fit`
            rises |= (steps == 0).all(axis=1)
        if not rises.all():
            raise ValueError("null distribution with a tail map that does not increase")
        return cls(tail_map=arrays.pop("mended"), **arrays)


def _fit_tail_map(u: Float[Array, " m"]) -> Float[Array, "2 points"]:
    """Maps quantiles of -log p over H0 questions to those of uniform p-values."""
    points = np.quantile(u, _QUANTILES)
    # Equal quantiles, as small samples have them, would make the map jump.
    distinct = np.concatenate([[True], np.diff(points) > 1e-9]) & (points > 1e-9)
    fitted = np.stack([points[distinct], -np.log1p(-_QUANTILES[distinct])])
    return np.hstack([np.zeros((2, 1)), fitted])


def _apply_tail_map(
    u: Float[Array, " m"], points: Float[Array, "2 points"], max_slope: float = np.inf
) -> Float[Array, " m"]:
    """Interpolates the map at -log p; extrapolates with the last slope, at most `max_slope`."""
    x, y = np.unique(points, axis=1)
    if len(x) < 2:
        return u
    slope = min((y[-1] - y[-2]) / (x[-1] - x[-2]), max_slope)
    return np.interp(u, x, y) + slope * np.maximum(u - x[-1], 0)


def _compressed(statistic: Float[Array, " m"]) -> Float[Array, " m"]:
    """Leaves statistics up to `_MAX_FITTED` as they are; beyond it they grow like their log."""
    return np.minimum(statistic, _MAX_FITTED) + np.log1p(np.maximum(statistic - _MAX_FITTED, 0))


def _kind_of(covariates: Float[Array, "m covariates"]) -> Int64[NDArray[np.int64], " m"]:
    """Returns the kind of each question; kinds have different tails.

    0: d_z = 0. 1: d_z = 1. 2: d_z = 2 or 3. 3: d_z of 4 and more. 4: d_z of 2 and more and
    near-linear in Z. 5: X or Y is a category. 6: both are.
    """
    log_size, nonlinear = covariates[:, 1], covariates[:, 5]
    kinds = np.searchsorted(np.log1p([0.5, 1.5, 3.5]), log_size)
    kinds = np.where((kinds >= 2) & (nonlinear < _NEAR_LINEAR), _NEAR_LINEAR_KIND, kinds)
    if covariates.shape[1] < _ALL_COVARIATES:
        return kinds
    categories = covariates[:, NUMERIC_COVARIATES].astype(np.int64)
    return np.where(categories > 0, _ONE_CATEGORY_KIND - 1 + categories, kinds)


def _design(covariates: Float[Array, "m covariates"]) -> Float[Array, "m terms"]:
    """Builds the terms: intercept, covariates, their products, indicators and hinges.

    - Products: all pairs of the first four covariates.
    - Indicators of d_z = 0 and d_z = 1. Without Z nothing is regressed, and in one dimension the
      smoothers fit much better than in several.
    - Hinges in d_z: little can be learned about a set that is large relative to the sample.
    - Hinges in n: a smoother's rank is fixed, so its bias shows in large samples.
    - Hinges in information: the smoothers' bias is largest where Z explains a moderate share.
    - For models with `keeps_values` also the nonlinear shares: linear relations leave no bias.
    - For models that know categories all terms a second time, for questions with categories alone,
      and how these differ if both variables are categories.
    """
    terms = _numeric_terms(covariates)
    if covariates.shape[1] < _ALL_COVARIATES:
        return terms
    categories = covariates[:, NUMERIC_COVARIATES, None]
    log_n, log_size, total, _, pairs = covariates[:, :RANK_COVARIATES].T
    of_both = np.column_stack([np.ones_like(pairs), log_n, log_size, total, pairs])
    mixed = categories > 0
    return np.hstack(
        [terms[:, :1], terms[:, 1:] * ~mixed, terms * mixed, of_both * (categories == 2)]
    )


def _numeric_terms(covariates: Float[Array, "m covariates"]) -> Float[Array, "m terms"]:
    """Builds the terms that do not depend on the number of categories."""
    nonlinearity = covariates[:, RANK_COVARIATES:NUMERIC_COVARIATES]
    covariates = covariates[:, :RANK_COVARIATES]
    m, _ = covariates.shape
    log_n, log_size, total, product, pairs = covariates.T
    products = [covariates[:, i] * covariates[:, j] for i in range(4) for j in range(i, 4)]
    none = np.isclose(log_size, 0.0)
    one = np.isclose(log_size, np.log(2.0))
    indicators = [none, none * log_n, one, one * log_n, one * total]
    hinges = [
        hinge * term
        for hinge in (np.maximum(0, log_size - np.log1p(d_z)) for d_z in _D_Z_KNOTS)
        for term in (1.0, log_n, total, product)
    ]
    large = np.maximum(0, log_n - np.log(_N_KNOT / 200))
    hinges += [large * term for term in (1.0, log_size, total, product, none)]
    hinges += [
        hinge * term
        for hinge in (np.maximum(0, total - knot) for knot in _INFORMATION_KNOTS)
        for term in (1.0, log_n, log_size)
    ]
    if nonlinearity.shape[1]:
        nonlinear_sum, nonlinear_product = nonlinearity.T
        larger = [np.maximum(0, log_n - np.log(n / 200)) for n in _LARGE_N_KNOTS]
        hinges += [hinge * term for hinge in larger for term in (1.0, total, product, none)]
        hinges += [
            term * other
            for term in (nonlinear_sum, nonlinear_product)
            for other in (1.0, log_n, log_size, total, product, large)
        ]
        hinges += [pairs * term for term in (pairs, log_n, log_size, total)]
    return np.column_stack([np.ones(m), covariates, *products, log_n**3, *indicators, *hinges])
