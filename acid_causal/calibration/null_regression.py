"""A skew-normal null whose location, scale and shape are regressed on a question's covariates.

The tail of the logits is heavier than that of a skew-normal. So its p-values pass through an
increasing map, the tail map, which makes them uniform over the questions of the fit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.calibration.designs import DESIGNS, RANK_COVARIATES, Design
from acid_causal.calibration.skew_normal import bounded_shape, fit_skew_normal, skew_normal_logsf
from acid_causal.calibration.tail_maps import TailMaps

Array = NDArray[np.float64]

# Unbounded statistics beyond this occur in no fit. The excess adds a quarter of its square to
# -log p, half of what it would add for a normal statistic.
_MAX_FITTED = 4.0
_EXCESS_WEIGHT = 0.25
# Bounds far beyond what a fit can produce; keys as in a weights file.
_BOUNDS = {"coefficients": 1e4, "tail maps": 1e4, "low": 100.0, "high": 100.0}


@dataclass(frozen=True)
class NullRegression:
    """A null given the covariates of `acid_causal.calibration.facts.Facts`.

    Models that see only ranks have one tail map. Models with `keeps_values` have an unbounded
    statistic, and tail maps for each kind of question and number of rows.

    Attributes:
        coefficients: of location, log scale and raw shape on the terms of the design, which is
            known by the number of covariates.
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
        design = DESIGNS[covariates.shape[1]]
        unbounded = covariates.shape[1] > RANK_COVARIATES
        plain = cls(
            coefficients=fit_skew_normal(
                _compressed(statistic) if unbounded else statistic, design.terms(covariates)
            ),
            tail_maps=TailMaps(np.zeros((1, 1, 2, 1))),
            low=covariates.min(axis=0),
            high=covariates.max(axis=0),
        )
        u = -plain._skew_normal(statistic, covariates)
        if not unbounded:
            return replace(plain, tail_maps=TailMaps.fit(u))
        kinds = design.kind_of(covariates)
        maps = TailMaps.fit_by_kind(u, kinds, _n_of(covariates), design.kinds)
        return replace(plain, tail_maps=maps)

    @property
    def unbounded(self) -> bool:
        """Whether the statistic is unbounded, as in models with `keeps_values`."""
        return len(self.low) > RANK_COVARIATES

    def logsf(
        self, statistic: Float[Array, " m"], covariates: Float[Array, "m covariates"]
    ) -> Float[Array, " m"]:
        """Computes log p-values, accurate far in the tail.

        Args:
            statistic: logit of each question.
            covariates: all that `Facts.covariates` returns; the first ones are used.
        """
        covariates = covariates[:, : len(self.low)]
        u, n = -self._skew_normal(statistic, covariates), _n_of(covariates)
        kinds = self._design.kind_of(covariates)
        if not self.unbounded:
            return -self.tail_maps.apply(u, kinds, n, max_slope=np.inf)
        mapped = self.tail_maps.apply(u, kinds, n, max_slope=1.0)
        return -mapped - _EXCESS_WEIGHT * np.square(np.maximum(statistic - _MAX_FITTED, 0))

    @property
    def _design(self) -> Design:
        return DESIGNS[len(self.low)]

    def _skew_normal(self, statistic: Array, covariates: Array) -> Array:
        """Computes log p-values under the skew-normal, before the tail map."""
        if self.unbounded:
            statistic = _compressed(statistic)
        inside = np.clip(covariates, self.low, self.high)
        location, log_scale, raw = self.coefficients @ self._design.terms(inside).T
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
        if len(covariates) != 1 or covariates[0] not in DESIGNS:
            raise ValueError("null distribution with unexpected shapes")
        design = DESIGNS[covariates[0]]
        tail_maps = TailMaps.from_list(table["mended"], design.kinds)
        terms = design.terms(np.zeros((1, *covariates))).shape[1]
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
