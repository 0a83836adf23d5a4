"""Targets redrawn given a conditioning set Z, from rows that the dataset does not contain.

A number is redrawn as a regression on Z plus a residual of another row. A category is drawn from
the probabilities that a multinomial logistic regression on the same kind of features gives its
levels. Either may be a function of other targets besides.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from acid_causal.model.numerics import eigh
from acid_causal.model.regression.smoothers import leave_one_out
from acid_causal.model.transform import standardise
from acid_causal.synthetic.draws import coin, gumbel, log_uniform, rand, randn
from acid_causal.synthetic.mechanisms import TRAINING
from acid_causal.synthetic.noise import Noise
from acid_causal.synthetic.sem import Domain, equation
from acid_causal.training.classification import log_probabilities

# Causes, of which those of the mask act.
Links = tuple[Float[Tensor, "batch n causes"], Bool[Tensor, "batch causes"]]

_WAVES = _STEPS = 24
_RIDGES = (0.003, 0.03, 0.3, 3.0, 30.0)
# Residuals are drawn among this share of the rows, those nearest in the fit or in one of Z.
_NEIGHBOURS = 0.2
# Normal noise added to resampled residuals, relative to their sd (smoothed bootstrap).
_JITTER = 0.1
# A target is barren if Z leaves less than this share of its standard deviation, or less than the
# square of it of the errors of guessing its most frequent level.
_LEAST_RESIDUAL = 0.15


@dataclass(frozen=True)
class Redrawn:
    """A target, and what acts on its effects.

    Attributes:
        latent: a number, up to an increasing function; the levels of a category.
        value: the target as a cause.
        innovation: what is left of the cause given Z.
    """

    latent: Float[Tensor, "batch n"] | Int[Tensor, "batch n"]
    value: Float[Tensor, "batch n"]
    innovation: Float[Tensor, "batch n"]


@dataclass(frozen=True)
class Number:
    """A number given Z.

    Attributes:
        fit: its regression, at the rows of the dataset.
        noise: residuals of other rows, drawn for each row among its neighbours; of unit variance.
        sd: of the residuals.
    """

    fit: Float[Tensor, "batch n"]
    noise: Float[Tensor, "batch n"]
    sd: Float[Tensor, "batch 1"]

    def is_barren(self, values: Float[Tensor, "batch n"]) -> Bool[Tensor, "batch 1"]:
        """Says whether Z leaves too little of its values to act on others."""
        return self.sd < _LEAST_RESIDUAL

    def as_it_is(self, values: Float[Tensor, "batch n"], generator: Generator) -> Redrawn:
        """Returns the target as the table has it."""
        innovation = ((values - self.fit) / self.sd).clamp(-10, 10)
        return Redrawn(values, _unit(values), innovation)

    def redraw(
        self, links: Links, share: Float[Tensor, "batch 1"], generator: Generator
    ) -> Redrawn:
        """Redraws the target.

        Args:
            links: what acts on it besides Z.
            share: of its own noise, relative to that of the table.
            generator: source of randomness.
        """
        drawn = _functions(links, lambda *_: self.noise, generator)
        values = self.fit + self.sd * share * drawn
        return Redrawn(values, _unit(values), drawn)


@dataclass(frozen=True)
class Category:
    """A category given Z.

    Attributes:
        log_p: logs of the probabilities of its levels, at the rows of the dataset.
    """

    log_p: Float[Tensor, "batch n levels"]

    def is_barren(self, levels: Int[Tensor, "batch n"]) -> Bool[Tensor, "batch 1"]:
        """Says whether Z leaves too little of its levels to act on others, as it predicts them."""
        wrong = (self.log_p.argmax(dim=2) != levels).float().mean(dim=1, keepdim=True)
        shares = one_hot(levels, self.log_p.shape[2]).float().mean(dim=1)
        return wrong <= _LEAST_RESIDUAL**2 * (1 - shares.amax(dim=1, keepdim=True))

    def as_it_is(self, levels: Int[Tensor, "batch n"], generator: Generator) -> Redrawn:
        """Returns the target as the table has it; as a cause it has an effect for each level."""
        p = self.log_p.exp()
        effects = randn(generator, len(p), 1, p.shape[2])
        effect = effects.expand_as(p).gather(2, levels[..., None])[..., 0]
        expected = (p * effects).sum(dim=2)
        variance = ((p * effects.square()).sum(dim=2) - expected.square()).mean(dim=1, keepdim=True)
        left = (effect - expected) / variance.clamp(min=1e-3).sqrt()
        return Redrawn(levels, _unit(effect), left.clamp(-10, 10))

    def redraw(
        self, links: Links, share: Float[Tensor, "batch 1"], generator: Generator
    ) -> Redrawn:
        """Redraws the target; see `Number.redraw`. Causes raise some levels and lower others."""
        act = _functions(
            links, lambda generator, size: torch.zeros(size, device=generator.device), generator
        )
        slope = (1 + 3 * rand(generator, len(share), 1, 1)) * randn(
            generator, len(share), 1, self.log_p.shape[2]
        )
        logit = self.log_p / share[..., None] + slope * act[..., None]
        levels = (logit + gumbel(generator, *logit.shape)).argmax(dim=2)
        return self.as_it_is(levels, generator)


def _functions(links: Links, noise: Noise, generator: Generator) -> Float[Tensor, "batch n"]:
    """Draws random functions of causes plus noise; the noise alone where no cause acts."""
    return equation([links], links[0].shape[1], Domain(TRAINING, {"noise": noise}), generator)


def _unit(values: Float[Tensor, "batch n"]) -> Float[Tensor, "batch n"]:
    return standardise(values[..., None])[..., 0]


# ---- regression --------------------------------------------------------------------


def classify(
    z: Float[Tensor, "batch known d_z"],
    levels: Int[Tensor, "batch known"],
    at: Float[Tensor, "batch n d_z"],
    count: int,
    generator: Generator,
) -> Category:
    """Fits the probabilities of a category's levels given random functions of Z.

    Args:
        z: conditioning variables of the rows that the fit may see.
        levels: level of the category there.
        at: conditioning variables of the dataset.
        count: number of levels.
        generator: source of randomness.
    """
    features = _random_functions(torch.cat([z, at], dim=1), generator)
    features = features / math.sqrt(max(1, features.shape[2]))
    known, there = features.split([z.shape[1], at.shape[1]], dim=1)
    return Category(log_probabilities(known, levels, there, count))


def regress(
    z: Float[Tensor, "batch known d_z"],
    v: Float[Tensor, "batch known t"],
    at: Float[Tensor, "batch n d_z"],
    generator: Generator,
) -> list[Number]:
    """Regresses targets on Z by ridge regression on random functions, and draws residuals.

    Args:
        z: conditioning variables of the rows that the regression may see.
        v: targets there.
        at: conditioning variables of the dataset.
        generator: source of randomness.
    """
    known = z.shape[1]
    both = _random_functions(torch.cat([z, at], dim=1), generator)
    centre = both[:, :known].mean(dim=1, keepdim=True)
    features = (both - centre) / math.sqrt(max(1, both.shape[2]))
    seen = features[:, :known].double()
    s, vectors = (part.to(features.dtype) for part in eigh(seen.mT @ seen))
    s = s.clamp(min=1e-6)
    u = features @ (vectors * s.rsqrt()[:, None, :])
    mean = v.mean(dim=1, keepdim=True)
    coefficients = u[:, :known].mT @ (v - mean)  # (batch, m, t)
    ridges = torch.tensor(_RIDGES, device=z.device)[:, None]
    shrink = s[:, None, :] / (s[:, None, :] + ridges)  # (batch, ridges, m)
    fits = u[:, None] @ (shrink[..., None] * coefficients[:, None])
    leverage = 1 / known + shrink @ u[:, :known].square().mT  # (batch, ridges, known)
    residual, best = leave_one_out(
        (v - mean).mT, fits[:, :, :known].permute(0, 3, 1, 2), (1 - leverage).clamp(min=0.1)
    )
    fit = mean + fits.gather(1, best[:, None, None].expand(-1, -1, fits.shape[2], -1))[:, 0]
    residual = (residual - residual.mean(dim=2, keepdim=True)).mT
    sd = residual.square().mean(dim=1, keepdim=True).sqrt().clamp(min=1e-3)
    noise = _among_neighbours(
        residual / sd, _keys(torch.cat([z, at], dim=1), fit, generator), generator
    )
    noise = (noise + _JITTER * randn(generator, *noise.shape)) / math.sqrt(1 + _JITTER**2)
    fit = fit[:, known:]
    return [Number(fit[..., j], noise[..., j], sd[..., j]) for j in range(fit.shape[2])]


def _random_functions(
    z: Float[Tensor, "batch n d_z"], generator: Generator
) -> Float[Tensor, "batch n m"]:
    """Draws functions of Z: its members, and waves and steps along directions of a few of them."""
    batch, _, d_z = z.shape
    if d_z == 0:
        return z
    direction = randn(generator, batch, d_z, _WAVES + _STEPS) ** 3
    along = z @ (direction / direction.norm(dim=1, keepdim=True))
    gain = log_uniform(generator, 0.5, 3.0, batch, 1, _WAVES)
    phase = 2 * math.pi * rand(generator, batch, 1, _WAVES)
    waves = math.sqrt(2) * torch.cos(gain * along[..., :_WAVES] + phase)
    steps = torch.sign(along[..., _WAVES:] - randn(generator, batch, 1, _STEPS))
    # The variables themselves are scaled up, and so penalised less.
    return torch.cat([3 * z, waves, steps], dim=2)


def _keys(
    z: Float[Tensor, "batch n d_z"], fit: Float[Tensor, "batch n t"], generator: Generator
) -> Float[Tensor, "batch n t"]:
    """Chooses for each target the key by which rows are neighbours: its fit, or a column of Z."""
    batch, _, t = fit.shape
    if z.shape[2] == 0:
        return fit
    size = (batch, t)
    member = torch.randint(0, z.shape[2], size, generator=generator, device=generator.device)
    along = z.gather(2, member[:, None, :].expand(-1, z.shape[1], -1))
    return torch.where(coin(generator, 0.5, batch, 1, t) > 0, fit, along)


def _among_neighbours(
    residual: Float[Tensor, "batch known t"],
    key: Float[Tensor, "batch rows t"],
    generator: Generator,
) -> Float[Tensor, "batch n t"]:
    """Draws a residual for each of the n rows after the known ones, of a row with a near key."""
    known = residual.shape[1]
    there, here = key[:, :known].mT.contiguous(), key[:, known:].mT.contiguous()
    ordered, order = there.sort(dim=2)
    window = max(1, round(_NEIGHBOURS * known))
    # Without a Z all rows are neighbours.
    window = known if bool((ordered[..., 0] == ordered[..., -1]).all()) else window
    start = (torch.searchsorted(ordered, here) - window // 2).clamp(0, known - window)
    offset = (rand(generator, *start.shape) * window).long()
    return residual.mT.gather(2, order.gather(2, start + offset)).mT
