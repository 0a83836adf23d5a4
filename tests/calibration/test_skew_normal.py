"""The skew-normal: its tail against high precision, and fits of its parameters."""

import mpmath
import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import skewnorm

from acid_causal.calibration.skew_normal import (
    _Objective,
    bounded_shape,
    fit_skew_normal,
    skew_normal_logsf,
)


@pytest.mark.parametrize("shape", [-4.0, -1.0, 0.0, 1.0, 5.0])
@pytest.mark.parametrize("t", [-3.0, 0.0, 0.99, 1.0, 4.0, 12.0, 30.0])
def test_tail_is_exact(t: float, shape: float) -> None:
    with mpmath.workdps(30):
        pieces = [t + s for s in (0, 0.02, 0.1, 0.5, 2, 6, 40)]
        tail = mpmath.quad(lambda s: 2 * mpmath.npdf(s) * mpmath.ncdf(shape * s), pieces)
        expected = float(mpmath.log(tail))
    got = skew_normal_logsf(np.array([t]), np.array([shape]))[0]
    assert got == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_tail_falls_without_a_step() -> None:
    t = np.linspace(0.9, 1.1, 2001)
    for shape in (-5.0, 0.0, 5.0):
        steps = np.diff(skew_normal_logsf(t, np.full_like(t, shape)))
        assert (steps < 0).all()
        assert steps.max() / steps.min() > 0.5


def test_a_fit_finds_each_parameter_of_a_regression() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 3, size=(2, 40_000))
    location, log_scale, raw = 1 + 2 * a - b, 0.3 * b - 0.5 * a, 0.2 * a
    noise = skewnorm.rvs(bounded_shape(raw), random_state=rng)
    design = np.column_stack([np.ones_like(a), a, b, np.full_like(a, 7.0)])  # 7: no information
    found = fit_skew_normal(location + np.exp(log_scale) * noise, design)
    expected = np.array([[1, 2, -1, 0], [0, -0.5, 0.3, 0], [0, 0.2, 0, 0]])
    np.testing.assert_allclose(found, expected, atol=0.08)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_fit_ends_where_the_likelihood_is_largest(scale: float) -> None:
    """Any small step from the fit makes the observations less likely."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=5000)
    design = np.column_stack([np.ones_like(a), a, a * a, a**3])
    statistic = scale * (a + skewnorm.rvs(2, size=5000, random_state=rng) * np.exp(0.2 * a))

    def log_likelihood(coefficients: np.ndarray) -> float:
        location, log_scale, raw = coefficients @ design.T
        t = skewnorm.logpdf(statistic, bounded_shape(raw), location, np.exp(log_scale))
        return float(t.sum())

    found = fit_skew_normal(statistic, design)
    best = log_likelihood(found)
    for k in range(found.size):
        step = np.zeros(found.size)
        step[k] = 0.05 * (scale if k < 4 else 1)
        for sign in (-1, 1):
            assert log_likelihood(found + sign * step.reshape(3, 4)) < best


def test_derivatives_are_those_of_the_loss() -> None:
    rng = np.random.default_rng(2)
    design = np.column_stack([np.ones(50), rng.normal(size=(50, 2))])
    objective = _Objective(rng.normal(size=50), design)
    at = rng.normal(scale=0.5, size=9)
    gradient = approx_fprime(at, lambda w: objective.loss(w)[0], 1e-6)
    np.testing.assert_allclose(objective.loss(at)[1], gradient, rtol=1e-3, atol=1e-4)
    hessian = approx_fprime(at, lambda w: objective.loss(w)[1], 1e-6)
    np.testing.assert_allclose(objective.hessian(at), hessian, rtol=1e-3, atol=1e-4)


def test_few_or_odd_observations_give_finite_parameters() -> None:
    rng = np.random.default_rng(3)
    for statistic in (rng.normal(size=30), np.append(rng.normal(size=29), 1e6)):
        assert np.isfinite(fit_skew_normal(statistic, rng.normal(size=(30, 12)))).all()


def test_a_term_that_hardly_varies_has_no_coefficient() -> None:
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(500), rng.normal(size=(500, 2))])
    design[:, 2] *= 1e-5
    statistic = rng.normal(size=500) + design[:, 1] + 1e5 * design[:, 2]
    found = fit_skew_normal(statistic, design)
    assert np.abs(found[:, 2]).max() < 0.1
    assert np.abs(found[:, 1]).max() > 0.1
