"""LCIT on post-nonlinear equations, where a flow undoes what was done to the noise."""

import numpy as np
import pytest
import torch
from scipy import stats

from benchmarks.harness.runner import seed_everything
from benchmarks.methods import Question, get_method
from benchmarks.methods.lcit import latents


def post_nonlinear_fork(
    generator: np.random.Generator, effect: float, n: int = 200, d_z: int = 1
) -> Question:
    """X <- Z -> Y, each a distorted sum of a function of Z and noise, and an effect of X on Y."""
    z = generator.normal(size=(n, d_z))
    noise_x, noise_y = generator.normal(size=(2, n, 1))
    x = np.exp(np.sin(1.5 * z[:, :1]) + noise_x)
    y = np.tanh(z[:, :1] + noise_y + effect * noise_x)
    return x, y, z


def rejections(effect: float, count: int, *, given: bool = True) -> int:
    generator = np.random.default_rng(21)
    seed_everything(2)
    asked = [post_nonlinear_fork(generator, effect) for _ in range(count)]
    asked = asked if given else [(x, y, None) for x, y, _ in asked]
    return int(np.sum(np.array(get_method("lcit").pvalues(asked)) < 0.05))


def test_level_and_power() -> None:
    assert rejections(0.0, count=8) <= stats.binom.ppf(0.999, 8, 0.05)
    assert rejections(0.0, count=4, given=False) >= 3
    assert rejections(-1.0, count=4) >= 3


@pytest.mark.slow
def test_level_closely() -> None:
    assert rejections(0.0, count=300) <= stats.binom.ppf(0.999, 300, 0.06)


def test_latent_variables_are_normal_and_recover_the_noise() -> None:
    generator = np.random.default_rng(5)
    z = generator.normal(size=(500, 1))
    noise = generator.normal(size=500)
    x = np.sin(2 * z[:, 0]) + 0.4 * noise
    y = generator.exponential(size=500)
    seed_everything(0)
    latent_x, latent_y = latents(torch.as_tensor(np.stack([x, y])), torch.as_tensor(z)).numpy()
    assert np.corrcoef(latent_x, noise)[0, 1] > 0.9
    assert abs(np.corrcoef(latent_x, np.sin(2 * z[:, 0]))[0, 1]) < 0.2
    assert stats.spearmanr(latent_y, y).statistic > 0.9
    for latent in (latent_x, latent_y):
        assert stats.kstest(latent, "norm").statistic < 0.08


def test_flows_of_one_loop_share_nothing() -> None:
    generator = np.random.default_rng(6)
    x, z = (torch.as_tensor(generator.normal(size=(120, 1))) for _ in range(2))
    answers = []
    for other in (x.T.exp(), x.T.sign() * 3 + z.T):
        seed_everything(1)
        answers.append(latents(torch.cat([x.T, other]), z)[0])
    torch.testing.assert_close(answers[0], answers[1], rtol=0, atol=1e-6)


def test_a_constant_among_z_changes_nothing() -> None:
    x, y, z = post_nonlinear_fork(np.random.default_rng(7), 0.0)
    assert z is not None
    answers = []
    for given in (z, np.hstack([np.full_like(z, 4.0), z])):
        seed_everything(3)
        answers.append(get_method("lcit").pvalues([(x, y, given)])[0])
    assert answers[0] == answers[1]


def test_an_outlier_counts_as_the_edge_of_the_data() -> None:
    x, y, z = post_nonlinear_fork(np.random.default_rng(8), 0.0)
    answers = []
    for far in (1e2, 1e12):
        x[0] = far
        seed_everything(0)
        answers.append(get_method("lcit").pvalues([(x, y, z)])[0])
    assert answers[0] == answers[1]


def test_three_rows_are_too_few() -> None:
    x, y, z = post_nonlinear_fork(np.random.default_rng(9), 0.0, n=3)
    with pytest.raises(ValueError, match="at least four rows, got 3"):
        get_method("lcit").pvalues([(x, y, z)])
