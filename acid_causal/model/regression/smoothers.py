"""Closed-form regressions on a conditioning set, which the transformer then need not learn.

A smoother is a linear map H that depends only on Z. The leave-one-out residual of a target v is
`(v - Hv) / (1 - diag H)`. Each smoother is kernel ridge regression in a basis of rank m, computed
by pivoted Cholesky. It costs `n m^2` once for Z and `n m` for each target. Results do not depend on
the order of rows or of Z's columns, since pivots are chosen by values and not by position. Targets
have their rows last, contiguous in memory.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from acid_causal.model.compilation import uncompiled
from acid_causal.model.layout import BETWEEN_EQUALS, Layout, column_keys
from acid_causal.model.numerics import eigh, row_blocks

# Candidate ridge penalties; each target uses the one with the smallest leave-one-out error.
RIDGES = (0.003, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# A closer fit than the best one: its ridge is so many steps smaller, and its mean leverage (degrees
# of freedom per row) at most this.
_CLOSER, _MAX_LEVERAGE = 2, 1 / 3
# Pivots with a residual kernel variance below this are left out.
_MIN_PIVOT = 1e-4

# Fine smoothers: kernel widths. The rank grows as (n / _ROWS_OF_RANK)^(1/4), up to a factor.
_WIDE, _NARROW, _ROUGH = 1.0, 0.2, 0.5
_ROWS_OF_RANK, _MAX_RANK_FACTOR = 300, 2.5
# Fine smoothers have at most one basis function for so many rows, but at least `_MIN_RANK`.
_ROWS_OF_FUNCTION, _MIN_RANK = 4, 8
# Entries of a basis: memory is about 25 bytes for each.
_MAX_ENTRIES = 14_000_000
# Squared differences of a set that are computed at once, chosen to fit a CPU's cache; but at least
# those of a few rows, for sets of hundreds of variables.
_AT_ONCE, _FEW_ROWS = 60_000, 16
# A target counts as a function of Z if interpolation between neighbours errs by less than this;
# with fewer rows than `_MIN_ROWS` that is not tested.
_MAX_FUNCTION_ERROR, _MIN_ROWS = 2e-3, 30

# A kernel, given the squared difference of each row to one point in each variable.
Kernel = Callable[[Float[Tensor, "batch d_z n"]], Float[Tensor, "batch n"]]


@dataclass(frozen=True, eq=False)
class Smoother:
    """One smoother in its eigenbasis: `H = 1/n + U diag(s / (s + ridge)) U^T`.

    Attributes:
        u: orthonormal columns, orthogonal to the constant.
        shrink: s / (s + ridge) for each of `RIDGES`.
        leverage: diag H for each ridge.
    """

    u: Float[Tensor, "batch n m"]
    shrink: Float[Tensor, "batch ridges m"]
    leverage: Float[Tensor, "batch ridges n"]

    @classmethod
    def concatenate(cls, smoothers: Sequence["Smoother"]) -> "Smoother":
        """Joins the sets of several smoothers."""
        names = ("u", "shrink", "leverage")
        return cls(*(torch.cat([getattr(some, name) for some in smoothers]) for name in names))

    def __getitem__(self, sets: slice) -> "Smoother":
        """Selects some of a batch of sets, without a copy."""
        return Smoother(self.u[sets], self.shrink[sets], self.leverage[sets])

    def residuals(
        self, v: Float[Tensor, "batch t n"]
    ) -> tuple[Float[Tensor, "batch t n"], Int[Tensor, "batch t"]]:
        """Computes leave-one-out residuals of each target at its best ridge.

        Returns:
            The residuals, and the index of the ridge of each target.
        """
        centred, fits = self._fits(v)
        return leave_one_out(centred, fits, 1 - self.leverage)

    def two_residuals(
        self, v: Float[Tensor, "batch t n"]
    ) -> tuple[Float[Tensor, "batch t n"], Float[Tensor, "batch t n"]]:
        """Computes leave-one-out residuals at the best ridge, and plain ones of a closer fit."""
        centred, fits = self._fits(v)
        residuals, best = leave_one_out(centred, fits, 1 - self.leverage)
        index = self.closer().gather(1, best)[:, :, None, None].expand(-1, -1, -1, v.shape[2])
        return residuals, centred - fits.gather(2, index)[:, :, 0]

    def closer(self) -> Int[Tensor, "batch ridges"]:
        """Returns for each ridge the index of one that fits more closely.

        The ridge with the smallest error balances bias and variance. If X and Y contain the same
        function of Z, their residuals contain the same bias, and a test needs less of it than a
        prediction does. The closer ridge is `_CLOSER` steps smaller, but its mean leverage is at
        most `_MAX_LEVERAGE`.
        """
        index = torch.arange(len(RIDGES), device=self.leverage.device)
        least = (self.leverage.mean(dim=2) > _MAX_LEVERAGE).sum(dim=1, keepdim=True)
        return torch.maximum((index - _CLOSER).clamp(min=0), torch.minimum(least, index))

    def closer_shrink(self) -> Float[Tensor, "batch ridges m"]:
        """Returns `shrink` of the closer ridges."""
        return self.shrink.gather(1, self.closer()[..., None].expand_as(self.shrink))

    def _fits(
        self, v: Float[Tensor, "batch t n"]
    ) -> tuple[Float[Tensor, "batch t n"], Float[Tensor, "batch t ridges n"]]:
        """Returns the centred targets and their fits at each ridge."""
        centred = v - v.mean(dim=2, keepdim=True)
        coefficients = centred @ self.u  # (batch, t, m)
        # One product for all ridges: one for each would copy the basis.
        shrunken = coefficients[:, :, None] * self.shrink[:, None]  # (batch, t, ridges, m)
        return centred, (shrunken.flatten(1, 2) @ self.u.mT).unflatten(1, shrunken.shape[1:3])

    def cross_validation(
        self, energy: Float[Tensor, "batch t 1"], coefficients: Float[Tensor, "batch t m"]
    ) -> Float[Tensor, "batch t ridges"]:
        """Computes the generalised cross-validation of each ridge, up to a constant factor.

        Args:
            energy: sum of squares of each centred target.
            coefficients: the targets in the basis.
        """
        unexplained = energy - coefficients.square() @ (2 * self.shrink - self.shrink.square()).mT
        freedom = 1 - self.leverage.mean(dim=2)
        return unexplained / freedom.clamp(min=0.02).square()[:, None]

    def smooth(
        self, v: Float[Tensor, "batch t n"], ridges: Int[Tensor, "batch t"]
    ) -> Float[Tensor, "batch t n"]:
        """Computes the fit Hv, given the index of the ridge of each target."""
        return v.mean(dim=2, keepdim=True) + self.coefficients(v, ridges) @ self.u.mT

    def coefficients(
        self, v: Float[Tensor, "batch t n"], ridges: Int[Tensor, "batch t"]
    ) -> Float[Tensor, "batch t m"]:
        """Computes the coefficients of the fit, given the index of the ridge of each target."""
        index = ridges[..., None].expand(-1, -1, self.shrink.shape[-1])
        shrink = self.shrink.gather(1, index)  # (batch, t, m)
        return shrink * ((v - v.mean(dim=2, keepdim=True)) @ self.u)

    def for_each(self, targets: int) -> "Smoother":
        """Repeats the smoother of each set for a number of targets, set by set."""
        if targets == 1:
            return self
        u, shrink, leverage = (
            part.repeat_interleave(targets, dim=0) for part in (self.u, self.shrink, self.leverage)
        )
        return Smoother(u, shrink, leverage)


def leave_one_out(
    v: Float[Tensor, "batch t n"],
    fits: Float[Tensor, "batch t ridges n"],
    freedom: Float[Tensor, "batch ridges n"],
) -> tuple[Float[Tensor, "batch t n"], Int[Tensor, "batch t"]]:
    """Computes leave-one-out residuals of each target at the ridge with the smallest error.

    Args:
        v: the targets.
        fits: Hv at each ridge.
        freedom: 1 - diag H.

    Returns:
        The residuals, and the index of the ridge of each target.
    """
    residuals = (v[:, :, None] - fits) / freedom[:, None]
    best = residuals.square().mean(dim=3).argmin(dim=2)
    index = best[:, :, None, None].expand(-1, -1, -1, v.shape[2])
    return residuals.gather(2, index)[:, :, 0], best


def residualise(
    v: Float[Tensor, "batch t n"], smoothers: Sequence[Smoother], *, closer: bool = False
) -> Float[Tensor, "batch t n"]:
    """Subtracts the regression on Z from each target, so that its conditional mean is about 0.

    The fit is an average over smoothers and ridges with weights exp(-n/2 log V), V the generalised
    cross-validation (Golub, Heath, Wahba 1979). In effect this selects the best one, but the result
    is continuous where two are equally good. V needs no residuals, so many targets are cheap.
    Without smoothers only the mean is subtracted. With `closer` each ridge is replaced by
    `Smoother.closer`.
    """
    v = v - v.mean(dim=2, keepdim=True)
    if not smoothers:
        return v
    basis = _side_by_side(smoothers, slice(None))
    energy = v.detach().square().sum(dim=2, keepdim=True)
    return v - _shrink(smoothers, energy, v @ basis, v.shape[2], closer=closer) @ basis.mT


def residualise_(
    v: Float[Tensor, "batch t n"], smoothers: Sequence[Smoother], *, closer: bool = False
) -> Float[Tensor, "batch t n"]:
    """Does the same as `residualise`, in place and without a gradient, to save memory."""
    v -= v.mean(dim=2, keepdim=True)
    if not smoothers:
        return v
    n = v.shape[2]
    energy, coefficients = torch.zeros_like(v[..., :1]), v.new_zeros(())
    for rows in row_blocks(n):
        energy += v[..., rows].square().sum(dim=2, keepdim=True)
        coefficients = coefficients + v[..., rows] @ _side_by_side(smoothers, rows)
    shrunken = _shrink(smoothers, energy, coefficients, n, closer=closer)
    for rows in row_blocks(n):
        v[..., rows].baddbmm_(shrunken, _side_by_side(smoothers, rows).mT, alpha=-1)
    return v


def _side_by_side(smoothers: Sequence[Smoother], rows: slice) -> Float[Tensor, "batch rows m"]:
    """Concatenates the bases of distinct smoothers, for one matrix product with all of them."""
    return torch.cat([smoother.u[:, rows] for smoother in dict.fromkeys(smoothers)], dim=2)


def _shrink(
    smoothers: Sequence[Smoother],
    energy: Float[Tensor, "batch t 1"],
    coefficients: Float[Tensor, "batch t m"],
    n: int,
    *,
    closer: bool,
) -> Float[Tensor, "batch t m"]:
    """Shrinks each target's coefficients in all bases, averaged over ridges and smoothers.

    A smoother that occurs twice has twice the weight, and is computed once.
    """
    distinct = list(dict.fromkeys(smoothers))
    by_smoother = coefficients.split([smoother.u.shape[2] for smoother in distinct], dim=2)
    with torch.no_grad():
        scores = [s.cross_validation(energy, c) for s, c in zip(distinct, by_smoother, strict=True)]
        counts = [smoothers.count(smoother) for smoother in distinct for _ in RIDGES]
        log_error = torch.cat(scores, dim=2).clamp(min=1e-12).log()
        log_count = torch.tensor(counts, dtype=energy.dtype, device=energy.device).log()
        weights = torch.softmax(log_count - 0.5 * n * log_error, dim=2)
        shrink = [
            weight @ (smoother.closer_shrink() if closer else smoother.shrink)
            for smoother, weight in zip(distinct, weights.split(len(RIDGES), dim=2), strict=True)
        ]
    return torch.cat(shrink, dim=2) * coefficients


# Not compiled: torch.compile would unroll the hundreds of pivoting steps.
@uncompiled
def fit_smoothers(z: Float[Tensor, "batch n d_z"], rank: int) -> tuple[Smoother, ...]:
    """Builds the linear, the additive and the joint smoother on a conditioning set.

    Args:
        z: conditioning variables, each of about unit variance; d_z at least 1.
        rank: maximal number of basis functions of a kernel smoother.
    """
    d_z = z.shape[-1]

    def additive(squares: Tensor) -> Tensor:
        return torch.exp(-0.5 * squares).mean(1)

    def joint(squares: Tensor) -> Tensor:
        return 0.5 * torch.exp(-0.5 * squares).mean(1) + 0.5 * torch.exp(
            -0.5 * squares.sum(1) / (0.5 * d_z + 0.5)
        )

    # Pivoted Cholesky subtracts nearly equal numbers. In single precision the result would vary
    # with the batch.
    dtype, z = z.dtype, z.double()
    linear = _in_eigenbasis(z / math.sqrt(d_z), dtype)
    of_each = _in_eigenbasis(_pivoted_cholesky(z, additive, rank)[0], dtype)
    if d_z == 1:  # the two kernels are equal
        return linear, of_each, of_each
    return linear, of_each, _in_eigenbasis(_pivoted_cholesky(z, joint, rank)[0], dtype)


# Not compiled: torch.compile would unroll the hundreds of pivoting steps.
@uncompiled
def fit_fine_smoothers(
    z: Float[Tensor, "batch n columns"],
    ranks: Float[Tensor, "batch n columns"],
    rank: int,
    layout: Layout | None = None,
) -> tuple[tuple[Smoother, ...], Int[Tensor, "batch m"]]:
    """Builds the same three smoothers on values and ranks of Z together, with growing rank.

    They fit functions that are smooth in the values of Z and functions that are smooth in its
    ranks. The kernels are rational quadratics (mixtures of Gaussian kernels of all widths) at two
    scales.

    Args:
        z: conditioning variables of about unit variance, outliers compressed (`tame`); at least
            one. A category has a column for each level.
        ranks: the normal scores of their ranks; of a category its columns again.
        rank: maximal number of basis functions of a kernel smoother up to `_ROWS_OF_RANK` rows;
            with more rows it grows. With few rows there are fewer, and with more than 87,500.
        layout: which columns are numbers; None: all.

    Returns:
        The smoothers, and the rows that are centres of their kernels.
    """
    n, d_z = z.shape[1], z.shape[2]
    if layout:
        d_z = layout.numbers + layout.categories
    rank = fine_rank(n, rank)

    def of_variables(squares: Tensor) -> Tensor:
        if layout is None:
            return squares
        return torch.cat([layout.sums(half) for half in squares.chunk(2, dim=1)], dim=1)

    def additive(squares: Tensor) -> Tensor:
        return _two_scales_(of_variables(squares)).mean(1)

    def joint(squares: Tensor) -> Tensor:
        squares = of_variables(squares)
        distance = squares.mean(1) * (2 * d_z / (d_z + 1))
        smooth = torch.exp(-0.5 * distance)
        rough = distance.div(_ROUGH**2).add_(1).reciprocal_()
        return _two_scales_(squares).mean(1).add_(rough).mul_(0.25).add_(smooth, alpha=0.5)

    dtype, both = ranks.dtype, torch.cat([z, ranks], dim=2).double()
    linear = _in_eigenbasis(both / math.sqrt(2 * d_z), dtype)
    if z.shape[2] == 1:  # pivots at quantiles; the joint kernel contains the additive one
        quantiles = torch.linspace(0, n - 1, min(rank, n), device=z.device).round().long()
        knots = ranks[..., 0].argsort(dim=1)[:, quantiles]
        of_all = _in_eigenbasis(_nystroem(both, knots, joint), dtype)
        return (linear, of_all, of_all), knots
    of_columns = None if layout is None else layout.column_keys(z).repeat(1, 2)
    basis, pivots = _pivoted_cholesky(both, joint, rank, of_columns)
    of_all = _in_eigenbasis(basis, dtype)
    del basis  # of a long table two are too large to keep
    of_each = _in_eigenbasis(_nystroem(both, pivots, additive), dtype)
    return (linear, of_each, of_all), pivots


def fine_rank(n: int, rank: int) -> int:
    """Returns the number of basis functions of a fine smoother: it grows with n, within bounds."""
    growth = min(max(1.0, (n / _ROWS_OF_RANK) ** 0.25), _MAX_RANK_FACTOR)
    return min(round(rank * growth), max(_MIN_RANK, min(n // _ROWS_OF_FUNCTION, _MAX_ENTRIES // n)))


def _two_scales_(squares: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Computes the mean of a wide and a narrow rational quadratic kernel, 1 / (1 + square / width).

    Over their common denominator there is one division, which takes longer than the rest. It is
    done in place: most of the time of a large new array is that of its memory.
    """
    a, b = _WIDE**-2, _NARROW**-2
    denominator = squares.mul(a * b).add_(a + b).mul_(squares).add_(1)
    return squares.mul_(0.5 * (a + b)).add_(1).div_(denominator)


def _nystroem(
    z: Float[Tensor, "batch n d"], pivots: Int[Tensor, "batch m"], kernel: Kernel
) -> Float[Tensor, "batch n m"]:
    """Approximates a kernel by `B B^T`, given the pivots (Nystroem's method)."""
    at = z.gather(1, pivots[..., None].expand(-1, -1, z.shape[2]))
    s, vectors = eigh(_kernel_matrix(at, at, kernel))
    kept = s > _MIN_PIVOT * s[:, -1:]
    root = torch.where(kept, s.clamp(min=1e-12).rsqrt(), 0.0)
    whitened = vectors * root[:, None, :]
    # Kernel values in single precision cost half; sums of them are in double.
    z, at = z.float(), at.float()
    basis = whitened.new_empty(*z.shape[:2], whitened.shape[2])
    for rows in row_blocks(z.shape[1]):
        basis[:, rows] = _kernel_matrix(z[:, rows], at, kernel).to(whitened.dtype) @ whitened
    return basis


def _kernel_matrix(
    z: Float[Tensor, "batch n d"], at: Float[Tensor, "batch m d"], kernel: Kernel
) -> Float[Tensor, "batch n m"]:
    parts = []
    for rows in row_blocks(z.shape[1], max(_FEW_ROWS, _AT_ONCE // at[0].numel())):
        squares = (z[:, rows].mT[..., None] - at.mT[:, :, None]).square_()  # (batch, d, rows, m)
        parts.append(kernel(squares.flatten(2)).unflatten(1, squares.shape[2:]))
    return torch.cat(parts, dim=1)


def is_smooth_function_of_column(
    order: Int[Tensor, "batch d_z n"],
    z: Float[Tensor, "batch n d_z"],
    v: Float[Tensor, "batch t n"],
) -> Bool[Tensor, "batch t"]:
    """Finds targets that are smooth functions of a single column of Z, up to numerical error.

    Rows are sorted by that column, and each is predicted by linear interpolation between its two
    neighbours. For a smooth function the error is quadratic in the gap between them, far below that
    of noise with 1 % of the target's scale. Rows that share their value of Z have no order and are
    left out.

    Args:
        order: rows sorted by each column of Z.
        z: the columns, of about unit scale.
        v: targets of about unit scale.
    """
    found = torch.zeros_like(v[..., 0], dtype=torch.bool)
    n = v.shape[2]
    if n < _MIN_ROWS:
        return found
    for k in range(order.shape[1]):
        by_z = order[:, k]
        at = z[..., k].gather(1, by_z)
        gap = at.diff(dim=1)
        untied = (gap[:, 1:] > 0) & (gap[:, :-1] > 0)  # (batch, n - 2)
        target = v.gather(2, by_z[:, None].expand_as(v))
        share = gap[:, :-1] / (gap[:, 1:] + gap[:, :-1]).clamp(min=1e-300)
        line = target[..., :-2] + (target[..., 2:] - target[..., :-2]) * share[:, None]
        error = (target[..., 1:-1] - line).abs()
        # The 90th percentile, as errors are larger at cusps and jumps. Tied rows count as errors.
        error = torch.where(untied[:, None], error, torch.inf)
        most = error.kthvalue(max(1, int(0.9 * error.shape[2])), dim=2).values
        found |= most < _MAX_FUNCTION_ERROR
    return found


def is_function_of_column(
    order: Int[Tensor, "batch d_z n"],
    z: Float[Tensor, "batch n d_z"],
    v: Float[Tensor, "batch t n"],
) -> Bool[Tensor, "batch t"]:
    """Finds targets that are functions of a single column of Z, up to numerical error.

    Rows are sorted by that column and consecutive targets are compared, as in the difference-based
    variance estimate of Rice (1984). Smoothness is not needed: ranks turn a parabola into a cusp,
    which kernel smoothers do not fit. The 75th percentile of the differences must be small, and
    so must their root mean square, which bounds the few large ones at cusps and jumps. Rows with
    equal Z have no order: in the percentile their differences count as large.

    Args:
        order: rows sorted by each column of Z.
        z: the columns.
        v: targets of about unit variance.
    """
    found = torch.zeros_like(v[..., 0], dtype=torch.bool)
    for k in range(order.shape[1]):
        by_z = order[:, k : k + 1]
        tied = z[..., k].gather(1, by_z[:, 0]).diff(dim=1) == 0  # (batch, n - 1)
        step = v.gather(2, by_z.expand_as(v)).diff(dim=2).abs() / math.sqrt(2)
        step = step.masked_fill(tied[:, None], math.inf)
        most = step.kthvalue(max(1, int(0.75 * step.shape[2])), dim=2).values / 1.15
        untied = (~tied).sum(dim=1, keepdim=True).clamp(min=1)
        square = step.masked_fill(tied[:, None], 0.0).square().sum(dim=2) / untied
        found |= (most < 0.02) & (square.sqrt() < 0.12)
    return found


def _pivoted_cholesky(
    z: Float[Tensor, "batch n d_z"],
    kernel: Kernel,
    rank: int,
    of_columns: Float[Tensor, "batch d_z"] | None = None,
) -> tuple[Float[Tensor, "batch n m"], Int[Tensor, "batch m"]]:
    """Approximates a kernel with unit diagonal by `B B^T` (greedy pivots, Harbrecht et al. 2012).

    Args:
        z: the rows.
        kernel: of unit diagonal.
        rank: the largest number of pivots.
        of_columns: see `Layout.column_keys`; None: without.

    Returns:
        B, and the rows chosen as pivots.
    """
    batch, n, d_z = z.shape
    rank = min(rank, n)
    # Rows last: contiguous in memory for the sums over variables and basis functions.
    basis = z.new_zeros(batch, rank, n)
    variables = z.mT.contiguous()
    preference = _preference(z, of_columns)
    # All diagonal entries are equal at first: start with a point near the centre.
    pivot = (preference / (1 + z.square().sum(-1))).argmax(dim=1)
    residual = torch.ones_like(z[..., 0])
    pivots: list[Tensor] = []
    for k in range(rank):
        row = pivot[:, None, None]
        point = variables.gather(2, row.expand(-1, d_z, 1))
        # Squared differences are as large as Z: those of a long table are never all there.
        column = torch.cat(
            [kernel((variables[..., rows] - point).square()) for rows in row_blocks(n)], dim=1
        )
        if k:
            at_pivot = basis[:, :k].gather(2, row.expand(-1, k, 1))
            column = column - (at_pivot.mT @ basis[:, :k])[:, 0]
        variance = residual.gather(1, pivot[:, None])
        keep = variance > _MIN_PIVOT
        if not keep.any():  # pivots decrease, so all later ones are negligible too
            return basis[:, :k].mT, torch.stack(pivots, dim=1)[:, :, 0]
        pivots.append(pivot[:, None])
        column = torch.where(keep, column / variance.clamp(min=_MIN_PIVOT).sqrt(), 0.0)
        basis[:, k] = column
        residual = (residual - column.square()).clamp(min=0)
        pivot = (residual * preference).argmax(dim=1)
    return basis.mT, torch.stack(pivots, dim=1)[:, :, 0]


def _preference(
    z: Float[Tensor, "batch n d_z"], of_columns: Float[Tensor, "batch d_z"] | None
) -> Float[Tensor, "batch n"]:
    """Computes weights near 1 that break ties between pivots by value and not by position.

    Ties are common: ranks are symmetric, and discrete columns repeat values. If position broke
    them, p-values would depend on the order of rows. Reflecting or exchanging columns changes the
    weights, unless the data have the same symmetry.
    """
    skew = (z * z.square().sum(-1, keepdim=True)).mean(dim=1, keepdim=True)
    along = (z * skew).sum(-1) / (1 + skew.norm(dim=-1))
    if of_columns is not None:
        along = along + (z @ of_columns[..., None])[..., 0]
    preference = 1 + 0.02 * torch.tanh(along + 0.3 * (z - 0.1).abs().mean(-1) - 1)
    # Columns of few values may have equal third moments by chance.
    return preference + BETWEEN_EQUALS * (z @ column_keys(z)[..., None])[..., 0]


def _in_eigenbasis(basis: Float[Tensor, "batch n m"], dtype: torch.dtype) -> Smoother:
    """Builds a smoother from a basis, which is centred in place; `dtype` is its precision."""
    basis -= basis.mean(dim=1, keepdim=True)
    return in_eigenbasis(basis, *eigenvectors(basis.mT @ basis), dtype)


def eigenvectors(
    products: Float[Tensor, "batch m m"],
) -> tuple[Float[Tensor, "batch m"], Float[Tensor, "batch m m"]]:
    """Finds the eigenbasis of a centred basis, given the products of its columns.

    Returns:
        Its squared singular values, and the map to the eigenbasis.
    """
    s, vectors = eigh(products)
    s = s.clamp(min=0)
    # Directions of rounding errors are dropped; otherwise they would be scaled to unit length.
    keep = s > 1e-5 * s[..., -1:].clamp(min=1e-6)
    return s, vectors * torch.where(keep, s.clamp(min=1e-12).rsqrt(), 0.0)[:, None, :]


def in_eigenbasis(
    basis: Float[Tensor, "batch n m"],
    s: Float[Tensor, "batch m"],
    vectors: Float[Tensor, "batch m m"],
    dtype: torch.dtype | None = None,
) -> Smoother:
    """Builds a smoother from a centred basis and its `eigenvectors`.

    Its precision is `dtype`, or that of the basis.
    """
    batch, n, m = basis.shape
    ridges = torch.tensor(RIDGES, dtype=s.dtype, device=s.device)
    shrink = s[:, None, :] / (s[:, None, :] + ridges[:, None])
    dtype = dtype or basis.dtype
    u = torch.empty(batch, n, m, dtype=dtype, device=s.device)
    leverage = torch.empty(batch, len(RIDGES), n, dtype=dtype, device=s.device)
    for rows in row_blocks(n):
        part = basis[:, rows] @ vectors
        u[:, rows] = part
        leverage[:, :, rows] = (1 / n + shrink @ part.square().mT).clamp(max=1 - 1e-3)
    return Smoother(u, shrink.to(dtype), leverage)
