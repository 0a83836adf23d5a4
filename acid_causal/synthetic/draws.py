"""Random tensors on the device of their generator."""

import hashlib

import torch
from torch import Generator, Tensor


def rand(generator: Generator, *shape: int) -> Tensor:
    """Uniform on [0, 1)."""
    return torch.rand(shape, generator=generator, device=generator.device)


def randn(generator: Generator, *shape: int) -> Tensor:
    """Standard normal."""
    return torch.randn(shape, generator=generator, device=generator.device)


def coin(generator: Generator, chance: float, *shape: int) -> Tensor:
    """1.0 with the given probability, else 0.0."""
    return (rand(generator, *shape) < chance).float()


def gumbel(generator: Generator, *shape: int) -> Tensor:
    """Standard Gumbel: the argmax of `log p + gumbel` is a draw from p."""
    return -torch.log(-torch.log(rand(generator, *shape).clamp(1e-12, 1 - 1e-7)))


def log_uniform(generator: Generator, low: float, high: float, *shape: int) -> Tensor:
    """Uniform on the logarithmic scale between two positive bounds."""
    return low * (high / low) ** rand(generator, *shape)


def integer(generator: Generator, low: int, high: int) -> int:
    """A whole number from `low` to `high`, both included."""
    return int(torch.randint(low, high + 1, (), generator=generator, device=generator.device))


def seeded(*key: int | str, device: torch.device | str = "cpu") -> Generator:
    """Makes a generator seeded by the hash of a key, for instance (seed, purpose, step)."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=7).digest()
    return Generator(device).manual_seed(int.from_bytes(digest, "big"))
