"""What is left of targets once Z has been regressed out: the channels that the network reads."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from acid_causal.model.smoothers import RIDGES, Smoother, follows_one, follows_smoothly
from acid_causal.model.transform import rank_normal, tame

SMOOTHERS = 3
# How strongly the log of squared residuals is smoothed: noise rules it, so a heavy ridge.
_SCALE_RIDGE = RIDGES.index(1.0)
# By how much, at most, the log of the scale may differ from its mean, and what is added to squared
# residuals before their log is taken: on ranks, whose scale changes little, and on values.
_SCALE_OF_RANKS, _SCALE_OF_VALUES = (1.5, 0.05), (3.0, 0.002)

# A residual of less than this sd, of the linear smoother and of the others, is no more than what
# ranks and ridges leave of an exact function of Z.
_DETERMINED_LINEAR, _DETERMINED = 0.01, 0.03
# The same of values: least squares leave rounding alone; what smoothers leave has no such floor.
_DUST_LINEAR, _DUST = 1e-5, 3e-3
# Least squares: rows with Z this many standard deviations out count half, and directions of Z with
# less than this share of its largest singular value are rounding.
_FAR, _NEGLIGIBLE = 3.0, 1e-11
# Forms of a target that are regressed.
_FORMS = 3


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Weighted least squares on a conditioning set, an intercept included, in double precision.

    Attributes:
        basis: orthonormal columns that span the weighted design.
        root: square roots of the rows' weights.
        left: one minus the leverage of each row.
    """

    basis: Float[Tensor, "batch n k"]
    root: Float[Tensor, "batch n"]
    left: Float[Tensor, "batch n"]

    @classmethod
    def fit(cls, z: Float[Tensor, "batch n d_z"]) -> "LeastSquares":
        """Prepares the regression on Z.

        Args:
            z: robustly scaled values. Rows far out weigh less, as one of them alone could turn
                the plane; an exact relation is found under any weights.
        """
        root = (1 + z.square().mean(dim=2) / _FAR**2).rsqrt()
        design = torch.cat([torch.ones_like(z[..., :1]), z], dim=2) * root[..., None]
        # Columns of one size, so that the cut-off below means the same for all.
        design = design / design.norm(dim=1, keepdim=True).clamp(min=1e-300)
        q, r = torch.linalg.qr(design)
        u, s, _ = torch.linalg.svd(r)
        basis = (q @ u) * (s > _NEGLIGIBLE * s[:, :1])[:, None, :]
        left = (1 - basis.square().sum(dim=2)).clamp(min=1e-3)
        return cls(basis, root, left)

    def __getitem__(self, sets: slice) -> "LeastSquares":
        """Selects some of a batch of sets, without a copy."""
        return LeastSquares(self.basis[sets], self.root[sets], self.left[sets])

    def residuals(self, v: Float[Tensor, "batch t n"]) -> Float[Tensor, "batch t n"]:
        """Computes leave-one-out residuals."""
        weighted = v * self.root[:, None]
        rest = weighted - (weighted @ self.basis) @ self.basis.mT
        return rest / (self.root * self.left)[:, None]


@dataclass(frozen=True)
class Regressed:
    """Columns after their regressions on Z.

    Attributes:
        channels: what an entry is embedded from: the value, its residuals, the best or last of
            them on an even scale too, and the logs of their sds.
        compared: residuals whose plain correlations the classifier sees.
        explained: share of each column's variance that Z explains, by the best regression.
        nonlinear: share of what least squares leave that the other regressions explain.
        determined: which columns are functions of Z for all practical purposes.
    """

    channels: Float[Tensor, "batch channels columns n"]
    compared: Float[Tensor, "batch regressions columns n"]
    explained: Float[Tensor, "batch columns"]
    nonlinear: Float[Tensor, "batch columns"]
    determined: Bool[Tensor, "batch columns"]


def regress_ranks(
    v: Float[Tensor, "batch columns n"],
    z: Float[Tensor, "batch n d_z"],
    smoothers: tuple[Smoother, ...],
    order: Int[Tensor, "batch d_z n"],
    *,
    channels: bool,
) -> Regressed:
    """Regresses columns that were transformed before; all smoothers' residuals are compared.

    Args:
        v: the columns.
        z: the conditioning set, likewise.
        smoothers: regressions on Z; none if Z is empty.
        order: rows in the order of each column of Z.
        channels: whether residuals are shown beside the value.
    """
    of_each = {smoother: smoother.residuals(v)[0] for smoother in smoothers}
    residuals = [of_each[smoother] for smoother in smoothers] or [v] * SMOOTHERS
    sds = [r.square().mean(2, keepdim=True).sqrt().clamp(1e-3, 1.5) for r in residuals]
    least = torch.cat(sds, dim=2).amin(dim=2)
    determined = (sds[0][..., 0] < _DETERMINED_LINEAR) | (least < _DETERMINED)
    determined |= follows_one(order, z, v)
    shown = v[:, None]
    if channels:
        scaled = [r / sd for r, sd in zip(residuals, sds, strict=True)]
        logs = [sd.log().expand_as(v) for sd in sds]
        even = _even_scale(scaled[-1], smoothers[-1] if smoothers else None, *_SCALE_OF_RANKS)
        shown = torch.stack([v, *scaled, even, *logs], dim=1)
    return Regressed(
        shown,
        compared=shown[:, 1 : 2 + SMOOTHERS],
        explained=1 - least.square().clamp(max=1),
        nonlinear=torch.zeros_like(least),
        determined=determined,
    )


def regress_values(
    v: Float[Tensor, "batch columns n"],
    z: Float[Tensor, "batch n d_z"],
    smoothers: tuple[Smoother, ...],
    least_squares: LeastSquares | None,
    order: Int[Tensor, "batch d_z n"],
) -> Regressed:
    """Regresses columns in the user's scale and in ranks; each takes the form that Z tells most of.

    The forms are the tamed values, the normal scores of their ranks, and what least squares leave
    of the values, tamed. The best has the least mean absolute leave-one-out residual, relative to
    that of the column itself. Compared are the residuals of the linear, the additive and the joint
    smoother, of the best of them, and that one on an even scale.

    Args:
        v: the columns, robustly scaled, in double precision.
        z: the conditioning set, likewise.
        smoothers: regressions on Z; none if Z is empty.
        least_squares: least squares on the values of Z; None if Z is empty.
        order: rows in the order of each column of Z.
    """
    ranks = rank_normal(v.mT).mT.float()
    if least_squares is None:
        shown = torch.stack([ranks] * (2 + SMOOTHERS) + [torch.zeros_like(ranks)] * SMOOTHERS, 1)
        none = torch.zeros_like(ranks[..., 0])
        compared = ranks[:, None].expand(-1, 2 + SMOOTHERS, -1, -1)
        return Regressed(shown, compared, none, none, none > 0)
    left = least_squares.residuals(v)
    share = _size(left) / _size(v - v.mean(2, keepdim=True)).clamp(min=1e-300)
    spread = _size(left).clamp(min=1e-300)
    forms = [_standardised(tame(v)).float(), ranks, _standardised(tame(left / spread)).float()]
    columns = v.shape[1]
    together = torch.cat(forms, dim=1)  # (batch, 3 * columns, n)
    of_each = {s: s.residuals(together)[0].unflatten(1, (_FORMS, columns)) for s in smoothers}
    loo = torch.stack([of_each[s] for s in smoothers], dim=1)  # (batch, smoothers, forms, _, n)
    # Relative to the column: what is left of a residual of least squares is a share of a share.
    linear_share = share[..., 0].float().clamp(max=1)
    scale = torch.stack([_size(form)[..., 0] for form in forms], dim=1)  # (batch, forms, columns)
    error = loo.abs().mean(-1) / scale[:, None].clamp(min=1e-6)
    error = torch.cat([error[:, :, :2], error[:, :, 2:] * linear_share[:, None, None]], dim=2)
    form = error.amin(1).argmin(1)  # (batch, columns)
    index = form[:, None, None, :, None].expand(-1, SMOOTHERS, -1, -1, v.shape[2])
    residuals = loo.gather(2, index)[:, :, 0]  # (batch, smoothers, columns, n)
    error = error.gather(2, form[:, None, None].expand(-1, SMOOTHERS, -1, -1))[:, :, 0]
    best = error.argmin(1, keepdim=True)  # (batch, 1, columns)
    least = error.gather(1, best)[:, 0]
    scaled = _standardised(residuals)
    chosen = scaled.gather(1, best[..., None].expand(-1, -1, -1, v.shape[2]))[:, 0]
    even = _standardised(_even_scale(chosen, smoothers[-1], *_SCALE_OF_VALUES))
    logs = error.clamp(1e-3, 1.5).log()[..., None].expand_as(residuals)
    shown = torch.cat([ranks[:, None], scaled, even[:, None], logs], dim=1)
    in_units = v / _size(v).clamp(min=1e-300)
    return Regressed(
        shown,
        compared=torch.cat([scaled, chosen[:, None], even[:, None]], dim=1),
        explained=1 - least.square().clamp(max=1),
        nonlinear=1 - (least / linear_share.clamp(min=1e-12)).clamp(max=1),
        determined=(linear_share < _DUST_LINEAR)
        | (least < _DUST)
        | follows_smoothly(order, z, in_units),
    )


def _size(columns: Float[Tensor, "*columns n"]) -> Float[Tensor, "*columns 1"]:
    return columns.abs().mean(-1, keepdim=True)


def _standardised(columns: Float[Tensor, "*columns n"]) -> Float[Tensor, "*columns n"]:
    centred = columns - columns.mean(-1, keepdim=True)
    return centred / centred.square().mean(-1, keepdim=True).sqrt().clamp(min=1e-12)


def _even_scale(
    residual: Float[Tensor, "batch columns n"], smoother: Smoother | None, most: float, floor: float
) -> Float[Tensor, "batch columns n"]:
    """Divides residuals by their standard deviation given Z, itself a regression on Z.

    Where the noise of X and of Y both swell with Z, products of their residuals are ruled by the
    few rows with large ones: independent variables look dependent, and weak dependence drowns.
    """
    if smoother is None:
        return residual
    log_square = torch.log(residual.square() + floor)
    ridges = torch.full_like(residual[..., 0], _SCALE_RIDGE, dtype=torch.long)
    log_scale = 0.5 * smoother.smooth(log_square, ridges)
    even = residual * torch.exp((log_scale.mean(2, keepdim=True) - log_scale).clamp(-most, most))
    return even / even.square().mean(2, keepdim=True).sqrt().clamp(min=1e-3)
