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
from acid_causal.calibration.tail_maps import TailMaps

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
# Unbounded statistics beyond this occur in no fit. The excess adds a quarter of its square to
# -log p, half of what it would add for a normal statistic.
_MAX_FITTED = 4.0
_EXCESS_WEIGHT = 0.25
# Below this sum of nonlinear shares a question with d_z >= 2 counts as linear, a kind of its own.
_NEAR_LINEAR = 0.05
# Bounds far beyond what a fit can produce; keys as in a weights file.
_BOUNDS = {"coefficients": 1e4, "tail maps": 1e4, "low": 100.0, "high": 100.0}


@dataclass(frozen=True)
class NullRegression:
    """A null given the covariates of `acid_causal.calibration.facts.Facts`.

    Models that see only ranks have five covariates and one tail map. Models with `keeps_values`
    have seven covariates, eight if they know categories, an unbounded statistic, and tail maps for
    each kind of question and number of rows.

    Attributes:
        coefficients: of location, log scale and raw shape on the terms of `_design`.
        tail_maps: from the -log p of the skew-normal to the final -log p.
        low: smallest covariates among the questions of the fit; others are clipped to them.
        high: largest covariates, likewise.
    """

    coefficients: Float[Array, "3 terms"]
    tail_maps: TailMaps
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
            tail_maps=TailMaps(np.zeros((1, 1, 2, 1))),
            low=covariates.min(axis=0),
            high=covariates.max(axis=0),
        )
        u = -plain._skew_normal(statistic, covariates)
        if not unbounded:
            return replace(plain, tail_maps=TailMaps.fit(u))
        kinds = _KINDS[covariates.shape[1]]
        maps = TailMaps.fit_by_kind(u, _kind_of(covariates), _n_of(covariates), kinds)
        return replace(plain, tail_maps=maps)

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
        n = _n_of(covariates)
        if not self.unbounded:
            any_kind = np.zeros(len(u), dtype=np.int64)
            return -self.tail_maps.apply(u, any_kind, n, max_slope=np.inf)
        mapped = self.tail_maps.apply(u, _kind_of(covariates), n, max_slope=1.0)
        return -mapped - _EXCESS_WEIGHT * np.square(np.maximum(statistic - _MAX_FITTED, 0))

    def _skew_normal(self, statistic: Array, covariates: Array) -> Array:
        """Computes log p-values under the skew-normal, before the tail map."""
        if self.unbounded:
            statistic = _compressed(statistic)
        inside = np.clip(covariates, self.low, self.high)
        location, log_scale, raw = self.coefficients @ _design(inside).T
        return skew_normal_logsf((statistic - location) / np.exp(log_scale), bounded_shape(raw))

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns JSON values for the header of a weights file; `tail_maps` are "mended" there."""
        return {
            "coefficients": self.coefficients.tolist(),
            "mended": self.tail_maps.to_list(),
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
            k: np.asarray(table[k], dtype=np.float64) for k in ("coefficients", "low", "high")
        }
        covariates = arrays["low"].shape
        if len(covariates) != 1 or covariates[0] not in _KINDS:
            raise ValueError("null distribution with unexpected shapes")
        tail_maps = TailMaps.from_list(table["mended"], _KINDS[covariates[0]])
        terms = _design(np.zeros((1, *covariates))).shape[1]
        if arrays["coefficients"].shape != (3, terms) or arrays["high"].shape != covariates:
            raise ValueError("null distribution with unexpected shapes")
        if not all(np.isfinite(values).all() for values in arrays.values()):
            raise ValueError("null distribution with values that are not finite")
        if (arrays["low"] > arrays["high"]).any():
            raise ValueError("null distribution with covariate bounds low above high")
        every = {**arrays, "tail maps": tail_maps.points}
        if any(np.abs(values).max() > _BOUNDS[k] for k, values in every.items()):
            raise ValueError("null distribution with values out of range")
        return cls(tail_maps=tail_maps, **arrays)


def _compressed(statistic: Float[Array, " m"]) -> Float[Array, " m"]:
    """Leaves statistics up to `_MAX_FITTED` as they are; beyond it they grow like their log."""
    return np.minimum(statistic, _MAX_FITTED) + np.log1p(np.maximum(statistic - _MAX_FITTED, 0))


def _n_of(covariates: Float[Array, "m covariates"]) -> Float[Array, " m"]:
    """Returns the number of rows of each question."""
    return 200 * np.exp(covariates[:, 0])


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
