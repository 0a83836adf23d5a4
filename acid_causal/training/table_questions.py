"""Questions with known answers, made from a user's own table.

The conditioning set Z and one target, X, are the table's own, row by row. The other targets are
redrawn: each is a regression of one of the table's columns on Z plus resampled residuals, and so is
independent of X and of the others given Z, whatever is true of the column itself. Dependence is put
in on top: some targets become functions of others. No label of the user's is needed or guessed.

The regressions, and the residuals, come from rows that the dataset does not contain. With a
regression of the same rows, X would depend on the residuals that the regression could not help
following.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from acid_causal.model.numerics import eigh
from acid_causal.model.regression.smoothers import leave_one_out
from acid_causal.model.transform import rank_normal, standardise
from acid_causal.synthetic import Batch
from acid_causal.synthetic.draws import coin, integer, log_uniform, rand, randn
from acid_causal.synthetic.mechanisms import TRAINING
from acid_causal.synthetic.sem import Domain, equation
from acid_causal.synthetic.structures import driven

# Of the fewest rows half go into the smallest dataset, and half into its regressions.
MIN_ROWS = 100
MIN_COLUMNS = 2
_SMALLEST, _LARGEST = 50, 1000
_MOST_CONDITIONED = 8
# Regressions use at most this many rows; more would not change the questions noticeably.
_MOST_TEACHERS = 400

_WAVES = _STEPS = 24
_RIDGES = (0.003, 0.03, 0.3, 3.0, 30.0)
# Residuals are drawn among this share of the rows, those nearest in the fit or in one of Z.
_NEIGHBOURS = 0.2
# Normal noise added to resampled residuals, relative to their sd (smoothed bootstrap).
_JITTER = 0.1
# If Z leaves less than this share of X, no variable is made dependent on X given Z.
_LEAST_RESIDUAL = 0.15


class TableStream:
    """Labelled batches in the style of a table, drawn like those of `acid_causal.synthetic.Stream`.

    Args:
        values: the table, complete and without constant columns, each column as a network reads it.
        seed: streams of different seeds share no draws.
        device: where batches are made.
        entries: scalars in a batch, at most.
        targets: bounds of the number of targets of a conditioning set.
        max_batch: most datasets in a batch.
    """

    def __init__(
        self,
        values: Float[Tensor, "rows d"],
        seed: int,
        device: torch.device | str = "cpu",
        *,
        entries: int = 16_000,
        targets: tuple[int, int] = (4, 8),
        max_batch: int = 64,
    ) -> None:
        self.seed, self.device = seed, device
        self._values = values.to(device)
        self._scores = rank_normal(self._values[None])[0]
        self._sorted = self._values.sort(dim=0).values
        self._entries, self._targets, self._max_batch = entries, targets, max_batch
        rows, d = self._values.shape
        self.n = (_SMALLEST, min(_LARGEST, 2 * rows // 3))
        self.d_z = (0, min(_MOST_CONDITIONED, d - 2))

    def draw(self, generator: Generator, *, n: int | None = None, d_z: int | None = None) -> Batch:
        """Draws a batch; n and d_z are random unless given."""
        if n is None:
            low, high = self.n
            n = round(float(log_uniform(generator, float(low), float(high), 1)))
        if d_z is None:
            d_z = min(integer(generator, *self.d_z), integer(generator, *self.d_z))
        t = integer(generator, *self._targets)
        batch = max(2, min(self._max_batch, math.ceil(self._entries / (n * (d_z + t)))))
        total, d = self._values.shape

        rows = rand(generator, batch, total).argsort(dim=1)
        asked, teachers = rows[:, :n], rows[:, n : n + _MOST_TEACHERS]
        columns = rand(generator, batch, d).argsort(dim=1)
        cond, others = columns[:, :d_z], columns[:, d_z:]
        pick = torch.randint(0, d - d_z, (batch, t), generator=generator, device=generator.device)
        templates = others.gather(1, pick)

        regression = _regress(
            _cells(self._scores, teachers, cond),
            _cells(self._scores, teachers, templates),
            _cells(self._scores, asked, cond),
            generator,
        )
        real = self._scores[asked, templates[:, :1]]
        latent, dependent = _redraw(real, regression, generator)
        rank = latent.argsort(dim=1).argsort(dim=1)
        place = ((rank + 0.5) * (total / n)).long()
        redrawn = self._sorted[place, templates[:, None, 1:]]
        x = torch.cat([_cells(self._values, asked, templates[:, :1]), redrawn], dim=2)
        return Batch(
            z=_cells(self._values, asked, cond),
            x=x.transpose(1, 2)[..., None],
            dependent=dependent,
            source="table",
        )


def _cells(
    table: Float[Tensor, "rows d"], rows: Int[Tensor, "batch n"], columns: Int[Tensor, "batch k"]
) -> Float[Tensor, "batch n k"]:
    return table[rows[:, :, None], columns[:, None, :]]


# ---- redrawing -------------------------------------------------------------------


@dataclass(frozen=True)
class _Regression:
    """Regressions of targets on Z.

    Attributes:
        z: conditioning variables of the datasets.
        fit: of each target, at the rows of the dataset.
        noise: residuals of other rows, drawn for each row among its neighbours; of unit variance.
        sd: of the residuals.
    """

    z: Float[Tensor, "batch n d_z"]
    fit: Float[Tensor, "batch n t"]
    noise: Float[Tensor, "batch n t"]
    sd: Float[Tensor, "batch 1 t"]


def _redraw(
    real: Float[Tensor, "batch n"], regression: _Regression, generator: Generator
) -> tuple[Float[Tensor, "batch n redrawn"], Bool[Tensor, "batch t t"]]:
    """Redraws all targets but the first, some of them as functions of others.

    Args:
        real: the first target, as it is.
        regression: of all targets.
        generator: source of randomness.

    Returns:
        The redrawn targets, and which pairs of targets are dependent given Z.
    """
    z, fit, sd = regression.z, regression.fit, regression.sd
    batch, n, t = fit.shape
    # Without a conditioning set of its own this is a sparse graph over the targets.
    structure = driven(batch, 0, t, 0, generator)
    innovation = ((real - fit[..., 0]) / sd[..., 0]).clamp(-10, 10)
    barren = sd[:, :, 0] < _LEAST_RESIDUAL
    parents = structure.parents.clone()
    parents[:, :, 0] &= ~barren
    structure = replace(structure, parents=parents)

    # A target's own noise is that of the table, half of the time, or less: strong common causes.
    less = log_uniform(generator, 0.2, 1.0, batch, 1, t)
    scale = sd * torch.where(coin(generator, 0.5, batch, 1, t) > 0, 1.0, less)
    # What depends on a target depends on its innovation given Z, or on its values.
    by_value = coin(generator, 0.5, batch, 1, t) > 0
    with_z = coin(generator, 0.4, batch, 1) > 0
    causes = [torch.where(by_value[..., 0], standardise(real[..., None])[..., 0], innovation)]
    latent = []
    for j in range(1, t):
        present = parents[:, j, :j]
        near = rand(generator, batch, z.shape[2]) < 1 / max(1, z.shape[2])
        near = near & with_z & present.any(dim=1, keepdim=True)
        domain = Domain(TRAINING, {"resampled": lambda *_, j=j: regression.noise[..., j]})
        links = torch.cat([torch.stack(causes, dim=2), z], dim=2)
        drawn = equation([(links, torch.cat([present, near], dim=1))], n, domain, generator)
        value = fit[..., j] + scale[..., j] * drawn
        causes.append(torch.where(by_value[..., j], standardise(value[..., None])[..., 0], drawn))
        latent.append(value)
    return torch.stack(latent, dim=2), structure.dependent(generator)


# ---- regression --------------------------------------------------------------------


def _regress(
    z: Float[Tensor, "batch known d_z"],
    v: Float[Tensor, "batch known t"],
    at: Float[Tensor, "batch n d_z"],
    generator: Generator,
) -> _Regression:
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
    return _Regression(at, fit[:, known:], noise, sd)


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
