"""Scores batches of synthetic data: every pair of targets of every dataset."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from acid_causal.model import ACIDModel
from acid_causal.synthetic import Batch


@dataclass(frozen=True)
class ScoredPairs:
    """Logits and labels of the pairs of a batch.

    Attributes:
        logit: the network's logit of dependence.
        label: 1.0 if the pair is dependent, else 0.0.
        explained_x: share of the first target's variance that Z explains.
        explained_y: the same for the second.
    """

    logit: Float[Tensor, " pairs"]
    label: Float[Tensor, " pairs"]
    explained_x: Float[Tensor, " pairs"]
    explained_y: Float[Tensor, " pairs"]


def score_pairs(model: ACIDModel, batch: Batch) -> ScoredPairs:
    """Scores every pair of targets of every dataset; each target is encoded once."""
    t = batch.x.shape[1]
    encoding = model.encode_targets(batch.x, model.encode_conditioning(batch.z))
    i, j = torch.triu_indices(t, t, 1, device=batch.x.device)
    explained = encoding.explained.amax(dim=1).unflatten(0, (-1, t))
    return ScoredPairs(
        model.score_all_pairs(encoding, t).float(),
        batch.dependent[:, i, j].flatten().float(),
        explained[:, i].flatten(),
        explained[:, j].flatten(),
    )


def transform_batch(batch: Batch, transform: Callable[[Tensor], Tensor]) -> Batch:
    """Transforms every column as the tester transforms a user's columns."""
    x = transform(batch.x.flatten(0, 1)).view_as(batch.x)
    return replace(batch, z=transform(batch.z), x=x)
