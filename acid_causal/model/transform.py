"""What is done to each column before the network sees it."""

import torch
from jaxtyping import Float
from torch import Tensor


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


def _unit(columns: Tensor) -> Tensor:
    centred = columns - columns.mean(dim=-1, keepdim=True)
    # Scaled by its largest entry first, the square of 1e300 or 1e-300 is no surprise.
    largest = centred.abs().amax(dim=-1, keepdim=True)
    centred = centred / torch.where(largest > 0, largest, 1.0)
    sd = centred.square().mean(dim=-1, keepdim=True).sqrt()
    return centred / torch.where(sd > 0, sd, 1.0)
