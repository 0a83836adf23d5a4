"""Structural equation models: structure x mechanism x noise, simulated in one batch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from acid_causal.synthetic.categories import categorise, random_effects
from acid_causal.synthetic.draws import coin, log_uniform, rand
from acid_causal.synthetic.mechanisms import TRAINING, Mechanism, mlp
from acid_causal.synthetic.noise import NOISES, Noise
from acid_causal.synthetic.structures import Structure

Family = TypeVar("Family")


@dataclass(frozen=True)
class Domain:
    """The distribution of structural equations.

    Attributes:
        mechanisms: families of functions; each node draws one.
        noises: distributions of the exogenous noise; each node draws one.
        noise_ratio: bounds of the noise's standard deviation relative to the signal's,
            log-uniform.
        strength: bounds of a cause's relative strength among the causes of a node, log-uniform.
        heteroscedastic: probability that a node's noise is scaled by a random function of its
            causes.
        discrete: probability that a node has only a few ordered levels.
        measured: probability that a node has measurement effects: rounding, censoring, or a skewed
            scale.
    """

    mechanisms: dict[str, Mechanism] = field(default_factory=lambda: TRAINING)
    noises: dict[str, Noise] = field(default_factory=lambda: NOISES)
    noise_ratio: tuple[float, float] = (0.1, 3.0)
    strength: tuple[float, float] = (0.15, 1.0)
    heteroscedastic: float = 0.25
    discrete: float = 0.0
    measured: float = 0.0


def simulate(
    structure: Structure, n: int, domain: Domain, generator: Generator
) -> Float[Tensor, "batch n node"]:
    """Draws n rows from a random structural equation model on each graph.

    Every node has mean about 0 and variance about 1, so that the causal order cannot be read off
    the variances.
    """
    return simulate_mixed(structure, n, domain, generator, widths=None)[0]


def simulate_mixed(
    structure: Structure,
    n: int,
    domain: Domain,
    generator: Generator,
    *,
    widths: Int[Tensor, "batch node"] | None,
) -> tuple[Float[Tensor, "batch n node"], Int[Tensor, "batch n node"]]:
    """Does the same as `simulate`, with some nodes that are unordered categories.

    Args:
        structure: the graphs.
        n: number of rows.
        domain: the distribution of functions and noise.
        generator: random generator.
        widths: number of levels of each node, 1 if it is a number; None: all are.

    Returns:
        The values of the numeric nodes, and the levels of the others.
    """
    batch, size, _ = structure.parents.shape
    values = torch.zeros(batch, n, size, device=generator.device)
    levels = torch.zeros_like(values, dtype=torch.long)
    for j in range(size):
        present = structure.parents[:, j, :j]
        # Keep as many columns as the largest number of parents in the batch.
        width = int(present.sum(-1).max()) if j else 0
        chosen = present.float().topk(width, dim=-1).indices
        numbers = values[..., :j]
        if widths is not None and j:
            effects = random_effects(levels[..., :j], generator)
            numbers = torch.where(widths[:, None, :j] > 1, effects, numbers)
        causes = numbers.gather(2, chosen[:, None, :].expand(-1, n, -1))
        values[..., j] = equation([(causes, present.gather(1, chosen))], n, domain, generator)
        if widths is not None:
            for count in widths[:, j].unique().tolist():
                if count > 1:
                    rows = (widths[:, j] == count).nonzero()[:, 0]
                    levels[rows, :, j] = categorise(values[rows, :, j], count, generator)
    return values, levels


def equation(
    links: Sequence[tuple[Float[Tensor, "batch n _"], Bool[Tensor, "batch _"]]],
    n: int,
    domain: Domain,
    generator: Generator,
) -> Float[Tensor, "batch n"]:
    """Draws one structural equation for each dataset, and its values.

    Args:
        links: groups of causes, each with a mask of the causes that are present. Each group that is
            not empty adds one random function; all functions have equal variance.
        n: number of rows.
        domain: the distribution of functions and noise.
        generator: random generator.

    Returns:
        The sum of the functions and the noise, possibly discretised; of variance about 1.
    """
    batch = len(links[0][0])
    device = generator.device
    noise = torch.empty(batch, n, device=device)
    for draw, rows in split_among(domain.noises, batch, generator):
        noise[rows] = draw(generator, (len(rows), n))
    ratio = log_uniform(generator, *domain.noise_ratio, batch, 1)
    signal = torch.zeros(batch, n, device=device)
    for causes, present in links:
        if not present.any():
            continue
        strength = log_uniform(generator, *domain.strength, *present.shape) * present
        for mechanism, rows in split_among(domain.mechanisms, batch, generator):
            signal[rows] += standardise(mechanism(causes[rows], strength[rows], generator))
        if domain.heteroscedastic:
            noise = noise * _scale(causes, strength, domain.heteroscedastic, generator)
    root = ~torch.cat([present for _, present in links], dim=1).any(-1, keepdim=True)
    effect = (standardise(signal) + ratio * noise) / (1 + ratio * ratio).sqrt()
    values = torch.where(root, noise, effect)
    if domain.measured:
        values = measure(values, domain.measured, generator)
    return _discretise(values, domain.discrete, generator) if domain.discrete else values


def split_among(
    families: Mapping[str, Family], batch: int, generator: Generator
) -> Iterator[tuple[Family, Int[Tensor, " rows"]]]:
    """Draws a family for each dataset; yields each family with the indices of its datasets."""
    size = (batch,)
    choice = torch.randint(0, len(families), size, generator=generator, device=generator.device)
    for k, family in enumerate(families.values()):
        rows = (choice == k).nonzero()[:, 0]
        if len(rows):
            yield family, rows


def _scale(causes: Tensor, strength: Tensor, chance: float, generator: Generator) -> Tensor:
    """Draws a scale of the noise: a positive function of the causes with mean square 1, or 1."""
    batch = causes.shape[0]
    log_scale = standardise(mlp(8)(causes, strength, generator))
    depth = (0.3 + 0.7 * rand(generator, batch, 1)) * coin(generator, chance, batch, 1)
    scale = torch.exp(depth * log_scale.clamp(-3, 3))
    return scale / scale.square().mean(-1, keepdim=True).sqrt()


def measure(
    values: Float[Tensor, "batch n"], chance: float, generator: Generator
) -> Float[Tensor, "batch n"]:
    """Rounds or censors the values of some datasets, or puts them on a skewed scale.

    Later equations use the recorded values, so labels stay correct; see `_discretise`.
    """
    batch = len(values)
    step = log_uniform(generator, 0.05, 0.7, batch, 1)
    limit = 0.5 + 1.5 * rand(generator, batch, 1)
    bend = log_uniform(generator, 0.2, 1.5, batch, 1)
    recorded = torch.stack(
        [
            values,
            torch.round(values / step) * step,
            torch.minimum(values, limit),
            standardise(torch.exp(bend * values.clamp(max=4))),
            values.sign() * values.abs().pow(1 + 2 * bend),
        ]
    )
    kind = 1 + torch.randint(0, 4, (batch,), generator=generator, device=values.device)
    kind = kind * coin(generator, chance, batch).long()
    return recorded.gather(0, kind[None, :, None].expand(1, -1, values.shape[1]))[0]


def _discretise(
    values: Float[Tensor, "batch n"], chance: float, generator: Generator
) -> Float[Tensor, "batch n"]:
    """Discretises the values of some datasets into 2 to 8 levels, some of them rare.

    Later equations use the levels and not the underlying values. So conditioning on a level blocks
    the path through it, and labels by d-separation stay correct.
    """
    batch = len(values)
    cuts = torch.floor(1 + 7 * rand(generator, batch, 1))  # 1 to 7
    quantile = 0.05 + 0.9 * rand(generator, batch, 7)
    # Unused cuts lie above all values.
    quantile = torch.where(torch.arange(7, device=values.device) < cuts, quantile, torch.inf)
    rank = values.argsort(dim=1).argsort(dim=1) / values.shape[1]
    levels = (rank[..., None] >= quantile[:, None, :]).sum(-1).to(values.dtype)
    return torch.where(coin(generator, chance, batch, 1) > 0, standardise(levels), values)


def standardise(signal: Float[Tensor, "batch n"]) -> Float[Tensor, "batch n"]:
    """Shifts and scales each row of a batch to mean 0 and variance 1."""
    # A signal may be constant, such as a step that no value reaches; the floor keeps it near 0.
    centred = signal - signal.mean(-1, keepdim=True)
    return centred / centred.std(-1, keepdim=True).clamp(min=1e-6)
