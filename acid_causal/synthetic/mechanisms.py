"""Mechanisms: families of random functions from causes to effects.

A mechanism maps `(parents: (batch, n, p), strength: (batch, p), generator)` to `(batch, n)`. The
strength of an absent parent is 0. Results are standardised later, so their scale does not matter.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from acid_causal.errors import unknown
from acid_causal.synthetic.draws import gumbel, log_uniform, rand, randn

Parents = Float[Tensor, "batch n p"]
Strength = Float[Tensor, "batch p"]
Signal = Float[Tensor, "batch n"]
Mechanism = Callable[[Parents, Strength, Generator], Signal]

_ACTIVATIONS: tuple[Callable[[Tensor], Tensor], ...] = (
    torch.tanh,
    torch.relu,
    lambda u: torch.nn.functional.leaky_relu(u, 0.2),
    torch.sigmoid,
    lambda u: torch.exp(-0.5 * u * u),
)


def linear(parents: Parents, strength: Strength, generator: Generator) -> Signal:
    """A weighted sum."""
    return _project(parents, strength, generator, 1)[..., 0]


def mlp(hidden: int) -> Mechanism:
    """Makes the family MLP-k: one hidden layer of k units with a random activation."""

    def mechanism(parents: Parents, strength: Strength, generator: Generator) -> Signal:
        return _mlp(parents, strength, generator, torch.full((len(parents),), float(hidden)))

    return mechanism


def mlp_any(parents: Parents, strength: Strength, generator: Generator) -> Signal:
    """MLP-k with k from 4 to 64 units, log-uniform."""
    return _mlp(
        parents, strength, generator, log_uniform(generator, 4.0, 65.0, len(parents)).floor()
    )


def _mlp(
    parents: Parents, strength: Strength, generator: Generator, hidden: Float[Tensor, " batch"]
) -> Signal:
    batch, most = len(parents), int(hidden.max())
    gain = log_uniform(generator, 0.7, 3.0, batch, 1, 1)
    bias = randn(generator, batch, 1, most)
    units = _activate(gain * _project(parents, strength, generator, most) + bias, generator)
    used = torch.arange(most, device=parents.device) < hidden.to(parents.device)[:, None]
    out = randn(generator, batch, most) * used
    return (units @ out[..., None])[..., 0]


def additive(parents: Parents, strength: Strength, generator: Generator) -> Signal:
    """A sum of one-dimensional random functions of the parents."""
    batch, _, p = parents.shape
    gain = log_uniform(generator, 0.7, 3.0, batch, 1, p)
    total = torch.zeros_like(parents)
    for _ in range(3):
        slope, shift = randn(generator, batch, 1, p), randn(generator, batch, 1, p)
        units = _activate(gain * slope * parents + shift, generator)
        total = total + randn(generator, batch, 1, p) * units
    return (total * strength[:, None, :]).sum(-1)


def polynomial(parents: Parents, strength: Strength, generator: Generator) -> Signal:
    """A quadratic, with interactions, or a cubic of projections."""
    u = _project(parents, strength, generator, 3)
    weight = randn(generator, parents.shape[0], 1, 4)
    # A bounded-growth cube: a plain cube of a heavy-tailed cause is dominated by a few points.
    cube = u[..., 2] ** 3 / (1 + u[..., 2] ** 2)
    terms = torch.stack([u[..., 0], u[..., 1] ** 2, u[..., 0] * u[..., 1], cube], dim=-1)
    return (weight * terms).sum(-1)


def periodic(parents: Parents, strength: Strength, generator: Generator) -> Signal:
    """A sine of a projection, half a period to a few over the data, plus a trend."""
    batch = parents.shape[0]
    u = _project(parents, strength, generator, 2)
    frequency = log_uniform(generator, 0.8, 3.0, batch, 1)
    phase = 2 * math.pi * rand(generator, batch, 1)
    trend = rand(generator, batch, 1)
    return torch.sin(frequency * u[..., 0] + phase) + trend * u[..., 1]


def multiplicative(parents: Parents, strength: Strength, generator: Generator) -> Signal:
    """A product of two saturating projections, plus a trend."""
    u = _project(parents, strength, generator, 3)
    shift = randn(generator, parents.shape[0], 1)
    return (torch.tanh(u[..., 0]) + 0.5 * shift) * u[..., 1] + 0.3 * u[..., 2]


# ---- families outside the group "training" -------------------------------------------


def steps(parents: Parents, strength: Strength, generator: Generator) -> Signal:
    """A piecewise constant function: a sum of random stumps and of products of two stumps."""
    batch, _, p = parents.shape
    total = torch.zeros(parents.shape[:2], device=parents.device)
    for _ in range(8):
        cut = 0.8 * randn(generator, batch, 1, p)
        stump = torch.sign(parents - cut) * strength[:, None, :]
        pick = torch.softmax(4 * randn(generator, batch, 2, p), dim=-1)
        pair = torch.einsum("bnp,bkp->bnk", stump, pick)
        weight = randn(generator, batch, 2)
        total = total + weight[:, :1] * pair[..., 0] + weight[:, 1:] * pair[..., 0] * pair[..., 1]
    return total


def gaussian_process(parents: Parents, strength: Strength, generator: Generator) -> Signal:
    """A draw of a Gaussian process, RBF kernel over all parents, by random Fourier features."""
    batch, features = parents.shape[0], 128
    length = log_uniform(generator, 0.6, 2.5, batch, 1, 1)
    norm = strength.norm(dim=-1).clamp(min=1e-6)[:, None, None]
    omega = randn(generator, batch, parents.shape[-1], features) * strength[..., None] / norm
    phase = 2 * math.pi * rand(generator, batch, 1, features)
    weight = randn(generator, batch, features, 1)
    return (torch.cos(parents @ omega * math.sqrt(2) / length + phase) @ weight)[..., 0]


def switching(parents: Parents, strength: Strength, generator: Generator) -> Signal:
    """Two linear functions; a third projection decides which of them applies."""
    u = _project(parents, strength, generator, 3)
    cut = 0.5 * randn(generator, parents.shape[0], 1)
    return torch.where(u[..., 0] > cut, u[..., 1], u[..., 2] + 0.5)


def tree(parents: Parents, strength: Strength, generator: Generator) -> Signal:
    """A regression tree of depth three; each node splits on a random variable."""
    batch, n, p = parents.shape
    node = torch.zeros(batch, n, dtype=torch.long, device=parents.device)
    for depth in range(3):
        nodes = 2**depth
        weight = strength[:, None, :].clamp(min=1e-12).log() + gumbel(generator, batch, nodes, p)
        variable = weight.argmax(dim=2)  # (batch, nodes)
        cut = 0.7 * randn(generator, batch, nodes)
        value = parents.gather(2, variable.gather(1, node)[..., None])[..., 0]
        node = 2 * node + (value > cut.gather(1, node)).long()
    return randn(generator, batch, 8).gather(1, node)


def thresholds(parents: Parents, strength: Strength, generator: Generator) -> Signal:
    """Two linear terms whose slopes depend on whether other projections exceed a threshold."""
    u = _project(parents, strength, generator, 4)
    cut = 0.7 * randn(generator, parents.shape[0], 2)
    low, high = (u[..., :2] > cut[:, None]).float().unbind(-1)
    return u[..., 2] * (2 * low - 1) + u[..., 3] * high + randn(generator, len(u), 1) * low


def seasonal(parents: Parents, strength: Strength, generator: Generator) -> Signal:
    """Two harmonics of one projection, of several periods, plus a linear trend in another."""
    u = _project(parents, strength, generator, 2)
    frequency = log_uniform(generator, 1.0, 6.0, len(u), 1)
    phase = 2 * math.pi * rand(generator, 2, len(u), 1)
    second = rand(generator, len(u), 1)
    wave = torch.sin(frequency * u[..., 0] + phase[0])
    harmonic = torch.sin(2 * frequency * u[..., 0] + phase[1])
    return wave + 0.5 * second * harmonic + 0.5 * u[..., 1] * rand(generator, len(u), 1)


def deep(parents: Parents, strength: Strength, generator: Generator) -> Signal:
    """A network of three hidden layers."""
    units = _activate(1.5 * _project(parents, strength, generator, 16), generator)
    for _ in range(2):
        units = units - units.mean(dim=1, keepdim=True)
        units = units / units.std(dim=1, keepdim=True).clamp(min=1e-6)
        weight = randn(generator, len(units), 16, 16) / 4
        units = _activate(1.5 * units @ weight, generator)
    return (units @ randn(generator, len(units), 16, 1))[..., 0]


TRAINING: dict[str, Mechanism] = {
    "mlp": mlp_any,
    "linear": linear,
    "additive": additive,
    "polynomial": polynomial,
    "periodic": periodic,
    "multiplicative": multiplicative,
}
HELD_OUT: dict[str, Mechanism] = {
    "steps": steps,
    "gp": gaussian_process,
    "switching": switching,
}
ROUGH: dict[str, Mechanism] = {
    "tree": tree,
    "thresholds": thresholds,
    "seasonal": seasonal,
    "deep": deep,
}
ALL: dict[str, Mechanism] = {**TRAINING, **HELD_OUT, **ROUGH}
MLPS: dict[str, Mechanism] = {f"mlp{k:02d}": mlp(k) for k in (8, 16, 32, 64)}


def families(name: str) -> dict[str, Mechanism]:
    """Returns a group of families, or one family, by name.

    Raises:
        OptionError: no such name.
    """
    groups = {"training": TRAINING, "held-out": HELD_OUT, "all": ALL}
    if name in groups:
        return groups[name]
    single = {**ALL, **MLPS}
    if name not in single:
        raise unknown("family of mechanisms", name, [*groups, *single])
    return {name: single[name]}


# ---- pieces ----------------------------------------------------------------------


def _project(parents: Parents, strength: Strength, generator: Generator, k: int) -> Tensor:
    """Draws k projections of the parents, each of about unit variance: `(batch, n, k)`."""
    batch, _, p = parents.shape
    weight = randn(generator, batch, p, k) * strength[..., None]
    weight = weight / weight.norm(dim=1, keepdim=True).clamp(min=1e-6)
    return parents @ weight


def _activate(units: Float[Tensor, "batch n k"], generator: Generator) -> Tensor:
    """Applies a random activation to each dataset."""
    size = (len(units),)
    choice = torch.randint(0, len(_ACTIVATIONS), size, generator=generator, device=generator.device)
    out = torch.empty_like(units)
    for k, activation in enumerate(_ACTIVATIONS):
        rows = choice == k
        out[rows] = activation(units[rows])
    return out
