"""Plain relations that a statistician tries first, each independent or dependent given Z.

X and Y are functions of a sum of the members of Z, and noise. In the dependent form the noises of X
and Y are correlated, or counts share events. Nothing here is drawn from the families that models
are trained on.
"""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Array = NDArray[np.float64]
Question = tuple[Array, Array, Array]  # X, Y and Z
# From a generator, n, d_z and the correlation of the noises to a question.
Case = Callable[[Generator, int, int, float], Question]

# Correlation of the noises where X and Y are dependent given Z.
DEPENDENT = 0.6


def _causes(rng: Generator, n: int, d_z: int, margin: str = "normal") -> Array:
    if margin == "clusters":
        return rng.choice([-2.2, 2.2], (n, d_z)) + 0.3 * rng.normal(size=(n, d_z))
    if margin == "gap":
        uniform = rng.uniform(-1, 1, (n, d_z))
        return uniform + np.sign(uniform)
    if margin == "heavy":
        return rng.standard_t(2, (n, d_z))
    if margin == "skewed":
        return np.exp(rng.normal(size=(n, d_z)))
    if margin == "levels":
        return rng.integers(0, 4, (n, d_z)).astype(float)
    if margin == "collinear":
        return rng.normal(size=(n, 1)) + 0.05 * rng.normal(size=(n, d_z))
    return rng.normal(size=(n, d_z))


def _noises(rng: Generator, n: int, rho: float) -> tuple[Array, Array]:
    first, other = rng.normal(size=(2, n))
    return first, rho * first + np.sqrt(1 - rho**2) * other


def _sum(z: Array) -> Array:
    total: Array = z.sum(axis=1) / np.sqrt(z.shape[1])
    return total


def _question(x: Array, y: Array, z: Array) -> Question:
    return x[:, None], y[:, None], z


def linear(noise: float, margin: str = "normal") -> Case:
    """Makes the case of two sensors of one thing."""

    def case(rng: Generator, n: int, d_z: int, rho: float) -> Question:
        z = _causes(rng, n, d_z, margin)
        first, second = _noises(rng, n, rho)
        return _question(_sum(z) + noise * first, _sum(z) + noise * second, z)

    return case


def smooth(f: Callable[[Array], Array], g: Callable[[Array], Array], noise: float) -> Case:
    """Makes the case of two functions of one sum."""

    def case(rng: Generator, n: int, d_z: int, rho: float) -> Question:
        z = _causes(rng, n, d_z)
        first, second = _noises(rng, n, rho)
        return _question(f(_sum(z)) + noise * first, g(_sum(z)) + noise * second, z)

    return case


def volatility(depth: float) -> Case:
    """Makes the case of noise alone, whose scale both share."""

    def case(rng: Generator, n: int, d_z: int, rho: float) -> Question:
        z = _causes(rng, n, d_z)
        scale = np.exp(depth * _sum(z))
        first, second = _noises(rng, n, rho)
        return _question(scale * first, scale * second, z)

    return case


def counts(rng: Generator, n: int, d_z: int, rho: float) -> Question:
    """Counts of one rate; the dependent ones have events in common."""
    z = _causes(rng, n, d_z)
    rate = np.exp(0.5 * _sum(z) + 1.5)
    common = rng.poisson(rho * rate)
    x, y = (common + rng.poisson((1 - rho) * rate) for _ in range(2))
    return _question(x.astype(float), y.astype(float), z)


def zero_inflated(rng: Generator, n: int, d_z: int, rho: float) -> Question:
    """Counts of which three in ten are none for a reason of their own."""
    x, y, z = counts(rng, n, d_z, rho)
    assert z is not None
    there = rng.random((2, n, 1)) >= 0.3
    return x * there[0], y * there[1], z


def rounded(rng: Generator, n: int, d_z: int, rho: float) -> Question:
    """Whole numbers, all of them."""
    z = np.round(3 * _causes(rng, n, d_z))
    first, second = _noises(rng, n, rho)
    return _question(np.round(_sum(z) + first), np.round(_sum(z) + second), z)


def censored(rng: Generator, n: int, d_z: int, rho: float) -> Question:
    """An instrument that ends above, and one that ends below."""
    z = _causes(rng, n, d_z)
    first, second = _noises(rng, n, rho)
    x, y = _sum(z) + 0.7 * first, _sum(z) + 0.7 * second
    return _question(np.minimum(x, 1.0), np.maximum(y, -1.0), z)


def product(rng: Generator, n: int, d_z: int, rho: float) -> Question:
    """The product of two causes, or the square of one."""
    z = _causes(rng, n, d_z)
    first, second = _noises(rng, n, rho)
    signal = z[:, 0] * z[:, -1]
    return _question(signal + 0.5 * first, signal + 0.5 * second, z)


def ratio(rng: Generator, n: int, d_z: int, rho: float) -> Question:
    """Two measures per unit of one positive thing."""
    z = np.exp(0.5 * _causes(rng, n, d_z))
    first, second = _noises(rng, n, rho)
    return _question(1 / z[:, 0] + 0.3 * first, z[:, -1] / z[:, 0] + 0.3 * second, z)


def seasonal(rng: Generator, n: int, d_z: int, rho: float) -> Question:
    """Five periods over time, which is the first member of Z."""
    z = _causes(rng, n, d_z)
    z[:, 0] = np.arange(n)
    first, second = _noises(rng, n, rho)
    wave = np.sin(10 * np.pi * z[:, 0] / n)
    return _question(wave + 0.5 * first, wave + 0.5 * second, z)


def autoregression(rng: Generator, n: int, d_z: int, rho: float) -> Question:
    """X a step ago and Y now, given their pasts of `d_z` columns; X drives Y, or does not."""
    length = n + 50
    noise = rng.normal(size=(2, length))
    x, y = np.zeros(length), np.zeros(length)
    for t in range(1, length):
        x[t] = 0.9 * x[t - 1] + noise[0, t]
        y[t] = 0.9 * y[t - 1] + rho * x[t - 1] + noise[1, t]
    columns = [(y, 1), (x, 2), (y, 2), (x, 3)][:d_z]
    z = np.column_stack([series[50 - lag : length - lag] for series, lag in columns])
    return _question(x[49:-1], y[50:], z)


def heavy_noise(rng: Generator, n: int, d_z: int, rho: float) -> Question:
    """Linear effects with noise of two degrees of freedom."""
    z = _causes(rng, n, d_z)
    first, second, common = rng.standard_t(2, (3, n))
    share = 2 * rho * common
    return _question(_sum(z) + first + share, _sum(z) + second + share, z)


def parts(rng: Generator, n: int, d_z: int, rho: float) -> Question:
    """A total of parts, one of them unseen, and what depends on the total."""
    z = _causes(rng, n, d_z)
    unseen, noise = rng.normal(size=(2, n))
    total = z.sum(axis=1) + unseen
    return _question(total, z.sum(axis=1) + rho * unseen + 0.8 * noise, z)


CASES: dict[str, Case] = {
    "two sensors, 1 % noise": linear(0.01),
    "two sensors, 10 % noise": linear(0.1),
    "linear": linear(1.0),
    "linear, 300 % noise": linear(3.0),
    "clusters": linear(1.0, "clusters"),
    "gap": linear(0.2, "gap"),
    "heavy-tailed Z": linear(0.3, "heavy"),
    "skewed Z": linear(0.3, "skewed"),
    "four levels": linear(0.5, "levels"),
    "collinear Z": linear(0.3, "collinear"),
    "saturation": smooth(lambda s: np.tanh(2 * s), lambda s: s, 0.2),
    "squares": smooth(np.square, np.square, 0.5),
    "cubes": smooth(lambda s: s**3, lambda s: s, 0.5),
    "exponentials": smooth(np.exp, np.exp, 0.5),
    "waves": smooth(lambda s: np.sin(3 * s), lambda s: np.cos(3 * s), 0.3),
    "jumps": smooth(np.sign, lambda s: np.sign(s - 0.5), 0.5),
    "volatility": volatility(0.5),
    "strong volatility": volatility(1.0),
    "counts": counts,
    "zero-inflated counts": zero_inflated,
    "rounded": rounded,
    "censored": censored,
    "products": product,
    "ratios": ratio,
    "seasons": seasonal,
    "autoregression": autoregression,
    "heavy-tailed noise": heavy_noise,
    "sum of parts": parts,
}


def draw_case(case: str, n: int, d_z: int, *, dependent: bool, seed: int) -> Question:
    """Draws one dataset of a case.

    Args:
        case: a name of `CASES`.
        n: rows.
        d_z: members of Z, at least 1.
        dependent: whether X and Y are dependent given Z.
        seed: equal seeds, equal data.
    """
    rng = np.random.default_rng([sum(map(ord, case)), n, d_z, int(dependent), seed])
    return CASES[case](rng, n, d_z, DEPENDENT if dependent else 0.0)
