"""A skew-normal whose parameters follow what is known of a question.

No skew-normal has a tail as heavy as that of the logits, so its p-values pass through one more
increasing map, which makes them uniform over the questions of the fit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.calibration.skew_normal import bounded_shape, fit_skew_normal, skew_normal_logsf

Array = NDArray[np.float64]

# Sizes of the conditioning set, and of the sample, at which the null's slopes may change, and
# information of Z on X and Y together.
_BENDS = (4, 12)
_LARGE = 400
_INFORMED = (0.15, 0.5, 1.2)
# Where the tail is mended: at these quantiles of -log p, up to where the fit has enough questions.
_LEVELS = np.concatenate([np.linspace(0.05, 0.9, 18), [0.95, 0.98, 0.99, 0.995, 0.999]])
# Bounds far beyond what a fit gives; covariates are logs, and -log p.
_LARGEST = {"coefficients": 1e4, "mended": 1e4, "low": 100.0, "high": 100.0}


@dataclass(frozen=True)
class NullRegression:
    """A null that depends on covariates, those of `acid_causal.calibration.null.Facts`.

    Attributes:
        coefficients: of location, log scale and raw shape on `_design`.
        mended: points of the map from the skew-normal's -log p to that of the answer: where it is
            evaluated, and its values.
        low: least covariates among the questions of the fit; beyond them the nearest is used.
        high: largest covariates.
    """

    coefficients: Float[Array, "3 terms"]
    mended: Float[Array, "2 points"]
    low: Float[Array, " 5"]
    high: Float[Array, " 5"]

    @classmethod
    def fit(
        cls, statistic: Float[Array, " m"], covariates: Float[Array, "m 5"]
    ) -> "NullRegression":
        """Fits it by maximum likelihood to the statistics of H0 questions, then mends its tail."""
        plain = cls(
            coefficients=fit_skew_normal(statistic, _design(covariates)),
            mended=np.zeros((2, 1)),
            low=covariates.min(axis=0),
            high=covariates.max(axis=0),
        )
        points = np.quantile(-plain._skew_normal(statistic, covariates), _LEVELS)
        # Levels that fall together, as of few questions, would make the map jump.
        apart = np.concatenate([[True], np.diff(points) > 1e-9]) & (points > 1e-9)
        mended = np.stack([points[apart], -np.log1p(-_LEVELS[apart])])
        return replace(plain, mended=np.hstack([np.zeros((2, 1)), mended]))

    def logsf(
        self, statistic: Float[Array, " m"], covariates: Float[Array, "m 5"]
    ) -> Float[Array, " m"]:
        """Computes the log of the p-value, sound far in the tail."""
        return -self._mend(-self._skew_normal(statistic, covariates))

    def _skew_normal(self, statistic: Array, covariates: Array) -> Array:
        inside = np.clip(covariates, self.low, self.high)
        location, log_scale, raw = self.coefficients @ _design(inside).T
        return skew_normal_logsf((statistic - location) / np.exp(log_scale), bounded_shape(raw))

    def _mend(self, u: Float[Array, " m"]) -> Float[Array, " m"]:
        """Maps -log p; beyond the last point the last slope goes on."""
        x, y = self.mended
        if len(x) < 2:
            return u
        slope = (y[-1] - y[-2]) / (x[-1] - x[-2])
        return np.interp(u, x, y) + slope * np.maximum(u - x[-1], 0)

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns plain numbers for a header."""
        return {
            "coefficients": self.coefficients.tolist(),
            "mended": self.mended.tolist(),
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
        terms = _design(np.zeros((1, 5))).shape[1]
        points = arrays["mended"].shape[-1]
        shapes = {"coefficients": (3, terms), "mended": (2, points), "low": (5,), "high": (5,)}
        if any(arrays[k].shape != expected for k, expected in shapes.items()):
            raise ValueError("null distribution of another shape")
        if not all(np.isfinite(values).all() for values in arrays.values()):
            raise ValueError("null distribution with values that are not finite")
        if any(np.abs(arrays[k]).max() > bound for k, bound in _LARGEST.items()):
            raise ValueError("null distribution with values beyond all measure")
        if (arrays["low"] > arrays["high"]).any():
            raise ValueError("null distribution fitted to covariates that cannot be")
        if (np.diff(arrays["mended"], axis=1) <= 0).any():
            raise ValueError("null distribution that does not increase")
        return cls(**arrays)


def _design(covariates: Float[Array, "m 5"]) -> Float[Array, "m terms"]:
    """Intercept, covariates, all products of two of the first four, and terms for what bends.

    Sets of no and of one variable get terms of their own: without Z nothing is regressed, and on a
    line smoothers follow what they miss in the plane. At the bends the slopes may change: of a set
    as large as the sample nothing is learned, bases of fixed rank meet their limit in large
    samples, and smoothers miss most of what is neither plain nor absent.
    """
    m, _ = covariates.shape
    log_n, log_size, both, product, _ = covariates.T
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
    return np.column_stack([np.ones(m), covariates, *products, log_n**3, *special, *bends])
