"""SCIT on linear, non-Gaussian equations, where its assumptions hold."""

import math
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from acid_causal.errors import InputError
from benchmarks.harness.runner import seed_everything
from benchmarks.methods import Question, get_method
from benchmarks.methods.method import Array
from benchmarks.methods.scit import PERMUTATIONS, residual


def linear_fork(
    generator: np.random.Generator, effect: float, n: int = 100, d_z: int = 2
) -> tuple[Array, Array, Array]:
    """X <- Z -> Y with Laplacian noise, and an effect of X on Y."""
    z = generator.laplace(size=(n, d_z))
    x = z @ generator.normal(size=(d_z, 1)) + generator.laplace(size=(n, 1))
    y = z @ generator.normal(size=(d_z, 1)) + generator.laplace(size=(n, 1)) + effect * x
    return x, y, z


def rejections(name: str, effect: float, count: int) -> int:
    generator = np.random.default_rng(1)
    seed_everything(2)
    asked: list[Question] = [linear_fork(generator, effect) for _ in range(count)]
    return int(np.sum(np.array(get_method(name).pvalues(asked)) < 0.05))


@pytest.mark.parametrize("name", ["scit", "scit-two-sided"])
def test_level(name: str) -> None:
    low, high = stats.binom.interval(0.999, 200, 0.05)
    assert low <= rejections(name, effect=0.0, count=200) <= high


@pytest.mark.parametrize(
    ("name", "effect", "rejected"),
    [
        ("scit", 0.6, True),
        ("scit", -0.6, False),
        ("scit-two-sided", 0.6, True),
        ("scit-two-sided", -0.6, True),
    ],
)
def test_power_and_the_blind_side(name: str, effect: float, rejected: bool) -> None:
    found = rejections(name, effect, count=30)
    assert found >= 25 if rejected else found == 0


def test_pvalue_is_that_of_all_permutations() -> None:
    generator = np.random.default_rng(5)
    x, y = generator.normal(size=(2, 7, 1))
    r_x, r_y = (residual(values[:, 0], np.empty((7, 0))) for values in (x, y))
    similarity = [
        math.fsum(math.exp(-2 * (a - b) ** 2) for a, b in zip(r_x, order, strict=True))
        for order in permutations(r_y)
    ]
    exact = np.mean([value >= similarity[0] - 1e-12 for value in similarity])
    assert 0.02 < exact < 0.98
    seed_everything(0)
    pvalue = get_method("scit").pvalues([(x, y, None)])[0]
    assert pvalue == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / PERMUTATIONS))


def test_pvalue_of_the_strongest_dependence() -> None:
    x, _, z = linear_fork(np.random.default_rng(3), 0.0)
    for name in ("scit", "scit-two-sided"):
        assert get_method(name).pvalues([(x, x, z)])[0] == 1 / (PERMUTATIONS + 1)


def test_negating_a_variable_does_not_move_the_two_sided_answer() -> None:
    x, y, z = linear_fork(np.random.default_rng(4), 0.2)
    answers = []
    for asked in ((x, y, z), (-x, y, z)):
        seed_everything(6)
        answers.append(get_method("scit-two-sided").pvalues([asked])[0])
    assert answers[0] == answers[1] < 1


def test_residuals() -> None:
    x, _, z = linear_fork(np.random.default_rng(8), 0.0)
    left = residual(x[:, 0] + 3, z)
    assert left.std() == pytest.approx(1)
    np.testing.assert_allclose([left.sum(), *(z.T @ left)], 0.0, atol=1e-9)
    with pytest.raises(InputError, match="does not vary"):
        residual(z @ np.ones(2) + 1, z)
    with pytest.raises(InputError, match="3 rows leave no residuals given 2"):
        residual(x[:3, 0], z[:3])
