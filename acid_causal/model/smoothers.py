"""Closed-form regressions on a conditioning set: the transformer need not relearn them.

A smoother is a linear map H that depends on Z alone. Its leave-one-out residual of a target v is
`(v - Hv) / (1 - diag H)`. Each smoother is kernel ridge regression in a low-rank basis, found by
pivoted Cholesky, so that it costs `n m^2` once for Z and `n m` for each target. Neither the order
of rows nor that of Z's columns matters: pivots are chosen by the kernel, not by position. The rows
of a target run along memory.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from acid_causal.model.blocks import row_blocks
from acid_causal.model.spectral import eigh

# Noise variance relative to the kernel's; each target picks one by its leave-one-out error.
RIDGES = (0.003, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# Pivots that explain less than this of a point's kernel variance are left out.
_NEGLIGIBLE = 1e-4

# Fine smoothers: the widths of their kernels, and how their rank grows with the rows.
_WIDE, _NARROW, _ROUGH = 1.0, 0.2, 0.5
_ROWS_OF_RANK, _MOST_FINER = 300, 2.5
# A target that its neighbours miss by less than this is a function; so few rows show nothing.
_DUST, _FEWEST = 2e-3, 30

# From squared differences to one point, for each variable, to the kernel of each row and it.
Kernel = Callable[[Float[Tensor, "batch d_z n"]], Float[Tensor, "batch n"]]


@dataclass(frozen=True, eq=False)
class Smoother:
    """One smoother in its eigenbasis: `H = 1/n + U diag(s / (s + ridge)) U^T`.

    Attributes:
        u: orthonormal columns, orthogonal to the constant; (batch, n, m).
        shrink: s / (s + ridge) for each of `RIDGES`; (batch, ridges, m).
        leverage: diag H for each ridge; (batch, ridges, n).
    """

    u: Float[Tensor, "batch n m"]
    shrink: Float[Tensor, "batch ridges m"]
    leverage: Float[Tensor, "batch ridges n"]

    def __getitem__(self, sets: slice) -> "Smoother":
        """Selects some of a batch of sets, without a copy."""
        return Smoother(self.u[sets], self.shrink[sets], self.leverage[sets])

    def residuals(
        self, v: Float[Tensor, "batch t n"]
    ) -> tuple[Float[Tensor, "batch t n"], Int[Tensor, "batch t"]]:
        """Computes leave-one-out residuals, each target with its own best ridge.

        Returns:
            The residuals, and the index of the ridge of each target.
        """
        centred = v - v.mean(dim=2, keepdim=True)
        coefficients = centred @ self.u  # (batch, t, m)
        # All ridges in one product, side by side: a product for each would copy the basis.
        shrunken = coefficients[:, :, None] * self.shrink[:, None]  # (batch, t, ridges, m)
        fits = (shrunken.flatten(1, 2) @ self.u.mT).unflatten(1, shrunken.shape[1:3])
        return leave_one_out(centred, fits, 1 - self.leverage)

    def cross_validation(
        self, energy: Float[Tensor, "batch t 1"], coefficients: Float[Tensor, "batch t m"]
    ) -> Float[Tensor, "batch t ridges"]:
        """Estimates the mean squared error of prediction at each ridge, up to a constant factor.

        Args:
            energy: sum of squares of each centred target.
            coefficients: the targets in the basis.
        """
        left = energy - coefficients.square() @ (2 * self.shrink - self.shrink.square()).mT
        freedom = 1 - self.leverage.mean(dim=2)
        return left / freedom.clamp(min=0.02).square()[:, None]

    def smooth(
        self, v: Float[Tensor, "batch t n"], ridges: Int[Tensor, "batch t"]
    ) -> Float[Tensor, "batch t n"]:
        """Computes the fit Hv of each target at a ridge of its own."""
        mean = v.mean(dim=2, keepdim=True)
        index = ridges[..., None].expand(-1, -1, self.shrink.shape[-1])
        shrink = self.shrink.gather(1, index)  # (batch, t, m)
        return mean + (shrink * ((v - mean) @ self.u)) @ self.u.mT


def leave_one_out(
    v: Float[Tensor, "batch t n"],
    fits: Float[Tensor, "batch t ridges n"],
    freedom: Float[Tensor, "batch ridges n"],
) -> tuple[Float[Tensor, "batch t n"], Int[Tensor, "batch t"]]:
    """Computes leave-one-out residuals of linear smoothers, at the ridge where they are smallest.

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
    v: Float[Tensor, "batch t n"], smoothers: Sequence[Smoother]
) -> Float[Tensor, "batch t n"]:
    """Takes from each target what Z tells of it, so that its conditional mean is nil.

    Smoothers and ridges are averaged by exp(-n/2 log V), V their generalised cross-validation
    (Golub, Heath, Wahba 1979): in effect the best one, without a jump where two are equally good.
    It needs no residuals, so that many targets cost little more than one fit each. Without
    smoothers only the mean is taken.
    """
    v = v - v.mean(dim=2, keepdim=True)
    if not smoothers:
        return v
    basis = _side_by_side(smoothers, slice(None))
    energy = v.detach().square().sum(dim=2, keepdim=True)
    return v - _shrink(smoothers, energy, v @ basis, v.shape[2]) @ basis.mT


def residualise_(
    v: Float[Tensor, "batch t n"], smoothers: Sequence[Smoother]
) -> Float[Tensor, "batch t n"]:
    """Does the same in place, for a table of which no copy should be made; without a gradient."""
    v -= v.mean(dim=2, keepdim=True)
    if not smoothers:
        return v
    n = v.shape[2]
    energy, coefficients = torch.zeros_like(v[..., :1]), v.new_zeros(())
    for rows in row_blocks(n):
        energy += v[..., rows].square().sum(dim=2, keepdim=True)
        coefficients = coefficients + v[..., rows] @ _side_by_side(smoothers, rows)
    left = _shrink(smoothers, energy, coefficients, n)
    for rows in row_blocks(n):
        v[..., rows].baddbmm_(left, _side_by_side(smoothers, rows).mT, alpha=-1)
    return v


def _side_by_side(smoothers: Sequence[Smoother], rows: slice) -> Float[Tensor, "batch rows m"]:
    """Joins the bases of distinct smoothers: one product with all is faster than one with each."""
    return torch.cat([smoother.u[:, rows] for smoother in dict.fromkeys(smoothers)], dim=2)


def _shrink(
    smoothers: Sequence[Smoother],
    energy: Float[Tensor, "batch t 1"],
    coefficients: Float[Tensor, "batch t m"],
    n: int,
) -> Float[Tensor, "batch t m"]:
    """Averages ridges and smoothers: what is left of each target's coefficients in all bases.

    A smoother that is there twice has twice the weight, and is computed once.
    """
    distinct = list(dict.fromkeys(smoothers))
    of_each = coefficients.split([smoother.u.shape[2] for smoother in distinct], dim=2)
    with torch.no_grad():
        scores = [s.cross_validation(energy, c) for s, c in zip(distinct, of_each, strict=True)]
        times = [smoothers.count(smoother) for smoother in distinct for _ in RIDGES]
        log_error = torch.cat(scores, dim=2).clamp(min=1e-12).log()
        log_times = torch.tensor(times, dtype=energy.dtype, device=energy.device).log()
        weights = torch.softmax(log_times - 0.5 * n * log_error, dim=2)
        shrink = [
            weight @ smoother.shrink
            for smoother, weight in zip(distinct, weights.split(len(RIDGES), dim=2), strict=True)
        ]
    return torch.cat(shrink, dim=2) * coefficients


# Hundreds of small steps: a compiler would unroll them all.
@torch.compiler.disable  # type: ignore[untyped-decorator]
def fit_smoothers(z: Float[Tensor, "batch n d_z"], rank: int) -> tuple[Smoother, ...]:
    """Fits the linear, the additive and the joint smoother to standardised conditioning variables.

    Args:
        z: conditioning variables, each of about unit variance; d_z at least 1.
        rank: most basis functions of a kernel smoother.
    """
    d_z = z.shape[-1]

    def additive(squares: Tensor) -> Tensor:
        return torch.exp(-0.5 * squares).mean(1)

    def joint(squares: Tensor) -> Tensor:
        return 0.5 * torch.exp(-0.5 * squares).mean(1) + 0.5 * torch.exp(
            -0.5 * squares.sum(1) / (0.5 * d_z + 0.5)
        )

    # A basis is made of small differences too: in single precision it would depend on what else is
    # in the batch.
    dtype, z = z.dtype, z.double()
    linear = _in_eigenbasis(z / math.sqrt(d_z), dtype)
    of_each = _in_eigenbasis(_pivoted_cholesky(z, additive, rank)[0], dtype)
    if d_z == 1:  # the two kernels are one
        return linear, of_each, of_each
    return linear, of_each, _in_eigenbasis(_pivoted_cholesky(z, joint, rank)[0], dtype)


# Hundreds of small steps: a compiler would unroll them all.
@torch.compiler.disable  # type: ignore[untyped-decorator]
def fit_fine_smoothers(
    z: Float[Tensor, "batch n d_z"], ranks: Float[Tensor, "batch n d_z"], rank: int
) -> tuple[Smoother, ...]:
    """Fits the same three kinds to values and ranks of Z together, more finely with more rows.

    A function that is smooth in the values or in the ranks of Z is followed alike. The kernels are
    rational quadratics, each a mixture of Gaussian kernels of all widths, at two scales.

    Args:
        z: conditioning variables, tamed, of about unit variance; d_z at least 1.
        ranks: the normal scores of their ranks.
        rank: most basis functions of a kernel smoother at `_ROWS_OF_RANK` rows and below.
    """
    n, d_z = z.shape[1:]
    rank = round(rank * min(max(1.0, (n / _ROWS_OF_RANK) ** 0.25), _MOST_FINER))

    def additive(squares: Tensor) -> Tensor:
        return _two_scales(squares).mean(1)

    def joint(squares: Tensor) -> Tensor:
        distance = squares.mean(1) * (2 * d_z / (d_z + 1))
        smooth = torch.exp(-0.5 * distance)
        rough = distance.div(_ROUGH**2).add_(1).reciprocal_()
        return additive(squares).add_(rough).mul_(0.25).add_(smooth, alpha=0.5)

    dtype, both = ranks.dtype, torch.cat([z, ranks], dim=2).double()
    linear = _in_eigenbasis(both / math.sqrt(2 * d_z), dtype)
    if d_z == 1:  # pivots at quantiles; the joint kernel holds the additive one
        places = torch.linspace(0, n - 1, min(rank, n), device=z.device).round().long()
        knots = ranks[..., 0].argsort(dim=1)[:, places]
        of_all = _in_eigenbasis(_nystroem(both, knots, joint), dtype)
        return linear, of_all, of_all
    basis, pivots = _pivoted_cholesky(both, joint, rank)
    of_all = _in_eigenbasis(basis, dtype)
    return linear, _in_eigenbasis(_nystroem(both, pivots, additive), dtype), of_all


def _two_scales(squares: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    wide = squares.div(_WIDE**2).add_(1).reciprocal_()
    narrow = squares.div(_NARROW**2).add_(1).reciprocal_()
    return wide.add_(narrow).mul_(0.5)


def _nystroem(
    z: Float[Tensor, "batch n d"], pivots: Int[Tensor, "batch m"], kernel: Kernel
) -> Float[Tensor, "batch n m"]:
    """Approximates a kernel by `B B^T` on pivots that are known, all at once."""
    at = z.gather(1, pivots[..., None].expand(-1, -1, z.shape[2]))
    s, vectors = eigh(_kernel_matrix(at, at, kernel))
    kept = s > _NEGLIGIBLE * s[:, -1:]
    root = torch.where(kept, s.clamp(min=1e-12).rsqrt(), 0.0)
    whitened = vectors * root[:, None, :]
    blocks = [_kernel_matrix(z[:, rows], at, kernel) @ whitened for rows in row_blocks(z.shape[1])]
    return torch.cat(blocks, dim=1)


def _kernel_matrix(
    z: Float[Tensor, "batch n d"], at: Float[Tensor, "batch m d"], kernel: Kernel
) -> Float[Tensor, "batch n m"]:
    squares = (z.mT[:, :, :, None] - at.mT[:, :, None]).square()  # (batch, d, n, m)
    return kernel(squares.flatten(2)).unflatten(1, (z.shape[1], at.shape[1]))


def follows_smoothly(
    order: Int[Tensor, "batch d_z n"],
    z: Float[Tensor, "batch n d_z"],
    v: Float[Tensor, "batch t n"],
) -> Bool[Tensor, "batch t"]:
    """Says which targets are smooth functions of a single column of Z, but for numerical dust.

    In the order of that column each row is predicted by the line through its neighbours, whose
    error falls with the square of their distance; noise of a hundredth of the target is far more.
    Rows that share their value of Z with another have no order among them and are left out.

    Args:
        order: rows in the order of each column of Z.
        z: the columns, of about unit scale.
        v: targets of about unit scale.
    """
    found = torch.zeros_like(v[..., 0], dtype=torch.bool)
    n = v.shape[2]
    if n < _FEWEST:
        return found
    for k in range(order.shape[1]):
        by_z = order[:, k]
        at = z[..., k].gather(1, by_z)
        gap = at.diff(dim=1)
        alone = (gap[:, 1:] > 0) & (gap[:, :-1] > 0)  # (batch, n - 2)
        target = v.gather(2, by_z[:, None].expand_as(v))
        share = gap[:, :-1] / (gap[:, 1:] + gap[:, :-1]).clamp(min=1e-300)
        line = target[..., :-2] + (target[..., 2:] - target[..., :-2]) * share[:, None]
        error = (target[..., 1:-1] - line).abs()
        # Nine rows in ten: cusps and jumps may be worse. Rows left out never count as dust.
        error = torch.where(alone[:, None], error, torch.inf)
        found |= error.kthvalue(max(1, int(0.9 * error.shape[2])), dim=2).values < _DUST
    return found


def follows_one(
    order: Int[Tensor, "batch d_z n"],
    z: Float[Tensor, "batch n d_z"],
    v: Float[Tensor, "batch t n"],
) -> Bool[Tensor, "batch t"]:
    """Says which targets are functions of a single column of Z for all practical purposes.

    In the order of that column neighbours hardly differ (Rice 1984). It needs no smoothness: ranks
    make of a parabola a cusp, which no kernel follows. Nearly all differences must be small, and
    the few large ones, at cusps and jumps, must not add up. Rows of one value of Z have no order
    but the file's, which tells nothing: their differences count as large.

    Args:
        order: rows in the order of each column of Z.
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
        apart = (~tied).sum(dim=1, keepdim=True).clamp(min=1)
        square = step.masked_fill(tied[:, None], 0.0).square().sum(dim=2) / apart
        found |= (most < 0.02) & (square.sqrt() < 0.12)
    return found


def _pivoted_cholesky(
    z: Float[Tensor, "batch n d_z"], kernel: Kernel, rank: int
) -> tuple[Float[Tensor, "batch n m"], Int[Tensor, "batch m"]]:
    """Approximates a kernel with unit diagonal by `B B^T`, greedily (Harbrecht et al. 2012).

    Returns:
        B, and the rows that were its pivots.
    """
    batch, n, d_z = z.shape
    rank = min(rank, n)
    # Rows last: sums over variables and over basis functions then run along memory.
    basis = z.new_zeros(batch, rank, n)
    variables = z.mT.contiguous()
    preference = _preference(z)
    # All diagonals are equal at first: start from the centre.
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
        keep = variance > _NEGLIGIBLE
        if not keep.any():  # nor will anything be: a line needs few pivots
            return basis[:, :k].mT, torch.stack(pivots, dim=1)[:, :, 0]
        pivots.append(pivot[:, None])
        column = torch.where(keep, column / variance.clamp(min=_NEGLIGIBLE).sqrt(), 0.0)
        basis[:, k] = column
        residual = (residual - column.square()).clamp(min=0)
        pivot = (residual * preference).argmax(dim=1)
    return basis.mT, torch.stack(pivots, dim=1)[:, :, 0]


def _preference(z: Float[Tensor, "batch n d_z"]) -> Float[Tensor, "batch n"]:
    """Weighs rows by 1 plus a little that depends on their values alone.

    Ranks are symmetric and discrete columns repeat themselves, so pivots tie; a tie that falls to
    the position of a row would make p-values depend on the order of the table. No reflection or
    exchange of columns leaves this weight unchanged, unless the data share the symmetry.
    """
    skew = (z * z.square().sum(-1, keepdim=True)).mean(dim=1, keepdim=True)
    along = (z * skew).sum(-1) / (1 + skew.norm(dim=-1))
    return 1 + 0.02 * torch.tanh(along + 0.3 * (z - 0.1).abs().mean(-1) - 1)


def _in_eigenbasis(basis: Float[Tensor, "batch n m"], dtype: torch.dtype) -> Smoother:
    """Turns a basis, which is used up, into a smoother of some precision."""
    batch, n, m = basis.shape
    basis -= basis.mean(dim=1, keepdim=True)
    s, vectors = eigh(basis.mT @ basis)
    s = s.clamp(min=0)
    # Directions that hold nothing but rounding are dropped, not blown up to unit length.
    keep = s > 1e-5 * s[..., -1:].clamp(min=1e-6)
    vectors = vectors * torch.where(keep, s.clamp(min=1e-12).rsqrt(), 0.0)[:, None, :]
    ridges = torch.tensor(RIDGES, dtype=s.dtype, device=s.device)
    shrink = s[:, None, :] / (s[:, None, :] + ridges[:, None])
    u = torch.empty(batch, n, m, dtype=dtype, device=s.device)
    leverage = torch.empty(batch, len(RIDGES), n, dtype=dtype, device=s.device)
    for rows in row_blocks(n):
        part = basis[:, rows] @ vectors
        u[:, rows] = part
        leverage[:, :, rows] = (1 / n + shrink @ part.square().mT).clamp(max=1 - 1e-3)
    return Smoother(u, shrink.to(dtype), leverage)
