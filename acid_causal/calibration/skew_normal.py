"""The skew-normal distribution: log tail probabilities, and regression of its parameters."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, logsumexp, ndtr, owens_t

Array = NDArray[np.float64]

# Larger |shape| hardly changes the distribution, and without a bound the fit diverges.
_MAX_SHAPE = 6.0
# The fit ends when no derivative of the mean log-likelihood is larger, or after so many steps.
_TOLERANCE, _MAX_STEPS = 1e-6, 200
_START_RIDGE, _MIN_START_SCALE = 0.01, 1e-3
# A term that varies less says nothing, and its coefficient could have any size.
_LEAST_SPREAD = 1e-3
# Beyond it a trial step's scale would overflow.
_LARGEST_LOG_SCALE = 30.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


def skew_normal_logsf(t: Float[Array, " m"], shape: Float[Array, " m"]) -> Float[Array, " m"]:
    """Computes log P(T > t) for a standard skew-normal T (Azzalini 1985).

    For t < 1 it is Phi(-t) + 2 T(t, shape), T being Owen's function. Beyond it the density is
    log-concave and decreasing, and is integrated over the tail by Gauss-Legendre quadrature on the
    log scale. This avoids the cancellation of 1 - cdf.
    """
    t, shape = np.broadcast_arrays(np.asarray(t, float), np.asarray(shape, float))
    out = np.empty(t.shape)
    body = t < 1
    with np.errstate(divide="ignore"):
        out[body] = np.log(ndtr(-t[body]) + 2 * owens_t(t[body], shape[body]))
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
    from scipy.optimize import minimize  # slow to import, and only fits need it

    # Standardised columns condition the problem; the scaling is undone at the end.
    centre, spread = design.mean(axis=0), design.std(axis=0)
    constant = spread < _LEAST_SPREAD
    centre, spread = np.where(constant, 0.0, centre), np.where(constant, 1.0, spread)
    mean, deviation = statistic.mean(), statistic.std() or 1.0
    objective = _Objective((statistic - mean) / deviation, (design - centre) / spread)
    # A trial step may lie where values overflow; it is refused for its loss.
    with np.errstate(all="ignore"):
        best = minimize(
            objective.loss,
            objective.start().ravel(),
            jac=True,
            hess=objective.hessian,
            method="trust-exact",
            options={"gtol": _TOLERANCE, "maxiter": _MAX_STEPS},
        )
    found = best.x.reshape(3, -1) / spread
    found[0] *= deviation
    found[:, 0] -= (found[:, 1:] * centre[1:]).sum(axis=1)
    found[:2, 0] += mean, np.log(deviation)
    return found


@dataclass(frozen=True)
class _Objective:
    """The mean negative log-likelihood, and its derivatives in the coefficients.

    Attributes:
        statistic: standardised observations.
        design: standardised terms; the first is an intercept.
    """

    statistic: Float[Array, " m"]
    design: Float[Array, "m terms"]

    def start(self) -> Float[Array, "3 terms"]:
        """Returns a least-squares fit of the location; what it leaves gives the other intercepts.

        The ridge keeps few observations from being fitted exactly already here.
        """
        m, terms = self.design.shape
        normal = self.design.T @ self.design / m + _START_RIDGE * np.eye(terms)
        start = np.zeros((3, terms))
        start[0] = np.linalg.solve(normal, self.design.T @ self.statistic / m)
        start[:, 0] += _moment_estimate(self.statistic - self.design @ start[0])
        return start

    def loss(self, flat: Float[Array, " k"]) -> tuple[float, Float[Array, " k"]]:
        """Returns the loss and its gradient."""
        inverse_scale, t, shape, tilt = self._standardised(flat)
        u, coefficients = shape * t, flat.reshape(3, -1)
        log_likelihood = np.log(inverse_scale) - 0.5 * t * t + log_ndtr(u)
        ratio = _hazard(u)
        in_t = shape * ratio - t
        slopes = np.stack([-in_t * inverse_scale, -in_t * t - 1, t * ratio * tilt])
        penalty = self._penalty()
        gradient = 2 * penalty * coefficients - slopes @ self.design / len(t)
        value = (penalty * coefficients**2).sum() - log_likelihood.mean()
        return float(value), gradient.ravel()

    def hessian(self, flat: Float[Array, " k"]) -> Float[Array, "k k"]:
        """Returns the second derivatives of the loss."""
        inverse_scale, t, shape, tilt = self._standardised(flat)
        u = shape * t
        ratio = _hazard(u)
        ratio_slope = -ratio * (u + ratio)
        in_t = shape * ratio - t
        in_t_twice = shape * shape * ratio_slope - 1
        in_t_and_shape = (ratio + u * ratio_slope) * tilt
        tilt_slope = -2 * shape / _MAX_SHAPE * tilt
        # Of each observation's log-likelihood in location, log scale and raw shape.
        second = {
            (0, 0): in_t_twice * inverse_scale**2,
            (0, 1): (in_t_twice * t + in_t) * inverse_scale,
            (0, 2): -in_t_and_shape * inverse_scale,
            (1, 1): (in_t_twice * t + in_t) * t,
            (1, 2): -in_t_and_shape * t,
            (2, 2): ratio_slope * (t * tilt) ** 2 + t * ratio * tilt_slope,
        }
        terms = self.design.shape[1]
        blocks = np.empty((3, terms, 3, terms))
        for (i, j), values in second.items():
            block = -(self.design.T * values) @ self.design / len(t)
            blocks[i, :, j], blocks[j, :, i] = block, block.T
        return blocks.reshape(3 * terms, -1) + np.diag(2 * self._penalty().ravel())

    def _standardised(
        self, flat: Float[Array, " k"]
    ) -> tuple[Float[Array, " m"], Float[Array, " m"], Float[Array, " m"], Float[Array, " m"]]:
        """Returns 1 / scale, standardised statistics, shapes, and their slopes in the raw shape."""
        location, log_scale, raw = flat.reshape(3, -1) @ self.design.T
        inverse_scale = np.exp(-np.clip(log_scale, -_LARGEST_LOG_SCALE, _LARGEST_LOG_SCALE))
        shape = bounded_shape(raw)
        return (
            inverse_scale,
            (self.statistic - location) * inverse_scale,
            shape,
            _MAX_SHAPE - shape * shape / _MAX_SHAPE,
        )

    def _penalty(self) -> Float[Array, "3 terms"]:
        """Returns the ridge penalty of slopes: that of a normal prior, and never nothing.

        It keeps few observations from being fitted exactly, with a scale of 0, and the slopes of
        constant covariates at 0.
        """
        m, terms = self.design.shape
        penalty = np.full((3, terms), max(1 / m, 1e-5))
        penalty[:, 0] = 0.0
        return penalty


def _hazard(u: Float[Array, " m"]) -> Float[Array, " m"]:
    """Computes phi(u) / Phi(u), the derivative of log Phi, without underflow."""
    return np.sqrt(2 / np.pi) / erfcx(-u / np.sqrt(2))


def _moment_estimate(statistic: Float[Array, " m"]) -> tuple[float, float, float]:
    """Estimates location, log scale and raw shape by the method of moments.

    The likelihood has a saddle point at shape 0, where a search may stay. So |skewness| is taken
    as at least .02.
    """
    from scipy.stats import skew  # slow to import, and only fits need it

    # A skew-normal's skewness is below .995; beyond it the moment equations have no solution.
    g = float(np.clip(skew(statistic), -0.9, 0.9))
    g = float(np.copysign(max(abs(g), 0.02), g))
    root = np.cbrt((2 * abs(g) / (4 - np.pi)) ** 2)
    delta = np.copysign(np.sqrt(np.pi / 2 * root / (1 + root)), g)
    scale = statistic.std() / np.sqrt(1 - 2 * delta**2 / np.pi)
    location = statistic.mean() - scale * delta * np.sqrt(2 / np.pi)
    shape = delta / np.sqrt(1 - delta**2)
    return (
        location,
        np.log(max(scale, _MIN_START_SCALE)),
        np.arctanh(np.clip(shape / _MAX_SHAPE, -0.95, 0.95)),
    )
