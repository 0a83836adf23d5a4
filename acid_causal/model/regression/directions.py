"""A kernel smoother along the directions in which a target varies with Z.

A kernel to which all directions are alike needs many rows if Z has several variables. But often a
target varies along few directions, such as one weighted sum of Z. They are the leading ones of the
mean outer product of the gradients of a fit, which is the metric of the next fit, and so on. This
is a recursive feature machine (Radhakrishnan, Beaglehole, Pandit, Belkin 2024, Mechanism for
feature learning in neural networks and backpropagation-free machine learning models).

Each target has a metric, and so a smoother, of its own. Results do not depend on the order of rows
or of Z's columns.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from acid_causal.model.compilation import uncompiled
from acid_causal.model.numerics import eigh, row_blocks
from acid_causal.model.regression.smoothers import (
    Smoother,
    eigenvectors,
    fine_rank,
    in_eigenbasis,
)

# Number of knots up to 300 rows: few are enough along one or two directions.
_KNOTS = 40
# Fits, the last of which is used; each has the metric that the one before it has found. Of two
# variables there is one less.
_FITS = 4
# Power of the gradients' products that is the metric: with more than 1 it settles in fewer fits.
_POWER = 1.5
# Mean square of a gradient that is due to rounding.
_ROUNDING = 1e-10
# Added to the diagonal of a kernel matrix, as knots may be equal.
_JITTER = 1e-4
# Inverse squared width of the additive kernel.
_NARROW = 4.0
# Kernel values computed at once; chosen to fit a CPU's cache.
_AT_ONCE = 100_000
# Entries of bases and of metrics of targets that are fitted at once, for large tables.
_MAX_ENTRIES = 1_000_000
# Differences of single coordinates computed at once, for long tables and sets of many variables.
_MAX_DIFFERENCES = 500_000


@dataclass(frozen=True, eq=False)
class Knots:
    """What the smoothers of targets need of a conditioning set.

    Attributes:
        z: coordinates of about unit variance: the values and the ranks of each variable.
        rows: rows that are knots, in an order that does not depend on that of the rows.
    """

    z: Float[Tensor, "batch n d"]
    rows: Int[Tensor, "batch m"]

    def __getitem__(self, sets: slice) -> "Knots":
        """Selects some of a batch of sets, without a copy."""
        return Knots(self.z[sets], self.rows[sets])


# Not compiled: torch.compile would unroll the fits.
@uncompiled
def fit_directions(knots: Knots, v: Float[Tensor, "batch t n"]) -> Smoother:
    """Fits a smoother to each target.

    Args:
        knots: of conditioning sets of at least two variables.
        v: targets of about unit variance.

    Returns:
        batch * t smoothers, set by set.
    """
    (_, t, n), d = v.shape, knots.z.shape[2]
    rank = fine_rank(n, _KNOTS)
    some = max(1, min(_AT_ONCE // (n * rank * t), _MAX_ENTRIES // (t * d**2)))
    few = max(1, _MAX_ENTRIES // d**2)  # fewer than t targets only if some is 1
    parts: list[Smoother] = []
    for start, part in zip(range(0, len(v), some), v.split(some), strict=True):
        sets = slice(start, start + some)
        for targets in part.split(few, dim=1):
            parts += _fit(knots.z[sets], knots.rows[sets, :rank], targets)
    return Smoother.concatenate(parts)


def _fit(
    z: Float[Tensor, "sets n d"], rows: Int[Tensor, "sets m"], v: Float[Tensor, "sets t n"]
) -> list[Smoother]:
    dtype, (_, t, n), d = v.dtype, v.shape, z.shape[2]
    v = v.to(z.dtype)
    at = z.gather(1, rows[..., None].expand(-1, -1, d))
    products = _first_products(z, at, v).flatten(0, 1)
    # From now on each target is a set of its own.
    some = max(1, _MAX_ENTRIES // (n * rows.shape[1]))
    if some == 1:  # slices, as long tables are not to be copied
        sets = [slice(k, k + 1) for k in range(len(z)) for _ in range(t)]
    else:
        sets = torch.arange(len(z), device=z.device).repeat_interleave(t).split(some)
    targets = zip(v.flatten(0, 1)[:, None].split(some), products.split(some), strict=True)
    return [
        _refined(z[of], at[of], *target, dtype) for of, target in zip(sets, targets, strict=True)
    ]


def _refined(
    z: Float[Tensor, "sets n d"],
    at: Float[Tensor, "sets m d"],
    v: Float[Tensor, "sets 1 n"],
    products: Float[Tensor, "sets d d"],
    dtype: torch.dtype,
) -> Smoother:
    """Fits again with the metric that the fit before has found, and so on.

    Single precision, in half the time, will do for all fits but the last: with it there, p-values
    would differ by 1e-4 between orders of the rows.
    """
    n = z.shape[1]
    for _ in range(min(_FITS, z.shape[2] // 2 + 1) - 2):
        root = _root(products, n)
        products = root @ _products(z @ root, at @ root, v)[0][:, 0] @ root.mT
    root = _root(products.double(), n)
    return _smoother(z.double() @ root, at.double() @ root, dtype)[0]


def _first_products(
    z: Float[Tensor, "sets n d"], at: Float[Tensor, "sets m d"], v: Float[Tensor, "sets t n"]
) -> Float[Tensor, "sets t d d"]:
    """Returns `_products` of a fit to which all directions are alike, or of an additive one.

    It is the one with the smaller error: the first does not find a wave along one of several
    variables, and the second does not find a product.
    """
    width = math.sqrt(z.shape[2] + 2)  # a variable has two coordinates
    products, error = _products(z / width, at / width, v)
    additive, error_of_additive = _additive_products(z, at, v)
    better = error < error_of_additive
    return products.div_(width**2).where(better[..., None, None], additive)


def _products(
    z: Float[Tensor, "sets n d"], at: Float[Tensor, "sets m d"], v: Float[Tensor, "sets t n"]
) -> tuple[Float[Tensor, "sets t d d"], Float[Tensor, "sets t"]]:
    """Fits each target; returns the sum of its gradients' outer products, and the error."""
    weights, error = _weights(*_smoother(z, at), v)
    moments = torch.cat([weights[..., None], weights[..., None] * at[:, None]], dim=3)
    flat = moments.transpose(1, 2).flatten(2)  # (sets, m, t * (1 + d))
    products = z.new_zeros(*v.shape[:2], z.shape[2], z.shape[2])
    for rows in row_blocks(z.shape[1]):
        some = z[:, rows]
        sums = (_slope(_squares(some, at)) @ flat).unflatten(2, (v.shape[1], -1)).transpose(1, 2)
        gradients = 2 * (sums[..., :1] * some[:, None] - sums[..., 1:])
        products += gradients.mT @ gradients
    return products, error


def _additive_products(
    z: Float[Tensor, "sets n d"], at: Float[Tensor, "sets m d"], v: Float[Tensor, "sets t n"]
) -> tuple[Float[Tensor, "sets t d d"], Float[Tensor, "sets t"]]:
    """Does the same with the mean of kernels of the single coordinates."""
    d = z.shape[2]
    whitened = _whitening(_additive_kernel(at, at))
    weights, error = _weights(*_from_kernel(_additive_kernel(z, at), whitened), v)
    products = z.new_zeros(*v.shape[:2], d, d)
    for rows in _blocks_of_differences(z, at):
        apart = _differences(z[:, rows], at)
        slopes = _slope(apart.square().mul_(_NARROW)).mul_(apart)  # (sets, d, rows, m)
        gradients = (slopes @ weights.mT[:, None]).permute(0, 3, 2, 1)  # (sets, t, rows, d)
        products += gradients.mT @ gradients
    return products.mul_((2 * _NARROW / d) ** 2), error


def _weights(
    smoother: Smoother, to_knots: Float[Tensor, "sets m m"], v: Float[Tensor, "sets t n"]
) -> tuple[Float[Tensor, "sets t m"], Float[Tensor, "sets t"]]:
    """Returns the weights of the kernels at the knots whose sum is the fit, and its error."""
    residuals, best = smoother.residuals(v)
    return smoother.coefficients(v, best) @ to_knots.mT, residuals.square().mean(2)


def _smoother(
    z: Float[Tensor, "sets n d"], at: Float[Tensor, "sets m d"], dtype: torch.dtype | None = None
) -> tuple[Smoother, Float[Tensor, "sets m m"]]:
    """Returns kernel ridge regression, and the map from its coefficients to weights of knots."""
    kernel = z.new_empty(*z.shape[:2], at.shape[1])
    for rows in row_blocks(z.shape[1]):
        kernel[:, rows] = _kernel(_squares(z[:, rows], at))
    return _from_kernel(kernel, _whitening(_kernel(_squares(at, at))), dtype)


def _from_kernel(
    kernel: Float[Tensor, "sets n m"],
    whitened: Float[Tensor, "sets m m"],
    dtype: torch.dtype | None = None,
) -> tuple[Smoother, Float[Tensor, "sets m m"]]:
    """Does what `_smoother` does, given the kernel of rows and knots, which is centred in place."""
    kernel -= kernel.mean(dim=1, keepdim=True)
    products = torch.zeros_like(whitened)
    for rows in row_blocks(kernel.shape[1]):
        some = kernel[:, rows].double()
        products += some.mT @ some
    s, vectors = eigenvectors(whitened.mT @ products @ whitened)
    to_knots = (whitened @ vectors).to(kernel.dtype)
    return in_eigenbasis(kernel, s.to(kernel.dtype), to_knots, dtype), to_knots


def _whitening(matrix: Float[Tensor, "sets m m"]) -> Float[Tensor, "sets m m"]:
    """Returns W with W W^T about the inverse of a kernel matrix; faster than by eigenvectors."""
    matrix = matrix.double()
    identity = torch.eye(matrix.shape[1], dtype=matrix.dtype, device=matrix.device)
    factor = torch.linalg.cholesky(matrix + _JITTER * identity)
    return torch.linalg.solve_triangular(factor.mT, identity.expand_as(matrix), upper=True)


def _root(products: Float[Tensor, "sets d d"], n: int) -> Float[Tensor, "sets d d"]:
    """Returns a matrix R with R R^T equal to the metric, which has trace 1.

    All directions are alike to a target that does not vary with Z. Rounding errors would choose
    one, another in each order of the rows.
    """
    values, vectors = eigh(products.double())
    values = torch.where(values[:, -1:] > _ROUNDING * n, values, 1.0)
    # Relative to the largest, as a small number to a power may underflow.
    largest = values[:, -1:].clamp(min=1e-300)
    values = (values / largest).clamp(min=0).pow(_POWER)
    total = values.sum(dim=1, keepdim=True).clamp(min=1e-300)
    return (vectors * (values / total).sqrt()[:, None]).to(products.dtype)


def _squares(
    z: Float[Tensor, "sets n d"], at: Float[Tensor, "sets m d"]
) -> Float[Tensor, "sets n m"]:
    """Computes squared distances."""
    norms = z.square().sum(2)[..., None] + at.square().sum(2)[:, None]
    return norms.baddbmm_(z, at.mT, alpha=-2).clamp_(min=0)


def _additive_kernel(
    z: Float[Tensor, "sets n d"], at: Float[Tensor, "sets m d"]
) -> Float[Tensor, "sets n m"]:
    """Computes the mean of the kernels of the single coordinates."""
    kernel = z.new_empty(*z.shape[:2], at.shape[1])
    for rows in _blocks_of_differences(z, at):
        kernel[:, rows] = _kernel(_differences(z[:, rows], at).square_().mul_(_NARROW)).mean(1)
    return kernel


def _blocks_of_differences(
    z: Float[Tensor, "sets n d"], at: Float[Tensor, "sets m d"]
) -> Iterator[slice]:
    return row_blocks(z.shape[1], max(1, _MAX_DIFFERENCES // at.numel()))


def _differences(
    z: Float[Tensor, "sets n d"], at: Float[Tensor, "sets m d"]
) -> Float[Tensor, "sets d n m"]:
    """Computes the differences of the coordinates."""
    return z.mT[..., None] - at.mT[:, :, None]


def _kernel(squares: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Computes the mean of two rational quadratics, 1 / (1 + s) and 1 / (1 + 4 s)."""
    return squares.mul(2.5).add_(1).div_(squares.mul(4).add_(5).mul_(squares).add_(1))


def _slope(squares: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Computes the derivative of the kernel in the squared distance."""
    wide, narrow = squares.add(1).reciprocal_(), squares.mul(4).add_(1).reciprocal_()
    return wide.square_().mul_(-0.5).sub_(narrow.square_(), alpha=2)
