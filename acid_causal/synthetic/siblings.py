"""Siblings: two effects of the same causes, with correlated or independent noise.

X = f(Z) + e1 and Y = g(Z) + e2, where Z has any marginal distribution and e1, e2 are correlated in
dependent datasets. The noise may be tiny: two accurate sensors of Z are independent given Z, and a
test should say so for any number of rows.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from acid_causal.synthetic.categories import categorise, random_effects, with_indicators
from acid_causal.synthetic.draws import coin, integer, log_uniform, rand, randn
from acid_causal.synthetic.mechanisms import ROUGH, Mechanism, linear
from acid_causal.synthetic.sem import Domain, measure, split_among, standardise

# Bounds of the sd of the noise relative to the signal. With less noise a regression on a few
# hundred rows could not remove the signal well enough.
_MIN_NOISE = {"linear": 0.01, "smooth": 0.05, "rough": 0.4}
_MAX_NOISE = 3.0
_ROUGH = {*ROUGH, "steps", "gp", "switching"}
# Probabilities: of a linear function; of the same function in X and Y; of noise whose scale depends
# on Z, in X and Y alike; of a column of Z that nearly copies another.
_LINEAR, _ALIKE, _VOLATILE, _COPIES = 0.4, 0.25, 0.3, 0.2


def draw_siblings(
    label: Bool[Tensor, " batch"],
    n: int,
    d_x: int,
    d_z: int,
    domain: Domain,
    generator: Generator,
    *,
    widths: tuple[int, ...] | None = None,
) -> tuple[
    Float[Tensor, "batch n d_x"], Float[Tensor, "batch n d_x"], Float[Tensor, "batch n columns"]
]:
    """Draws datasets of two effects of Z.

    Args:
        label: which datasets are dependent given Z.
        n: number of samples.
        d_x: components of X, and of Y.
        d_z: components of Z.
        domain: the distribution of functions and noise.
        generator: random generator.
        widths: number of levels of each component of Z, 1 if it is a number; None: all are.

    Returns:
        X, Y and Z; of Z's categories the indicators of their levels.
    """
    batch = len(label)
    z = _causes(batch, n, d_z, domain, generator)
    noise = _noise(label, n, d_x, domain, generator)  # (batch, 2, n, d_x)
    if d_z == 0:
        return noise[:, 0], noise[:, 1], z
    causes = _Causes.of(z, widths or (1,) * d_z, generator)
    # At most two causes have an effect: functions of more cannot be learned from so few rows.
    kept = rand(generator, batch, d_z).argsort(1)
    strength = log_uniform(generator, *domain.strength, batch, d_z) * (kept < 2)
    noise = noise * _volatility(causes.numbers(generator), strength, generator)[:, None, :, None]
    x, y = (torch.empty(batch, n, d_x, device=generator.device) for _ in range(2))
    alike = coin(generator, _ALIKE, batch, 1) > 0
    for k in range(d_x):
        signal, least = _signal(causes.numbers(generator), strength, domain, generator)
        x[..., k] = _effect(signal, least, noise[:, 0, :, k], domain, generator)
        other, other_least = _signal(causes.numbers(generator), strength, domain, generator)
        signal, least = torch.where(alike, signal, other), torch.where(alike, least, other_least)
        y[..., k] = _effect(signal, least, noise[:, 1, :, k], domain, generator)
    return x, y, causes.columns()


@dataclass(frozen=True)
class _Causes:
    """Conditioning variables, some of which are categories.

    Attributes:
        values: numbers; those of categories are not used.
        widths: number of levels of each variable, 1 if it is a number.
        levels: of the categories.
    """

    values: Float[Tensor, "batch n d_z"]
    widths: tuple[int, ...]
    levels: Int[Tensor, "batch n d_z"]

    @classmethod
    def of(
        cls, z: Float[Tensor, "batch n d_z"], widths: tuple[int, ...], generator: Generator
    ) -> "_Causes":
        """Makes categories of some variables."""
        levels = torch.zeros_like(z, dtype=torch.long)
        for k, width in enumerate(widths):
            if width > 1:
                levels[..., k] = categorise(standardise(z[..., k]), width, generator)
        return cls(z, widths, levels)

    def numbers(self, generator: Generator) -> Float[Tensor, "batch n d_z"]:
        """Returns the variables as causes: of categories a new random effect of each level."""
        if max(self.widths) == 1:
            return self.values
        is_category = torch.tensor(self.widths, device=self.values.device) > 1
        return torch.where(is_category, random_effects(self.levels, generator), self.values)

    def columns(self) -> Float[Tensor, "batch n columns"]:
        """Returns numbers, and the indicators of categories."""
        return with_indicators(self.values, self.levels, self.widths)


def _causes(
    batch: int, n: int, d_z: int, domain: Domain, generator: Generator
) -> Float[Tensor, "batch n d_z"]:
    """Draws Z with any marginals; columns may be correlated, rounded, or near-copies."""
    z = torch.empty(batch, n, d_z, device=generator.device)
    common = randn(generator, batch, n)
    for k in range(d_z):
        for draw, rows in split_among(domain.noises, batch, generator):
            z[rows, :, k] = draw(generator, (len(rows), n))
        weight = 0.8 * rand(generator, batch, 1) * coin(generator, 0.4, batch, 1)
        z[..., k] = (1 - weight.square()).sqrt() * z[..., k] + weight * common
        if k:
            near = z[..., k - 1] + log_uniform(generator, 0.02, 0.5, batch, 1) * z[..., k]
            copied = coin(generator, _COPIES, batch, 1) > 0
            z[..., k] = torch.where(copied, near, z[..., k])
        if domain.measured:
            z[..., k] = measure(z[..., k], domain.measured, generator)
    return z


def _noise(
    label: Bool[Tensor, " batch"], n: int, d_x: int, domain: Domain, generator: Generator
) -> Float[Tensor, "batch 2 n d_x"]:
    """Draws the noise of X and Y.

    In dependent datasets it has a shared part, either in the first components only or in all.
    """
    batch = len(label)
    noise = torch.empty(batch, 2, n, d_x, device=generator.device)
    shared = torch.empty(batch, n, d_x, device=generator.device)
    for draw, rows in split_among(domain.noises, batch, generator):
        noise[rows] = draw(generator, (len(rows), 2, n, d_x))
        shared[rows] = draw(generator, (len(rows), n, d_x))
    # Components of one variable are correlated in half of the datasets.
    alike = rand(generator, batch, 1, 1, 1) * coin(generator, 0.5, batch, 1, 1, 1)
    noise = (1 - alike).sqrt() * noise + alike.sqrt() * noise[..., :1]
    # Share of variance of the shared part: the absolute correlation of X's and Y's noise.
    share = log_uniform(generator, 0.15, 6.0, batch, 1, 1)
    share = share / (1 + share)
    in_all = coin(generator, 0.5, batch, 1, 1) > 0
    first = torch.arange(d_x, device=generator.device) == 0
    share = share * (in_all | first) * label.to(generator.device)[:, None, None]
    sign = 2 * coin(generator, 0.5, batch, 1, 1) - 1
    x = (1 - share).sqrt() * noise[:, 0] + share.sqrt() * shared
    y = (1 - share).sqrt() * noise[:, 1] + sign * share.sqrt() * shared
    return torch.stack([x, y], dim=1)


def _volatility(
    z: Float[Tensor, "batch n d_z"], strength: Float[Tensor, "batch d_z"], generator: Generator
) -> Float[Tensor, "batch n"]:
    """Draws a scale of the noise given Z, the same for X and Y; in most datasets it is 1."""
    log_scale = standardise(linear(z, strength, generator))
    depth = log_uniform(generator, 0.2, 1.2, len(z), 1) * coin(generator, _VOLATILE, len(z), 1)
    scale = torch.exp(depth * log_scale.clamp(-3, 3))
    return scale / scale.square().mean(-1, keepdim=True).sqrt()


def _signal(
    z: Float[Tensor, "batch n d_z"],
    strength: Float[Tensor, "batch d_z"],
    domain: Domain,
    generator: Generator,
) -> tuple[Float[Tensor, "batch n"], Float[Tensor, "batch 1"]]:
    """Draws a function of the causes, and the least sd of the noise that is added to it."""
    batch, n, _ = z.shape
    signal = torch.empty(batch, n, device=z.device)
    least = torch.empty(batch, 1, device=z.device)
    for name, mechanism, rows in _functions(domain, batch, generator):
        signal[rows] = standardise(mechanism(z[rows], strength[rows], generator))
        kind = name if name in _MIN_NOISE else "rough" if name in _ROUGH else "smooth"
        # With fewer rows the function is harder to learn, so the noise is larger.
        least[rows] = _MIN_NOISE[kind] * (1.0 if kind == "linear" else max(1.0, 300 / n) ** 0.5)
    return signal, least


def _effect(
    signal: Float[Tensor, "batch n"],
    least: Float[Tensor, "batch 1"],
    noise: Float[Tensor, "batch n"],
    domain: Domain,
    generator: Generator,
) -> Float[Tensor, "batch n"]:
    """Adds a function of the causes to the noise, sometimes with measurement effects."""
    batch = len(signal)
    ratio = least * (_MAX_NOISE / least) ** rand(generator, batch, 1)
    # In one of ten datasets there is no signal: Z affects at most the scale of the noise.
    has_signal = 1 - coin(generator, 0.1, batch, 1)
    values = (has_signal * signal + ratio * noise) / (1 + ratio * ratio).sqrt()
    if domain.measured and integer(generator, 0, 3) == 0:
        values = measure(values, domain.measured, generator)
    return values


def _functions(
    domain: Domain, batch: int, generator: Generator
) -> list[tuple[str, Mechanism, Tensor]]:
    """Draws a family for each dataset: linear with probability `_LINEAR`, else of the domain."""
    names = list(domain.mechanisms)
    choice = torch.randint(0, len(names), (batch,), generator=generator, device=generator.device)
    is_linear = coin(generator, _LINEAR, batch) > 0
    found: list[tuple[str, Mechanism, Tensor]] = [("linear", linear, is_linear.nonzero()[:, 0])]
    for k, name in enumerate(names):
        rows = ((choice == k) & ~is_linear).nonzero()[:, 0]
        found.append((name, domain.mechanisms[name], rows))
    return [one for one in found if len(one[2])]
