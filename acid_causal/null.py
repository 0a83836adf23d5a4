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
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp
from scipy.stats import skew, skewnorm
from torch import Tensor

from acid_causal.errors import unknown

Array = NDArray[np.float64]

NULLS = ("conditional", "pooled")

# |shape| beyond this changes the distribution no more, but the fit would run off to it.
_MAX_SHAPE = 6.0
# Explained variances are read as information, -log(1 - r^2) / 2, up to this: r^2 of .9975.
_MAX_INFORMATION = 3.0
# Where the tail is mended: at these quantiles of -log p, up to where the fit has enough questions.
_LEVELS = np.concatenate([np.linspace(0.05, 0.9, 18), [0.95, 0.98, 0.99, 0.995, 0.999]])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


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
    """

    pooled: tuple[float, float, float]
    conditional: Float[Array, "3 terms"]
    mended: Float[Array, "2 points"]
    low: Float[Array, " 5"]
    high: Float[Array, " 5"]

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
        location, log_scale, raw = _fit_skew_normal(pooled, np.ones((len(pooled), 1)))[:, 0]
        shape = _MAX_SHAPE * np.tanh(raw)
        fitted = cls(
            pooled=(float(location), float(np.exp(log_scale)), float(shape)),
            conditional=_fit_skew_normal(statistic, _design(covariates)),
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
            scale, shape = np.exp(log_scale), _MAX_SHAPE * np.tanh(raw)
        else:
            raise unknown("null", null, NULLS)
        return location, scale, shape

    def to_dict(self) -> dict[str, Any]:
        """Returns plain numbers for a header."""
        return {
            "pooled": list(self.pooled),
            "conditional": self.conditional.tolist(),
            "mended": self.mended.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
        }

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
        return cls((location, scale, shape), **arrays)


def skew_normal_logsf(t: Float[Array, " m"], shape: Float[Array, " m"]) -> Float[Array, " m"]:
    """Computes log P(T > t) for a standard skew-normal T (Azzalini 1985).

    Left of 1 scipy's value is exact. Right of it the density, log-concave and falling, is
    integrated over the tail by Gauss-Legendre quadrature on the log scale: no difference of
    numbers near 1 is ever taken.
    """
    t, shape = np.broadcast_arrays(np.asarray(t, float), np.asarray(shape, float))
    out = np.empty(t.shape)
    body = t < 1
    with np.errstate(divide="ignore"):
        out[body] = np.log(skewnorm.sf(t[body], shape[body]))
    x, a = t[~body, None], shape[~body, None]
    # The slope of -log density at x bounds the length over which it falls by e^-40.
    slope = x - a * np.exp(-0.5 * (a * x) ** 2 - log_ndtr(a * x)) / np.sqrt(2 * np.pi)
    length = 40 / np.maximum(slope, 40 / 9)
    s = x + length * (0.5 + 0.5 * _NODES)
    log_density = np.log(2) - 0.5 * s * s - 0.5 * np.log(2 * np.pi) + log_ndtr(a * s)
    out[~body] = logsumexp(log_density + np.log(0.5 * length * _WEIGHTS), axis=1)
    return np.minimum(out, 0.0)


# ---- fitting -----------------------------------------------------------------------


def _design(covariates: Float[Array, "m 5"]) -> Float[Array, "m terms"]:
    """Intercept, covariates, all products of two of the first four, and the cube of log n.

    Sets of no and of one variable get terms of their own: without Z nothing is regressed, and on a
    line smoothers follow what they miss in the plane.
    """
    m, _ = covariates.shape
    log_n, log_size, both, _, _ = covariates.T
    products = [covariates[:, i] * covariates[:, j] for i in range(4) for j in range(i, 4)]
    none = np.isclose(log_size, 0.0)
    one = np.isclose(log_size, np.log(2.0))
    special = [none, none * log_n, one, one * log_n, one * both]
    return np.column_stack([np.ones(m), covariates, *products, log_n**3, *special])


def _moment_estimate(statistic: Float[Array, " m"]) -> tuple[float, float, float]:
    """Estimates location, log scale and raw shape by the method of moments.

    The likelihood has a saddle at shape 0, from which a search may never leave: start beside it.
    """
    # Skewness of a skew-normal stays below .995; estimates beyond it have no solution.
    g = float(np.clip(skew(statistic), -0.9, 0.9))
    g = float(np.copysign(max(abs(g), 0.02), g))
    root = np.cbrt((2 * abs(g) / (4 - np.pi)) ** 2)
    delta = np.copysign(np.sqrt(np.pi / 2 * root / (1 + root)), g)
    scale = statistic.std() / np.sqrt(1 - 2 * delta**2 / np.pi)
    location = statistic.mean() - scale * delta * np.sqrt(2 / np.pi)
    shape = delta / np.sqrt(1 - delta**2)
    return location, np.log(scale), np.arctanh(np.clip(shape / _MAX_SHAPE, -0.95, 0.95))


def _fit_skew_normal(
    statistic: Float[Array, " m"], design: Float[Array, "m terms"]
) -> Float[Array, "3 terms"]:
    """Maximises the likelihood of location, log scale and raw shape, linear in the design."""
    # Standardised columns make the problem round for L-BFGS; the scaling is undone at the end.
    centre, spread = design.mean(axis=0), design.std(axis=0)
    constant = spread < 1e-12
    centre, spread = np.where(constant, 0.0, centre), np.where(constant, 1.0, spread)
    y = torch.from_numpy(np.asarray(statistic, dtype=np.float64))
    scaled = torch.from_numpy((design - centre) / spread)
    weights = torch.zeros(3, scaled.shape[1], dtype=torch.float64)
    weights[:, 0] = torch.tensor(_moment_estimate(statistic))
    weights.requires_grad_()
    optimiser = torch.optim.LBFGS(
        [weights], max_iter=500, tolerance_grad=1e-9, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        location, log_scale, raw = weights @ scaled.T
        t = (y - location) * torch.exp(-log_scale)
        shape = _MAX_SHAPE * torch.tanh(raw)
        loglik = -0.5 * t * t - log_scale + torch.special.log_ndtr(shape * t)
        # A whisper of a penalty on slopes keeps covariates that never vary at rest.
        loss: Tensor = -loglik.mean() + 1e-5 * weights[:, 1:].square().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    found = weights.detach().numpy() / spread
    found[:, 0] -= (found[:, 1:] * centre[1:]).sum(axis=1)
    return found
