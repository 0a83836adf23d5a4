"""GCM on nonlinear equations with additive noise, where its assumptions hold."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.harness.runner import seed_everything
from benchmarks.methods import Question, get_method
from benchmarks.methods.gcm import TREES, residual


def nonlinear_fork(
    generator: np.random.Generator, effect: float, n: int = 150, d_z: int = 1
) -> Question:
    """X <- Z -> Y by a parabola and a wave, both even, and an effect of X on Y."""
    z = generator.uniform(-2, 2, size=(n, d_z))
    cause = z[:, :1]
    x = cause**2 + generator.normal(size=(n, 1))
    y = np.cos(2 * cause) + 0.5 * generator.normal(size=(n, 1)) + effect * x
    return x, y, z


def rejections(name: str, effect: float, count: int) -> int:
    generator = np.random.default_rng(11)
    seed_everything(2)
    asked = [nonlinear_fork(generator, effect) for _ in range(count)]
    return int(np.sum(np.array(get_method(name).pvalues(asked)) < 0.05))


def test_level_and_power(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TREES, "max_iter", 20)  # the best number of trees is smaller
    # A linear regression cannot see that Z is the common cause.
    assert rejections("gcm", 0.0, count=10) <= stats.binom.ppf(0.999, 10, 0.05)
    assert rejections("fisherz", 0.0, count=10) >= 9
    assert rejections("gcm", 0.5, count=4) >= 3


@pytest.mark.slow
def test_level_closely() -> None:
    assert rejections("gcm", 0.0, count=150) <= stats.binom.ppf(0.999, 150, 0.08)


def test_without_a_conditioning_set_it_is_the_covariance() -> None:
    x, y, _ = nonlinear_fork(np.random.default_rng(1), 0.0)
    product = ((x - x.mean()) * (y - y.mean()))[:, 0]
    # The standard deviation about the mean of the products, not the deviation from zero.
    t = stats.ttest_1samp(product, 0.0).statistic * np.sqrt(len(x) / (len(x) - 1))
    pvalue = get_method("gcm").pvalues([(x, y, None)])[0]
    assert pvalue == pytest.approx(2 * stats.norm.sf(abs(t)), rel=1e-9)


def test_residuals_are_out_of_fold_and_near_the_noise() -> None:
    generator = np.random.default_rng(3)
    z = generator.uniform(-2, 2, size=(600, 1))
    noise = 0.5 * generator.normal(size=600)
    left = residual(np.sin(3 * z[:, 0]) + noise, z, seed=0)
    assert np.corrcoef(left, noise)[0, 1] > 0.9
    # Predictions of a row's own trees would leave less than the noise.
    assert 1.0 < left.std() / noise.std() < 1.15


def test_noise_is_left_as_it_is() -> None:
    generator = np.random.default_rng(4)
    values, z = generator.normal(size=200), generator.normal(size=(200, 3))
    values -= values.mean()
    # The best number of trees for what Z does not explain is small.
    assert np.corrcoef(residual(values, z, seed=0), values)[0, 1] > 0.95


def test_a_product_that_never_varies() -> None:
    x = np.tile([[-1.0], [1.0]], (50, 1))
    assert get_method("gcm").pvalues([(x, x, None)]) == [0.0]
