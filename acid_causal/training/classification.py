"""Multinomial logistic regression with a ridge penalty, for many datasets at once."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from acid_causal.model.numerics import eigh

# The penalty is chosen by the likelihood of this share of the rows, which the fit does not see.
_PENALTIES = (0.03, 0.3, 3.0, 30.0)
_HELD_OUT = 0.25
_STEPS = 20


def log_probabilities(
    known: Float[Tensor, "batch known m"],
    levels: Int[Tensor, "batch known"],
    at: Float[Tensor, "batch n m"],
    count: int,
) -> Float[Tensor, "batch n count"]:
    """Regresses a category on features, and returns the log of the probabilities of its levels.

    Args:
        known: features of the rows that the regression may see, which are in random order.
        levels: level of each of these rows.
        at: features of the rows whose probabilities are returned.
        count: number of levels; some may be absent.
    """
    kept = known.shape[1] - round(_HELD_OUT * known.shape[1])
    penalties = torch.tensor(_PENALTIES, device=known.device)
    tried = _predict(
        known[:, :kept], levels[:, :kept], known[:, kept:], count, penalties.expand(len(known), -1)
    )
    truth = levels[:, None, kept:, None].expand(-1, len(penalties), -1, -1)
    best = tried.gather(3, truth).sum(dim=(2, 3)).argmax(dim=1)
    return _predict(known, levels, at, count, penalties[best][:, None])[:, 0]


def _predict(
    known: Float[Tensor, "batch known m"],
    levels: Int[Tensor, "batch known"],
    at: Float[Tensor, "batch n m"],
    count: int,
    penalty: Float[Tensor, "batch penalties"],
) -> Float[Tensor, "batch penalties n count"]:
    """Fits a regression for each penalty by steps that bound the likelihood from below.

    In the basis of the features' principal directions a step is a division: the curvature of the
    likelihood is at most half of the identity.

    References:
        Böhning (1992), Multinomial logistic regression algorithm.
    """
    centre = known.mean(dim=1, keepdim=True)
    seen = (known - centre).double()
    s, vectors = (part.to(known.dtype) for part in eigh(seen.mT @ seen))
    s = s.clamp(min=1e-6)
    basis = vectors * s.rsqrt()[:, None, :]
    u, there = ((part - centre) @ basis for part in (known, at))
    truth = torch.nn.functional.one_hot(levels, count).to(known.dtype)[:, None]
    shrink = penalty[:, :, None, None] / s[:, None, :, None]  # (batch, penalties, m, 1)
    frequency = (truth.sum(dim=2, keepdim=True) + 0.5) / (known.shape[1] + 0.5 * count)
    offset = frequency.log().expand(-1, penalty.shape[1], -1, -1)
    weight = torch.zeros(*penalty.shape, u.shape[2], count, device=known.device, dtype=known.dtype)
    for _ in range(_STEPS if u.shape[2] else 0):
        error = truth - (offset + u[:, None] @ weight).softmax(dim=3)
        weight = weight + (u.mT[:, None] @ error - shrink * weight) / (0.5 + shrink)
        offset = offset + 2 * error.mean(dim=2, keepdim=True)
    return (offset + there[:, None] @ weight).log_softmax(dim=3)
