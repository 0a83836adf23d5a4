"""Scores batches of synthetic data: every pair of targets of every dataset."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from acid_causal.model import ACIDModel, Layout, TargetEncoding
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
    encoded = encode(model, batch)
    logits = pair_grid(model, encoded)
    t = logits.shape[1]
    i, j = torch.triu_indices(t, t, 1, device=logits.device)
    explained = torch.cat(
        [encoding.explained.amax(dim=1).unflatten(0, (-1, count)) for encoding, count in encoded],
        dim=1,
    )
    return ScoredPairs(
        logits[:, i, j].flatten().float(),
        batch.dependent[:, i, j].flatten().float(),
        explained[:, i].flatten(),
        explained[:, j].flatten(),
    )


def encode(model: ACIDModel, batch: Batch) -> list[tuple[TargetEncoding, int]]:
    """Encodes the targets of a batch; returns numeric ones and categories with their numbers."""
    layout = None
    if batch.widths:
        layout = Layout.from_widths([batch.widths] * len(batch.z), batch.z.device)
    conditioning = model.encode_conditioning(batch.z, layout)
    encoded = []
    if batch.x.shape[1]:
        encoded.append((model.encode_targets(batch.x, conditioning), batch.x.shape[1]))
    if batch.categories is not None:
        encoding = model.encode_targets(batch.categories, conditioning, categories=True)
        encoded.append((encoding, batch.categories.shape[1]))
    return encoded


def pair_grid(
    model: ACIDModel, encoded: Sequence[tuple[TargetEncoding, int]]
) -> Float[Tensor, "batch targets targets"]:
    """Scores each target of a batch with each other; the result is symmetric."""
    if len(encoded) == 1:
        ((encoding, t),) = encoded
        return model.score_grid(encoding, encoding, t, t)
    (numeric, t), (categories, c) = encoded
    across = model.score_grid(numeric, categories, t, c)
    first = torch.cat([model.score_grid(numeric, numeric, t, t), across], dim=2)
    second = torch.cat([across.mT, model.score_grid(categories, categories, c, c)], dim=2)
    return torch.cat([first, second], dim=1)


def transform_batch(batch: Batch, transform: Callable[[Tensor], Tensor]) -> Batch:
    """Transforms numeric columns as the tester transforms a user's columns."""
    x = transform(batch.x.flatten(0, 1)).view_as(batch.x) if batch.x.numel() else batch.x
    z = transform(batch.z)
    if batch.widths is not None:
        numbers = batch.widths.count(1)
        z = torch.cat([z[..., :numbers], batch.z[..., numbers:].to(z.dtype)], dim=2)
    categories = batch.categories
    if categories is not None:
        categories = categories.to(z.dtype)
    return replace(batch, z=z, x=x, categories=categories)
