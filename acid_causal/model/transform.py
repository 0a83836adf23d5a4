"""What is done to each column before the network sees it."""

import torch
from jaxtyping import Float
from torch import Tensor

# Of the standard normal: the interquartile range and the mean absolute deviation.
_NORMAL_IQR, _NORMAL_DEVIATION = 1.3489795, 0.7978846
# Values farther out than this many standard deviations are as good as here.
_FARTHEST = 1e6


def rank_normal(columns: Float[Tensor, "batch n d"]) -> Float[Tensor, "batch n d"]:
    """Replaces values by the normal scores of their ranks, ties by the score of their mean rank.

    Conditional independence is invariant to invertible maps of each variable; so is the result. A
    constant column becomes 0.
    """
    by_column = columns.transpose(1, 2).contiguous()
    n = by_column.shape[-1]
    ordered = by_column.sort(dim=-1).values
    # The mean rank of a value is the mean of the places where it could be inserted.
    below = torch.searchsorted(ordered, by_column)
    upto = torch.searchsorted(ordered, by_column, right=True)
    score = torch.special.ndtri((below + upto).double() / (2 * n))
    return _unit(score).to(columns.dtype).transpose(1, 2)


def standardise(columns: Float[Tensor, "batch n d"]) -> Float[Tensor, "batch n d"]:
    """Shifts and scales to mean 0 and variance 1; a constant column becomes 0."""
    return _unit(columns.transpose(1, 2).double()).to(columns.dtype).transpose(1, 2)


def robust(columns: Float[Tensor, "batch n d"]) -> Float[Tensor, "batch n d"]:
    """Shifts by the median and scales by the interquartile range, in double precision.

    A relation that is linear in the user's units stays linear. The sign is the one that makes the
    column's skewness positive, so that reflections, too, change nothing. A normal column gets
    variance 1; a constant one becomes 0; a column of which more than half is one value is scaled
    by its mean absolute deviation.
    """
    by_column = columns.transpose(1, 2).double()
    largest = by_column.abs().amax(dim=-1, keepdim=True)
    by_column = by_column / torch.where(largest > 0, largest, 1.0)
    ordered = by_column.sort(dim=-1).values
    low, middle, high = (_quantile(ordered, q) for q in (0.25, 0.5, 0.75))
    centred = by_column - middle
    spread = (high - low) / _NORMAL_IQR
    deviation = centred.abs().mean(dim=-1, keepdim=True) / _NORMAL_DEVIATION
    # Beside the mean deviation a tiny interquartile range tells of ties, not of the scale.
    scale = torch.where(spread > 1e-3 * deviation, spread, deviation)
    scaled = (centred / torch.where(scale > 0, scale, 1.0)).clamp(-_FARTHEST, _FARTHEST)
    tamed = tame(scaled)
    skew = (tamed - tamed.mean(dim=-1, keepdim=True)).pow(3).mean(dim=-1, keepdim=True)
    return (scaled * torch.where(skew < 0, -1.0, 1.0)).transpose(1, 2)


def tame(values: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Leaves values up to 2 as they are, and lets larger ones grow like their logarithm."""
    size = values.abs()
    return torch.where(
        size <= 2, values, values.sign() * (2 + torch.log1p((size - 2).clamp(min=0)))
    )


def _quantile(ordered: Float[Tensor, "*columns n"], q: float) -> Float[Tensor, "*columns 1"]:
    """Interpolates between the two nearest values; the same from either end."""
    place = q * (ordered.shape[-1] - 1)
    below = int(place)
    above = min(below + 1, ordered.shape[-1] - 1)
    weight = place - below
    pair = ordered[..., below : below + 1], ordered[..., above : above + 1]
    return (1 - weight) * pair[0] + weight * pair[1]


def _unit(columns: Tensor) -> Tensor:
    centred = columns - columns.mean(dim=-1, keepdim=True)
    # Scaled by its largest entry first, the square of 1e300 or 1e-300 is no surprise.
    largest = centred.abs().amax(dim=-1, keepdim=True)
    centred = centred / torch.where(largest > 0, largest, 1.0)
    sd = centred.square().mean(dim=-1, keepdim=True).sqrt()
    return centred / torch.where(sd > 0, sd, 1.0)
