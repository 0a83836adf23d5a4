"""Structural equation models: structure x mechanism x noise, simulated in one batch."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from acid_causal.synthetic.draws import coin, log_uniform, rand
from acid_causal.synthetic.mechanisms import TRAINING, Mechanism, mlp
from acid_causal.synthetic.noise import NOISES, Noise
from acid_causal.synthetic.structures import Structure

Family = TypeVar("Family")


@dataclass(frozen=True)
class Domain:
    """The kind of data that a model is trained or tested on.

    Attributes:
        mechanisms: families of functions; each node draws one.
        noises: distributions of the exogenous noise; each node draws one.
        noise_ratio: bounds of the noise's standard deviation relative to the signal's,
            log-uniform.
        strength: bounds of a cause's relative strength among the causes of a node, log-uniform.
        heteroscedastic: chance that a node's noise is scaled by a random function of its causes.
    """

    mechanisms: dict[str, Mechanism] = field(default_factory=lambda: TRAINING)
    noises: dict[str, Noise] = field(default_factory=lambda: NOISES)
    noise_ratio: tuple[float, float] = (0.1, 3.0)
    strength: tuple[float, float] = (0.15, 1.0)
    heteroscedastic: float = 0.25


def simulate(
    structure: Structure, n: int, domain: Domain, generator: Generator
) -> Float[Tensor, "batch n node"]:
    """Draws n rows from a random structural equation model on each graph.

    Every node has mean about 0 and variance about 1, so that no scale tells the causal order.
    """
    batch, size, _ = structure.parents.shape
    values = torch.zeros(batch, n, size, device=generator.device)
    ratio = log_uniform(generator, *domain.noise_ratio, batch, size, 1)
    for j in range(size):
        exogenous = torch.empty(batch, n, device=generator.device)
        for draw, rows in _shared_out(domain.noises, batch, generator):
            exogenous[rows] = draw(generator, (len(rows), n))
        present = structure.parents[:, j, :j]
        if not present.any():
            values[..., j] = exogenous
            continue
        # Keep only as many columns as the largest family has parents.
        width = int(present.sum(-1).max())
        chosen = present.float().topk(width, dim=-1).indices
        strength = log_uniform(generator, *domain.strength, batch, width)
        strength = strength * present.gather(1, chosen)
        causes = values[..., :j].gather(2, chosen[:, None, :].expand(-1, n, -1))
        signal = torch.empty_like(exogenous)
        for mechanism, rows in _shared_out(domain.mechanisms, batch, generator):
            signal[rows] = _standardise(mechanism(causes[rows], strength[rows], generator))
        if domain.heteroscedastic:
            exogenous = exogenous * _scale(causes, strength, domain.heteroscedastic, generator)
        root = ~present.any(-1, keepdim=True)
        r = ratio[:, j]
        values[..., j] = torch.where(root, exogenous, (signal + r * exogenous) / (1 + r * r).sqrt())
    return values


def _shared_out(
    families: Mapping[str, Family], batch: int, generator: Generator
) -> Iterator[tuple[Family, Int[Tensor, " rows"]]]:
    """Lets each dataset draw one of several families; yields a family and its datasets."""
    size = (batch,)
    choice = torch.randint(0, len(families), size, generator=generator, device=generator.device)
    for k, family in enumerate(families.values()):
        rows = (choice == k).nonzero()[:, 0]
        if len(rows):
            yield family, rows


def _scale(causes: Tensor, strength: Tensor, chance: float, generator: Generator) -> Tensor:
    """Draws a positive function of the causes with mean square 1, or the constant 1."""
    batch = causes.shape[0]
    log_scale = _standardise(mlp(8)(causes, strength, generator))
    depth = (0.3 + 0.7 * rand(generator, batch, 1)) * coin(generator, chance, batch, 1)
    scale = torch.exp(depth * log_scale.clamp(-3, 3))
    return scale / scale.square().mean(-1, keepdim=True).sqrt()


def _standardise(signal: Float[Tensor, "batch n"]) -> Float[Tensor, "batch n"]:
    centred = signal - signal.mean(-1, keepdim=True)
    return centred / centred.std(-1, keepdim=True).clamp(min=1e-6)
