"""Regresses targets on Z and prepares the residuals as input channels of the network."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from acid_causal.model.regression.directions import Knots, fit_directions
from acid_causal.model.regression.neighbours import Neighbours
from acid_causal.model.regression.smoothers import (
    RIDGES,
    Smoother,
    is_function_of_column,
    is_smooth_function_of_column,
)
from acid_causal.model.transform import rank_normal, tame

SMOOTHERS = 3
# Number of residuals compared: by `regress_ranks` and by `regress_values`.
COMPARED_RANKS, COMPARED_VALUES = SMOOTHERS + 1, SMOOTHERS + 4
# Ridge of the regression of log squared residuals on Z; large, as these are very noisy.
_SCALE_RIDGE = RIDGES.index(1.0)
# For `_even_scale`: the maximal deviation of the log scale from its mean, and the number added to
# squared residuals before the log. The scale of ranks varies less than that of values.
_SCALE_OF_RANKS, _SCALE_OF_VALUES = (1.5, 0.05), (3.0, 0.002)

# A target counts as a function of Z if the sd of its residual is below this, for the linear and
# the other smoothers: the ridge penalty leaves about so much of an exact function.
_DETERMINED_LINEAR, _DETERMINED = 0.01, 0.03
# The same for models with `keeps_values`, where least squares leave only rounding errors.
_DETERMINED_LEAST_SQUARES, _DETERMINED_VALUES = 1e-5, 3e-3
# Least squares: rows whose Z is this many standard deviations from the centre get half the weight;
# singular values below this share of the largest are treated as 0.
_FAR, _RANK_TOLERANCE = 3.0, 1e-11
# Number of forms of a target that `regress_values` regresses.
_FORMS = 3

# Inputs of the embedding: the column, its residuals, one residual divided by its conditional scale
# (`_even_scale`), and the logs of the residuals' sizes.
Channels = Float[Tensor, "batch channels columns n"]


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Weighted least squares on a conditioning set, with an intercept, in double precision.

    Attributes:
        basis: orthonormal columns that span the weighted design.
        root: square roots of the weights of the rows.
        freedom: one minus the leverage of each row.
    """

    basis: Float[Tensor, "batch n k"]
    root: Float[Tensor, "batch n"]
    freedom: Float[Tensor, "batch n"]

    @classmethod
    def fit(cls, z: Float[Tensor, "batch n d_z"]) -> "LeastSquares":
        """Prepares the regression on Z.

        Args:
            z: robustly scaled values. Rows far from the centre get less weight, since one outlier
                could determine the fit; weights do not matter for an exact relation.
        """
        root = (1 + z.square().mean(dim=2) / _FAR**2).rsqrt()
        design = torch.cat([torch.ones_like(z[..., :1]), z], dim=2) * root[..., None]
        # Columns of equal norm, so that the cut-off for singular values suits all of them.
        design = design / design.norm(dim=1, keepdim=True).clamp(min=1e-300)
        q, r = torch.linalg.qr(design)
        u, s, _ = torch.linalg.svd(r)
        basis = (q @ u) * (s > _RANK_TOLERANCE * s[:, :1])[:, None, :]
        freedom = (1 - basis.square().sum(dim=2)).clamp(min=1e-3)
        return cls(basis, root, freedom)

    def __getitem__(self, sets: slice) -> "LeastSquares":
        """Selects some of a batch of sets, without a copy."""
        return LeastSquares(self.basis[sets], self.root[sets], self.freedom[sets])

    def residuals(self, v: Float[Tensor, "batch t n"]) -> Float[Tensor, "batch t n"]:
        """Computes leave-one-out residuals."""
        weighted = v * self.root[:, None]
        residual = weighted - (weighted @ self.basis) @ self.basis.mT
        return residual / (self.root * self.freedom)[:, None]


@dataclass(frozen=True)
class Regressed:
    """Columns after their regressions on Z.

    Attributes:
        compared: residuals whose correlations the classifier sees, standardised by
            `regress_values` except for the last, deviations from neighbours.
        explained: share of each column's variance that Z explains, by the best regression.
        nonlinear: share of the least-squares residual that nonlinear regressions explain.
        determined: which columns are functions of Z up to numerical error.
        own: a smoother of each column, along the directions in which it varies; None without.
    """

    compared: Float[Tensor, "batch regressions columns n"]
    explained: Float[Tensor, "batch columns"]
    nonlinear: Float[Tensor, "batch columns"]
    determined: Bool[Tensor, "batch columns"]
    own: Smoother | None = None


def regress_ranks(
    v: Float[Tensor, "batch columns n"],
    z: Float[Tensor, "batch n d_z"],
    smoothers: tuple[Smoother, ...],
    order: Int[Tensor, "batch d_z n"],
    *,
    channels: bool,
) -> tuple[Channels, Regressed]:
    """Regresses transformed columns on Z; the residuals of all smoothers are compared.

    Args:
        v: the columns, transformed to ranks or standardised.
        z: the conditioning set, likewise.
        smoothers: regressions on Z; none if Z is empty.
        order: rows sorted by each column of Z.
        channels: whether the channels hold residuals beside the value.
    """
    by_smoother = {smoother: smoother.residuals(v)[0] for smoother in smoothers}
    residuals = [by_smoother[smoother] for smoother in smoothers] or [v] * SMOOTHERS
    sds = [r.square().mean(2, keepdim=True).sqrt().clamp(1e-3, 1.5) for r in residuals]
    least = torch.cat(sds, dim=2).amin(dim=2)
    determined = (sds[0][..., 0] < _DETERMINED_LINEAR) | (least < _DETERMINED)
    determined |= is_function_of_column(order, z, v)
    inputs = v[:, None]
    if channels:
        scaled = [r / sd for r, sd in zip(residuals, sds, strict=True)]
        logs = [sd.log().expand_as(v) for sd in sds]
        even = _even_scale(scaled[-1], smoothers[-1] if smoothers else None, *_SCALE_OF_RANKS)
        inputs = torch.stack([v, *scaled, even, *logs], dim=1)
    return inputs, Regressed(
        compared=inputs[:, 1 : 1 + COMPARED_RANKS],
        explained=1 - least.square().clamp(max=1),
        nonlinear=torch.zeros_like(least),
        determined=determined,
    )


def regress_values(
    v: Float[Tensor, "batch columns n"],
    z: Float[Tensor, "batch n d_z"],
    smoothers: tuple[Smoother, ...],
    least_squares: LeastSquares | None,
    neighbours: Neighbours | None,
    order: Int[Tensor, "batch d_z n"],
    knots: Knots | None,
) -> tuple[Channels, Regressed]:
    """Regresses values and ranks of columns on Z; each column uses the form that Z explains best.

    A column has three forms: its values with outliers compressed (`tame`), the normal scores of its
    ranks, and its least-squares residual, also compressed. The best form has the smallest mean
    absolute leave-one-out residual, relative to the mean absolute value of the column. Compared are
    the residuals of the linear, additive and joint smoothers, those of the best of the three, the
    latter divided by their conditional scale, those of a closer fit of the best smoother, and the
    deviations of the best smoother's residuals from those of neighbouring rows.

    Args:
        v: the columns, robustly scaled, in double precision.
        z: the conditioning set, likewise.
        smoothers: regressions on Z; none if Z is empty.
        least_squares: least squares on the values of Z; None if Z is empty.
        neighbours: rows with similar Z; None if Z is empty.
        order: rows sorted by each column of Z.
        knots: for a smoother of each column's own, which takes the place of the joint smoother
            where it errs less; None: without.
    """
    ranks = rank_normal(v.mT).mT.float()
    if least_squares is None or neighbours is None:
        return _given_nothing(ranks)
    lines = _Lines.fit(v, least_squares)
    forms = [_standardised(lines.tamed).float(), ranks, _standardised(lines.left).float()]
    fitted = _in_best_form(forms, smoothers, lines.share)
    own = None
    if knots is not None:
        own = fit_directions(knots, fitted.target)
        fitted = fitted.with_own(own, lines.share)
    least = fitted.of_best(fitted.error[..., None])[..., 0]
    scaled = _standardised(fitted.residuals)
    chosen = fitted.of_best(scaled)
    close = _standardised(fitted.of_best(fitted.close))
    even = _standardised(_even_scale(chosen, smoothers[-1], *_SCALE_OF_VALUES))
    logs = fitted.error.clamp(1e-3, 1.5).log()[..., None].expand_as(scaled)
    inputs = torch.cat([ranks[:, None], scaled, even[:, None], logs], dim=1)
    others = torch.stack([chosen, even, close, neighbours.deviations(chosen)], dim=1)
    return inputs, Regressed(
        compared=torch.cat([scaled, others], dim=1),
        explained=1 - least.square().clamp(max=1),
        nonlinear=1 - (least / lines.share.clamp(min=1e-12)).clamp(max=1),
        determined=lines.determine(least, fitted.form)
        | is_smooth_function_of_column(order, z, v / lines.usual),
        own=own,
    )


def _given_nothing(ranks: Float[Tensor, "batch columns n"]) -> tuple[Channels, Regressed]:
    """Returns what `regress_values` does where Z is empty: nothing is explained."""
    inputs = torch.stack([ranks] * (2 + SMOOTHERS) + [torch.zeros_like(ranks)] * SMOOTHERS, 1)
    zero = torch.zeros_like(ranks[..., 0])
    compared = ranks[:, None].expand(-1, COMPARED_VALUES, -1, -1)
    return inputs, Regressed(compared, zero, zero, zero > 0)


@dataclass(frozen=True, eq=False)
class _Lines:
    """What least squares on Z leave of columns.

    Attributes:
        tamed: the columns with outliers compressed.
        left: the residuals, of mean absolute value 1 and compressed likewise.
        share: mean absolute residual relative to the mean absolute value of the column.
        usual: mean absolute value of most rows. Noise is small beside an outlier that a column
            shares with Z, and the column is no function of Z for that.
        beside_usual: mean absolute residual relative to it.
    """

    tamed: Float[Tensor, "batch columns n"]
    left: Float[Tensor, "batch columns n"]
    share: Float[Tensor, "batch columns"]
    usual: Float[Tensor, "batch columns 1"]
    beside_usual: Float[Tensor, "batch columns"]

    @classmethod
    def fit(cls, v: Float[Tensor, "batch columns n"], least_squares: LeastSquares) -> "_Lines":
        """Regresses columns."""
        residuals, tamed = least_squares.residuals(v), tame(v)
        size = _size(residuals)
        share = size / _size(v - v.mean(2, keepdim=True)).clamp(min=1e-300)
        usual = _size(tamed - tamed.mean(2, keepdim=True)).clamp(min=1e-300)
        return cls(
            tamed,
            left=tame(residuals / size.clamp(min=1e-300)),
            share=share[..., 0].float().clamp(max=1),
            usual=usual,
            beside_usual=(size / usual)[..., 0],
        )

    def determine(
        self, least: Float[Tensor, "batch columns"], form: Int[Tensor, "batch columns"]
    ) -> Bool[Tensor, "batch columns"]:
        """Says which columns are functions of Z up to numerical error.

        Args:
            least: relative error of the best regression of each column.
            form: index of the form that was regressed.
        """
        of_form = torch.where(form == 2, self.beside_usual / self.share.clamp(min=1e-300), 1.0)
        by_line = self.beside_usual < _DETERMINED_LEAST_SQUARES
        return by_line | (least * of_form < _DETERMINED_VALUES)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """Columns, each in the form that Z explains best, and what the smoothers leave of them.

    Attributes:
        form: index of the form.
        target: the columns in that form.
        residuals: leave-one-out residuals of each smoother.
        close: residuals of closer fits.
        error: mean absolute residuals; see `_relative`.
    """

    form: Int[Tensor, "batch columns"]
    target: Float[Tensor, "batch columns n"]
    residuals: Float[Tensor, "batch smoothers columns n"]
    close: Float[Tensor, "batch smoothers columns n"]
    error: Float[Tensor, "batch smoothers columns"]

    def with_own(self, own: Smoother, linear_share: Float[Tensor, "batch columns"]) -> "_Fitted":
        """Takes each column's own smoother in place of the last one where it errs less."""
        both = own.two_residuals(self.target.flatten(0, 1)[:, None])
        residuals, close = (r.view_as(self.target) for r in both)
        error = _relative(residuals, self.target, torch.where(self.form == 2, linear_share, 1.0))
        errs_less = error < self.error[:, -1]
        return replace(
            self,
            residuals=_with_last(self.residuals, residuals, errs_less[..., None]),
            close=_with_last(self.close, close, errs_less[..., None]),
            error=_with_last(self.error, error, errs_less),
        )

    def of_best(
        self, of_all: Float[Tensor, "batch smoothers columns k"]
    ) -> Float[Tensor, "batch columns k"]:
        """Selects what belongs to the smoother that errs least on each column."""
        best = self.error.argmin(1, keepdim=True)[..., None]
        return of_all.gather(1, best.expand(-1, -1, -1, of_all.shape[3]))[:, 0]


def _with_last(
    of_all: Float[Tensor, "batch smoothers columns *n"],
    own: Float[Tensor, "batch columns *n"],
    where: Bool[Tensor, "batch columns *one"],
) -> Float[Tensor, "batch smoothers columns *n"]:
    """Replaces some values of the last smoother by those of the columns' own ones."""
    last = torch.where(where, own, of_all[:, -1])
    return torch.cat([of_all[:, :-1], last[:, None]], dim=1)


def _in_best_form(
    forms: list[Float[Tensor, "batch columns n"]],
    smoothers: tuple[Smoother, ...],
    linear_share: Float[Tensor, "batch columns"],
) -> _Fitted:
    """Regresses all forms and chooses one for each column.

    Args:
        forms: values, ranks and least-squares residuals.
        smoothers: regressions on Z.
        linear_share: share of the column that least squares leave.
    """
    columns = linear_share.shape[1]
    stacked = torch.cat(forms, dim=1)
    by_smoother = {
        s: torch.stack(s.two_residuals(stacked), 1).unflatten(2, (_FORMS, columns))
        for s in dict.fromkeys(smoothers)
    }
    # (batch, smoothers, forms, columns, n)
    loo, close = torch.stack([by_smoother[s] for s in smoothers], dim=1).unbind(2)
    of_forms = torch.stack(forms, dim=1)
    # The third form is itself a residual.
    share = torch.stack([torch.ones_like(linear_share)] * 2 + [linear_share], dim=1)
    error = _relative(loo, of_forms[:, None], share[:, None])
    form = error.amin(1).argmin(1)
    index = form[:, None, None, :, None].expand(-1, SMOOTHERS, -1, -1, stacked.shape[2])
    return _Fitted(
        form,
        of_forms.gather(1, index[:, 0])[:, 0],
        loo.gather(2, index)[:, :, 0],
        close.gather(2, index)[:, :, 0],
        error.gather(2, form[:, None, None].expand(-1, SMOOTHERS, -1, -1))[:, :, 0],
    )


def _relative(
    residuals: Float[Tensor, "*targets n"],
    target: Float[Tensor, "*#targets n"],
    share: Float[Tensor, "*#targets"],
) -> Float[Tensor, "*targets"]:
    """Computes mean absolute residuals relative to the column of which a target is a share."""
    size = _size(target)[..., 0]
    error = residuals.abs().mean(-1) / size.clamp(min=1e-6)
    # Of a constant column, such as the indicator of a level without rows, nothing is explained.
    return error.masked_fill(size < 1e-6, 1.0) * share


def _size(columns: Float[Tensor, "*columns n"]) -> Float[Tensor, "*columns 1"]:
    """Computes the mean absolute value of each column."""
    return columns.abs().mean(-1, keepdim=True)


def _standardised(columns: Float[Tensor, "*columns n"]) -> Float[Tensor, "*columns n"]:
    # The floor only prevents 0 / 0: residuals in the scale of values may be tiny and still count.
    centred = columns - columns.mean(-1, keepdim=True)
    return centred / centred.square().mean(-1, keepdim=True).sqrt().clamp(min=1e-12)


def _even_scale(
    residual: Float[Tensor, "batch columns n"], smoother: Smoother | None, most: float, floor: float
) -> Float[Tensor, "batch columns n"]:
    """Divides residuals by an estimate of their standard deviation given Z.

    The estimate is a regression of log squared residuals on Z. If the noise of X and of Y both
    depend on Z, a few rows with large residuals dominate the products: independent variables look
    dependent, and weak dependence is missed.
    """
    if smoother is None:
        return residual
    log_square = torch.log(residual.square() + floor)
    ridges = torch.full_like(residual[..., 0], _SCALE_RIDGE, dtype=torch.long)
    log_scale = 0.5 * smoother.smooth(log_square, ridges)
    even = residual * torch.exp((log_scale.mean(2, keepdim=True) - log_scale).clamp(-most, most))
    return even / even.square().mean(2, keepdim=True).sqrt().clamp(min=1e-3)
