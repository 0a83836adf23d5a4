"""Makes the weights from which the training of `acid-fast` starts: a smaller `acid-base`.

    python benchmarks/recipes/acid_fast_start.py start.safetensors
    acid-causal train acid_causal/weights/acid-fast.toml --from start.safetensors

Of the encoder the first layer is kept, and of each head the directions in which its features vary
most over batches of the stream. A statistic of a head is the squared norm of a cross-covariance,
which a rotation of the features does not change.
"""

import sys
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from acid_causal import load_model
from acid_causal.calibration.scoring import score_pairs, transform_batch
from acid_causal.model import ACIDModel
from acid_causal.model.acid import Conditioning, TargetEncoding
from acid_causal.synthetic import Stream
from acid_causal.weights.checkpoint import TrainedModel

WIDTH, RANK = 4, 32  # of a head, and of smoothers
BATCHES, SEED = 60, 99


def smaller(base: TrainedModel) -> TrainedModel:
    """Returns the smaller model, with the null of the larger one."""
    config = replace(base.recipe.model, layers=1, smoother_rank=RANK, learned_directions=False)
    theirs = base.network.state_dict()
    network = ACIDModel(config)
    network.load_state_dict({name: theirs[name] for name in network.state_dict()})
    directions = _main_directions(network, Stream(base.recipe.stream, SEED, torch.device("cpu")))
    small = ACIDModel(replace(config, head_width=WIDTH))
    last, heads = "head.lift.2.", (config.head_count, -1)
    of_heads = {
        last + part: torch.einsum(
            "hwk,hw...->hk...", directions, theirs[last + part].unflatten(0, heads)
        )
        for part in ("weight", "bias")
    }
    kept = {name: theirs[name] for name in small.state_dict()}
    small.load_state_dict({**kept, **{name: of.flatten(0, 1) for name, of in of_heads.items()}})
    recipe = replace(base.recipe, name="acid-fast-start", model=small.config)
    # What is usual of its variables is another thing with other regressions.
    null = replace(base.null, reference=None)
    return TrainedModel(small.eval(), null, recipe, {"steps": 0}, base.default_null)


def _main_directions(network: ACIDModel, stream: Stream) -> Float[Tensor, "heads width kept"]:
    """Finds the directions of each head's features with the largest variance, of unit length."""
    covariances: list[Tensor] = []
    encode_targets = network.encode_targets

    def recorded(
        x: Tensor, conditioning: Conditioning, *, categories: bool = False
    ) -> TargetEncoding:
        encoded = encode_targets(x, conditioning, categories=categories)
        if not categories:
            features = encoded.features
            covariance = torch.einsum("mdhwn,mdhvn->hwv", features, features)
            trace = covariance.diagonal(dim1=1, dim2=2).sum(1)
            covariances.append(covariance / (trace[:, None, None] + 1e-9))
        return encoded

    network.encode_targets = recorded  # type: ignore[method-assign]
    with torch.no_grad():
        for index in range(BATCHES):
            score_pairs(network.eval(), transform_batch(stream[index], network.transform))
    variances, vectors = torch.linalg.eigh(torch.stack(covariances).sum(0))
    kept = variances[:, -WIDTH:].sum(1) / variances.sum(1)
    print("share of the variance that is kept, by head:", *(f"{share:.3f}" for share in kept))
    return vectors[:, :, -WIDTH:]


if __name__ == "__main__":
    smaller(load_model("acid-base")).save(sys.argv[1])
