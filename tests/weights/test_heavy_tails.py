"""Heavy tails cost no level: the shipped model on independent data with and without them."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.methods import get_method

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]
DATASETS, N = 400, 100


def gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.normal(size=shape)


def outliers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """One value in a hundred is 1e12 times too large."""
    return np.where(rng.random(shape) < 0.01, 1e12, 1.0) * rng.normal(size=shape)


NOISES: dict[str, Draw] = {
    "student": lambda rng, shape: rng.standard_t(1.5, shape),
    "log-normal": lambda rng, shape: rng.lognormal(size=shape),
    "cauchy": lambda rng, shape: rng.standard_cauchy(shape),
    "outliers": outliers,
}


def forks(draw: Draw) -> list[tuple[Array, Array, Array]]:
    """X <- Z -> Y, linear."""
    rng = np.random.default_rng(0)
    datasets = []
    for _ in range(DATASETS):
        z, of_x, of_y = (draw(rng, (N, 1)) for _ in range(3))
        datasets.append((z + of_x, z + of_y, z))
    return datasets


def level(datasets: list[tuple[Array, Array, Array]]) -> float:
    """Type I error at .05."""
    in_batches = get_method("acid").in_batches
    assert in_batches is not None
    pvalues = np.asarray(in_batches(datasets))
    assert np.isfinite(pvalues).all()
    return float((pvalues < 0.05).mean())


@pytest.fixture(scope="module")
def gaussian_level() -> float:
    return level(forks(gaussian))


@pytest.mark.parametrize("noise", NOISES)
def test_level_under_heavy_tailed_noise(noise: str, gaussian_level: float) -> None:
    assert level(forks(NOISES[noise])) <= gaussian_level + 0.02


def test_log_normal_data_and_small_units_cost_no_level(gaussian_level: float) -> None:
    """Any increasing map of any variable: exponentials, and units of 1e-12."""
    mapped = [(np.exp(x), 1e-12 * y, np.exp(z)) for x, y, z in forks(gaussian)]
    assert gaussian_level == pytest.approx(0.06, abs=0.015)
    assert level(mapped) == pytest.approx(gaussian_level, abs=0.02)
