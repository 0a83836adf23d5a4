"""Distributions of exogenous noise, with mean 0 and variance 1.

Those in `HEAVY` are instead scaled to the interquartile range of the standard normal. A few rows
hold most of their sample variance, and Student's t with two degrees of freedom has infinite
variance.
"""

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from acid_causal.errors import unknown

Noise = Callable[[Generator, tuple[int, ...]], Tensor]

# Upper quartile of the standard normal.
_QUARTILE = 0.6744898


def gaussian(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    """Standard normal."""
    return torch.randn(shape, generator=generator, device=generator.device)


def uniform(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    """Uniform on [-sqrt 3, sqrt 3]."""
    return (_rand(generator, shape) - 0.5) * math.sqrt(12)


def laplace(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    """Double exponential."""
    u = _rand(generator, shape) - 0.5
    return -torch.sign(u) * torch.log1p(-2 * u.abs().clamp(max=0.5 - 1e-7)) / math.sqrt(2)


def student(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    """Student's t with 4 degrees of freedom: heavy tails, finite variance."""
    chi2 = torch.zeros(shape, device=generator.device)
    for _ in range(4):
        chi2 += gaussian(generator, shape) ** 2
    return gaussian(generator, shape) / (chi2 / 4).sqrt() / math.sqrt(2)


def skewed(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    """Exponential, centred."""
    return -torch.log1p(-_rand(generator, shape).clamp(max=1 - 1e-7)) - 1


def bimodal(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    """Mixture of two normal distributions of equal weight."""
    side = torch.sign(_rand(generator, shape) - 0.5)
    return 0.9 * side + math.sqrt(1 - 0.81) * gaussian(generator, shape)


def student2(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    """Student's t with 2 degrees of freedom: infinite variance."""
    u = _rand(generator, shape).clamp(1e-7, 1 - 1e-7)
    return (2 * u - 1) / (2 * u * (1 - u)).sqrt() * (_QUARTILE / math.sqrt(2 / 3))


def lognormal(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    """Log-normal, shifted to median 0."""
    return torch.expm1(gaussian(generator, shape)) * (_QUARTILE / math.sinh(_QUARTILE))


def clusters(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    """Two or three narrow normal clusters far apart; all datasets of a draw share their places."""
    count = int(torch.randint(2, 4, (), generator=generator, device=generator.device))
    which = (_rand(generator, shape) * count).floor()
    return _unit_variance(which + (0.03 + 0.12 * _one(generator)) * gaussian(generator, shape))


def gap(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    """Uniform with a gap in the middle."""
    u = _rand(generator, shape) - 0.5
    return _unit_variance(u + (0.2 + 0.8 * _one(generator)) * torch.sign(u))


NOISES: dict[str, Noise] = {
    "gaussian": gaussian,
    "uniform": uniform,
    "laplace": laplace,
    "student": student,
    "skewed": skewed,
    "bimodal": bimodal,
}
HEAVY: dict[str, Noise] = {"student2": student2, "lognormal": lognormal}

MARGINS: dict[str, Noise] = {"clusters": clusters, "gap": gap}


def noises(name: str) -> dict[str, Noise]:
    """Returns a group of distributions by name.

    "usual" is `NOISES`, "heavy" is `HEAVY`, "all" is both, and "wide" is all plus `MARGINS`.

    Raises:
        OptionError: no such name.
    """
    groups = {"usual": NOISES, "heavy": HEAVY, "all": {**NOISES, **HEAVY}}
    groups["wide"] = {**groups["all"], **MARGINS}
    if name not in groups:
        raise unknown("group of noises", name, groups)
    return groups[name]


def _one(generator: Generator) -> Tensor:
    return torch.rand((), generator=generator, device=generator.device)


def _unit_variance(values: Tensor) -> Tensor:
    # No floor: continuous draws, of all datasets together, are never constant.
    centred = values - values.mean()
    return centred / centred.square().mean().sqrt()


def _rand(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    return torch.rand(shape, generator=generator, device=generator.device)
