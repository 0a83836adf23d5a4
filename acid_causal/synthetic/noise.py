"""Distributions of exogenous noise, each with mean 0 and variance 1."""

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

Noise = Callable[[Generator, tuple[int, ...]], Tensor]


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
    """Two normal humps of equal weight."""
    side = torch.sign(_rand(generator, shape) - 0.5)
    return 0.9 * side + math.sqrt(1 - 0.81) * gaussian(generator, shape)


NOISES: dict[str, Noise] = {
    "gaussian": gaussian,
    "uniform": uniform,
    "laplace": laplace,
    "student": student,
    "skewed": skewed,
    "bimodal": bimodal,
}


def _rand(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    return torch.rand(shape, generator=generator, device=generator.device)
