"""Null distributions: what the test statistic looks like when X and Y are independent given Z.

`pooled` is the paper's: one skew-normal fitted to the logits of H0 datasets. `conditional` is a
skew-normal whose three parameters are a smooth regression on what is known of the question: n, d_z,
how much Z explains of X and of Y, and the number of pairs of their dimensions. No skew-normal has
a tail as heavy as that of the logits, so its p-values pass through one more increasing map, which
makes them uniform over the questions of the fit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.errors import unknown
from acid_causal.reference import Reference
from acid_causal.skew_normal import bounded_shape, fit_skew_normal, skew_normal_logsf

Array = NDArray[np.float64]

# Nulls that are fitted once, and kept with the weights.
FITTED = ("conditional", "pooled")
# "permutation" is drawn from the user's own data instead; see `acid_causal.permutation`.
NULLS = (*FITTED, "permutation")

# Explained variances are read as information, -log(1 - r^2) / 2, up to this: r^2 of .9975.
_MAX_INFORMATION = 3.0
# Sizes of the conditioning set, and of the sample, at which the null's slopes may change, and
# information of Z on X and Y together.
_BENDS = (4, 12)
_LARGE = 400
_INFORMED = (0.15, 0.5, 1.2)
# Where the tail is mended: at these quantiles of -log p, up to where the fit has enough questions.
_LEVELS = np.concatenate([np.linspace(0.05, 0.9, 18), [0.95, 0.98, 0.99, 0.995, 0.999]])


@dataclass(frozen=True)
class Facts:
    """What is known of m questions before their statistics are seen.

    Attributes:
        n: number of samples.
        d_z: size of the conditioning set.
        explained_x: share of X's variance that Z explains, in [0, 1).
        explained_y: the same of Y.
        pairs: d_x * d_y.
    """

    n: Float[Array, " m"]
    d_z: Float[Array, " m"]
    explained_x: Float[Array, " m"]
    explained_y: Float[Array, " m"]
    pairs: Float[Array, " m"]

    @classmethod
    def concatenate(cls, parts: Sequence["Facts"]) -> "Facts":
        """Joins the facts of several batches of questions."""
        return cls(
            **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)}
        )

    def covariates(self) -> Float[Array, "m 5"]:
        """Returns them on the scales of the regression, symmetric in X and Y."""
        a, b = (
            np.minimum(-0.5 * np.log1p(-np.clip(r, 0, 1 - 1e-9)), _MAX_INFORMATION)
            for r in (self.explained_x, self.explained_y)
        )
        return np.stack(
            [np.log(self.n / 200), np.log1p(self.d_z), a + b, a * b, np.log(self.pairs)], axis=1
        )


@dataclass(frozen=True)
class NullDistribution:
    """The fitted nulls of a model.

    Attributes:
        pooled: location, scale and shape of the paper's null.
        conditional: coefficients of location, log scale and raw shape on `_design`; (3, terms).
        mended: points of the map from the skew-normal's -log p to that of the answer: where it is
            evaluated, and its values; (2, points).
        low: least covariates among the datasets of the fit; beyond them the nearest is used.
        high: largest covariates.
        reference: what the targets of the fit looked like; None in files of before it was kept.
    """

    pooled: tuple[float, float, float]
    conditional: Float[Array, "3 terms"]
    mended: Float[Array, "2 points"]
    low: Float[Array, " 5"]
    high: Float[Array, " 5"]
    reference: Reference | None = None

    @classmethod
    def fit(
        cls, pooled: Float[Array, " k"], statistic: Float[Array, " m"], facts: Facts
    ) -> "NullDistribution":
        """Fits both nulls by maximum likelihood to the statistics of H0 datasets.

        Args:
            pooled: statistics of the questions of training, for the paper's null.
            statistic: statistics of all kinds of questions, hard ones among them.
            facts: what is known of the latter.
        """
        covariates = facts.covariates()
        location, log_scale, raw = fit_skew_normal(pooled, np.ones((len(pooled), 1)))
        fitted = cls(
            pooled=(float(location[0]), float(np.exp(log_scale[0])), float(bounded_shape(raw)[0])),
            conditional=fit_skew_normal(statistic, _design(covariates)),
            mended=np.zeros((2, 1)),
            low=covariates.min(axis=0),
            high=covariates.max(axis=0),
        )
        raw_log_p = fitted._skew_normal(statistic, facts, "conditional")
        points = np.quantile(-raw_log_p, _LEVELS)
        # Levels that fall together, as of few questions, would make the map jump.
        apart = np.concatenate([[True], np.diff(points) > 1e-9]) & (points > 1e-9)
        mended = np.stack([points[apart], -np.log1p(-_LEVELS[apart])])
        return replace(fitted, mended=np.hstack([np.zeros((2, 1)), mended]))

    @property
    def largest_n(self) -> int:
        """Most samples among the questions of the fit."""
        return round(200 * float(np.exp(self.high[0])))

    @property
    def largest_d_z(self) -> int:
        """Largest conditioning set among the questions of the fit."""
        return round(float(np.expm1(self.high[1])))

    def logsf(self, statistic: Float[Array, " m"], facts: Facts, null: str) -> Float[Array, " m"]:
        """Computes the log of the p-value, sound far in the tail.

        Raises:
            OptionError: no such null.
        """
        log_p = self._skew_normal(statistic, facts, null)
        return -self._mend(-log_p) if null == "conditional" else log_p

    def _skew_normal(self, statistic: Array, facts: Facts, null: str) -> Array:
        location, scale, shape = self.parameters(facts, null)
        return skew_normal_logsf((statistic - location) / scale, shape)

    def _mend(self, u: Float[Array, " m"]) -> Float[Array, " m"]:
        """Maps -log p; beyond the last point the last slope goes on."""
        x, y = self.mended
        if len(x) < 2:
            return u
        slope = (y[-1] - y[-2]) / (x[-1] - x[-2])
        return np.interp(u, x, y) + slope * np.maximum(u - x[-1], 0)

    def parameters(self, facts: Facts, null: str) -> tuple[Array, Array, Array]:
        """Returns location, scale and shape of the null of each question.

        Raises:
            OptionError: no such null.
        """
        if null == "pooled":
            location, scale, shape = (np.full(len(facts.n), p) for p in self.pooled)
        elif null == "conditional":
            covariates = np.clip(facts.covariates(), self.low, self.high)
            location, log_scale, raw = self.conditional @ _design(covariates).T
            scale, shape = np.exp(log_scale), bounded_shape(raw)
        else:
            raise unknown("fitted null", null, FITTED)
        return location, scale, shape

    def to_dict(self) -> dict[str, Any]:
        """Returns plain numbers for a header."""
        table: dict[str, Any] = {
            "pooled": list(self.pooled),
            "conditional": self.conditional.tolist(),
            "mended": self.mended.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
        }
        if self.reference is not None:
            table["reference"] = self.reference.to_dict()
        return table

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> "NullDistribution":
        """Reads what `to_dict` wrote.

        Raises:
            ValueError: shapes or values that no fit gives.
        """
        location, scale, shape = (float(v) for v in table["pooled"])
        arrays = {
            k: np.asarray(table[k], dtype=np.float64)
            for k in ("conditional", "mended", "low", "high")
        }
        terms = _design(np.zeros((1, 5))).shape[1]
        points = arrays["mended"].shape[-1]
        shapes = {"conditional": (3, terms), "mended": (2, points), "low": (5,), "high": (5,)}
        if any(arrays[k].shape != expected for k, expected in shapes.items()):
            raise ValueError("null distribution of another shape")
        numbers = np.concatenate([[location, scale, shape], *(v.ravel() for v in arrays.values())])
        if not np.isfinite(numbers).all():
            raise ValueError("null distribution with values that are not finite")
        if not scale > 0 or (np.diff(arrays["mended"], axis=1) <= 0).any():
            raise ValueError("null distribution that does not increase")
        kept = table.get("reference")
        reference = None if kept is None else Reference.from_dict(kept)
        return cls((location, scale, shape), **arrays, reference=reference)


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
