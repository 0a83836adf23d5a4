"""The skew-normal distribution: log tail probabilities, and regression of its parameters."""

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp
from scipy.stats import skew, skewnorm
from torch import Tensor

Array = NDArray[np.float64]

# Larger |shape| hardly changes the distribution, and without a bound the fit diverges.
_MAX_SHAPE = 6.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


def skew_normal_logsf(t: Float[Array, " m"], shape: Float[Array, " m"]) -> Float[Array, " m"]:
    """Computes log P(T > t) for a standard skew-normal T (Azzalini 1985).

    For t < 1 scipy's value is accurate. Beyond it the density is log-concave and decreasing, and is
    integrated over the tail by Gauss-Legendre quadrature on the log scale. This avoids the
    cancellation of 1 - cdf.
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


def bounded_shape(raw: Float[Array, "*m"]) -> Float[Array, "*m"]:
    """Maps the raw shape parameter of a fit, any real number, to a shape within the bound."""
    return _MAX_SHAPE * np.tanh(raw)


def fit_skew_normal(
    statistic: Float[Array, " m"], design: Float[Array, "m terms"]
) -> Float[Array, "3 terms"]:
    """Fits location, log scale and raw shape, each linear in the design, by maximum likelihood.

    Args:
        statistic: observations.
        design: terms of each observation; the first is an intercept.

    Returns:
        Coefficients of location, log scale and raw shape; see `bounded_shape`.
    """
    # Standardised columns condition the problem for L-BFGS; the scaling is undone at the end.
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
        # A tiny ridge penalty keeps the slopes of constant covariates at 0.
        loss: Tensor = -loglik.mean() + 1e-5 * weights[:, 1:].square().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    found = weights.detach().numpy() / spread
    found[:, 0] -= (found[:, 1:] * centre[1:]).sum(axis=1)
    return found


def _moment_estimate(statistic: Float[Array, " m"]) -> tuple[float, float, float]:
    """Estimates location, log scale and raw shape by the method of moments.

    The likelihood has a saddle point at shape 0, where a search may stay. So |skewness| is taken
    as at least .02.
    """
    # A skew-normal's skewness is below .995; beyond it the moment equations have no solution.
    g = float(np.clip(skew(statistic), -0.9, 0.9))
    g = float(np.copysign(max(abs(g), 0.02), g))
    root = np.cbrt((2 * abs(g) / (4 - np.pi)) ** 2)
    delta = np.copysign(np.sqrt(np.pi / 2 * root / (1 + root)), g)
    scale = statistic.std() / np.sqrt(1 - 2 * delta**2 / np.pi)
    location = statistic.mean() - scale * delta * np.sqrt(2 / np.pi)
    shape = delta / np.sqrt(1 - delta**2)
    return location, np.log(scale), np.arctanh(np.clip(shape / _MAX_SHAPE, -0.95, 0.95))
