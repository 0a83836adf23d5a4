"""Transforms of each column before it enters the network."""

import torch
from jaxtyping import Float
from torch import Tensor

# Interquartile range and mean absolute deviation of the standard normal.
_NORMAL_IQR, _NORMAL_DEVIATION = 1.3489795, 0.7978846
# The interquartile range of a tied column is at most this share of the range of four values in
# five, or of the largest value.
_TIED, _DUST = 3e-4, 1e-14
# Robustly scaled values are clipped to plus and minus this: a mistyped value of 1e12 would decide
# every fit.
_CLIP = 1e3
# A column of smaller skewness counts as symmetric: rounding errors would turn its sign.
_SYMMETRIC = 1e-9


def rank_normal(columns: Float[Tensor, "batch n d"]) -> Float[Tensor, "batch n d"]:
    """Replaces values by the normal scores of their ranks; ties get the score of their mean rank.

    The result is invariant to increasing maps of each variable. A constant column becomes 0.
    """
    by_column = columns.transpose(1, 2).contiguous()
    n = by_column.shape[-1]
    ordered = by_column.sort(dim=-1).values
    # The mean rank of a value is the mean of its leftmost and rightmost insertion index.
    below = torch.searchsorted(ordered, by_column)
    upto = torch.searchsorted(ordered, by_column, right=True)
    score = torch.special.ndtri((below + upto).double() / (2 * n))
    return _unit(score).to(columns.dtype).transpose(1, 2)


def tie_chance(columns: Float[Tensor, "batch columns n"]) -> Float[Tensor, "batch columns"]:
    """Computes the chance that two rows, drawn with replacement, have equal values of a column.

    It is 1/n if all values differ, .5 for a coin and 1 for a constant.
    """
    n = columns.shape[2]
    ordered = columns.detach().contiguous().sort(dim=2).values
    if not (ordered[..., 1:] == ordered[..., :-1]).any():
        return torch.full_like(ordered[..., 0], 1 / n)
    below = torch.searchsorted(ordered, ordered)
    upto = torch.searchsorted(ordered, ordered, right=True)
    return ((upto - below).sum(dim=2) / n**2).to(columns.dtype)


def standardise(columns: Float[Tensor, "batch n d"]) -> Float[Tensor, "batch n d"]:
    """Shifts and scales to mean 0 and variance 1; a constant column becomes 0."""
    return _unit(columns.transpose(1, 2).double()).to(columns.dtype).transpose(1, 2)


def robust(columns: Float[Tensor, "batch n d"]) -> Float[Tensor, "batch n d"]:
    """Shifts by the median and scales by the interquartile range, in double precision.

    Linear relations stay linear. The sign is chosen so that the column's skewness is positive, so
    the result is invariant to reflection. A normal column gets variance 1 and a constant column
    becomes 0. If more than half of a column is one value, it is scaled by its mean absolute
    deviation instead.
    """
    by_column = columns.transpose(1, 2).double()
    largest = by_column.abs().amax(dim=-1, keepdim=True)
    by_column = by_column / torch.where(largest > 0, largest, 1.0)
    ordered = by_column.sort(dim=-1).values
    lowest, low, middle, high, highest = (
        _quantile(ordered, q) for q in (0.1, 0.25, 0.5, 0.75, 0.9)
    )
    centred = by_column - middle
    spread = (high - low) / _NORMAL_IQR
    deviation = centred.abs().mean(dim=-1, keepdim=True) / _NORMAL_DEVIATION
    # An interquartile range far below the range of four values in five is due to ties and not to
    # the scale, also if it is rounding error beside the largest value.
    tied = (spread <= _TIED * (highest - lowest)) | (spread <= _DUST)
    scale = torch.where(tied, deviation, spread)
    scale = torch.where(scale > 0, scale, 1.0)
    scaled = (centred / scale).clamp(-_CLIP, _CLIP)
    sign = torch.where(_skewness(tame((ordered - middle) / scale)) < -_SYMMETRIC, -1.0, 1.0)
    return (scaled * sign).transpose(1, 2)


def _skewness(ordered: Float[Tensor, "*columns n"]) -> Float[Tensor, "*columns 1"]:
    """Computes the third central moment of sorted columns, which reflection negates to the bit.

    Each value is summed with its mirror image, so a symmetric column has exactly 0. Rounding errors
    of another order of rows would turn its sign.
    """
    mean = (ordered + ordered.flip(-1)).mean(dim=-1, keepdim=True) / 2
    cubes = (ordered - mean).pow(3)
    return (cubes + cubes.flip(-1)).mean(dim=-1, keepdim=True)


def tame(values: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Compresses outliers: identity up to |v| = 2, logarithmic growth beyond."""
    size = values.abs()
    return torch.where(
        size <= 2, values, values.sign() * (2 + torch.log1p((size - 2).clamp(min=0)))
    )


def _quantile(ordered: Float[Tensor, "*columns n"], q: float) -> Float[Tensor, "*columns 1"]:
    """Interpolates linearly between order statistics; symmetric under reflection."""
    place = q * (ordered.shape[-1] - 1)
    below = int(place)
    above = min(below + 1, ordered.shape[-1] - 1)
    weight = place - below
    pair = ordered[..., below : below + 1], ordered[..., above : above + 1]
    return (1 - weight) * pair[0] + weight * pair[1]


def _unit(columns: Tensor) -> Tensor:
    centred = columns - columns.mean(dim=-1, keepdim=True)
    # Divided by the largest entry first, so that squares neither overflow nor underflow. So no
    # scale is too small, and only a constant column has none.
    largest = centred.abs().amax(dim=-1, keepdim=True)
    centred = centred / torch.where(largest > 0, largest, 1.0)
    sd = centred.square().mean(dim=-1, keepdim=True).sqrt()
    return centred / torch.where(sd > 0, sd, 1.0)
