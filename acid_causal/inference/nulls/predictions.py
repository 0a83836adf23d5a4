"""What Z predicts of a variable: its mean and its scale, row by row.

Permutations move rows among rows with like predictions; see `permutation` and `checked`.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from acid_causal.model import Conditioning
from acid_causal.model.regression.directions import fit_directions
from acid_causal.model.regression.smoothers import RIDGES, Smoother
from acid_causal.model.transform import rank_normal

# Ridge of the regression of log squared residuals, which are noisy; and what is added to squares,
# in units of their mean, before the log.
_SCALE_RIDGE, _FLOOR = RIDGES.index(1.0), 0.05


def predict(
    x: Float[Tensor, "batch t n d"], given: Conditioning
) -> Float[Tensor, "m d predicted n"]:
    """Predicts the normal scores of targets, and the logs of their scales, from Z.

    In double precision: the order of rows by prediction must not depend on rounding.

    Args:
        x: t targets of d components for each conditioning set, transformed.
        given: the conditioning sets.

    Returns:
        Mean and log scale of each component of m = batch * t targets; none without Z.
    """
    t, d = x.shape[1], x.shape[3]
    columns = rank_normal(x.double().flatten(0, 1)).mT.reshape(len(x), t * d, -1)
    if not given.smoothers:
        return columns.new_empty(len(x) * t, d, 0, columns.shape[2])
    smoothers = list(dict.fromkeys(given.smoothers))
    if given.knots is not None:
        # Each column is a set of its own.
        own = fit_directions(given.knots, columns)
        smoothers = [*(smoother.for_each(t * d) for smoother in smoothers), own]
        columns = columns.flatten(0, 1)[:, None]
    smoothers = [Smoother(s.u.double(), s.shrink.double(), s.leverage.double()) for s in smoothers]
    tried = [(smoother, *smoother.residuals(columns)) for smoother in smoothers]
    errors = torch.stack([residual.square().mean(2) for _, residual, _ in tried])
    best = errors.argmin(0)[None, ..., None]

    def of_best(parts: list[Tensor]) -> Tensor:
        stacked = torch.stack(parts)
        return stacked.gather(0, best.expand(-1, -1, -1, stacked.shape[3]))[0]

    mean = of_best([smoother.smooth(columns, ridges) for smoother, _, ridges in tried])
    residual = of_best([residual for _, residual, _ in tried])
    squares = residual.square()
    noisy = torch.log(squares + _FLOOR * squares.mean(2, keepdim=True) + 1e-30)
    ridges = torch.full_like(best[0, ..., 0], _SCALE_RIDGE)
    scale = of_best([0.5 * smoother.smooth(noisy, ridges) for smoother in smoothers])
    return torch.stack([mean, scale], dim=2).view(len(x) * t, d, 2, -1)
