"""ACID: a transformer that reads a dataset and says whether X and Y are dependent given Z.

The model has three separate parts, so that encodings can be kept and shared:
`encode_conditioning` sees Z, `encode_targets` one or many variables given Z, and `score` two
encoded variables. X and Y never meet before `score`. The one-shot `forward` is the three in a row.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from acid_causal.model.attention import FeedForward
from acid_causal.model.config import ModelConfig
from acid_causal.model.encoder import Encoder, ZContext
from acid_causal.model.heads import make_head
from acid_causal.model.smoothers import Smoother, fit_smoothers
from acid_causal.model.transform import rank_normal, standardise

_SMOOTHERS = 3
_CHANNELS = 1 + 2 * _SMOOTHERS  # the value, its residuals, and the logs of their sds


@dataclass(frozen=True)
class Conditioning:
    """A conditioning set, encoded: all that its targets need of it."""

    contexts: tuple[ZContext, ...]
    smoothers: tuple[Smoother, ...]
    d_z: int


@dataclass(frozen=True)
class TargetEncoding:
    """Encoded targets: m of them, in no relation to one another.

    Attributes:
        features: what the head compares.
        spread: what the head studentises by.
        explained: share of each target's variance that Z explains, by the best smoother.
        d_z: size of the conditioning set.
    """

    features: Float[Tensor, "m n d heads width"]
    spread: Float[Tensor, "m d heads"]
    explained: Float[Tensor, " m"]
    d_z: int

    @property
    def nbytes(self) -> int:
        """Bytes of the tensors."""
        return self.features.nbytes + self.spread.nbytes + self.explained.nbytes

    def __getitem__(self, index: Tensor) -> "TargetEncoding":
        """Selects targets, as copies."""
        return TargetEncoding(
            self.features[index], self.spread[index], self.explained[index], self.d_z
        )


class ACIDModel(nn.Module):
    """The network of the paper's section "Model architecture", by configuration.

    Inputs are columns already transformed as `config.transform` says, of about unit variance.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        channels = _CHANNELS if config.residual_channels else 1
        self.embed_target = FeedForward(channels, 2 * config.e, config.e)
        self.embed_z = FeedForward(1, 2 * config.e, config.e)
        self.encoder = Encoder(config)
        self.head = make_head(config)
        self.classifier = FeedForward(self.head.statistics + 4, 64, 1)

    def transform(self, columns: Float[Tensor, "batch n d"]) -> Float[Tensor, "batch n d"]:
        """Turns raw columns into what the network reads."""
        return (
            rank_normal(columns) if self.config.transform == "rank-normal" else standardise(columns)
        )

    def encode_conditioning(self, z: Float[Tensor, "batch n d_z"]) -> Conditioning:
        """Encodes conditioning sets; d_z may be 0."""
        d_z = z.shape[2]
        smoothers: tuple[Smoother, ...] = ()
        if d_z and (self.config.residual_channels or self.config.head == "cross-covariance"):
            with torch.no_grad():
                smoothers = fit_smoothers(z, self.config.smoother_rank)
        contexts = self.encoder.encode_z(self.embed_z(z[..., None]))
        return Conditioning(contexts, smoothers, d_z)

    def encode_targets(
        self, x: Float[Tensor, "batch t n d"], conditioning: Conditioning
    ) -> TargetEncoding:
        """Encodes t targets of d components for each conditioning set.

        Returns:
            An encoding of batch * t targets, in that order.
        """
        _, t, _, d = x.shape
        columns = x.transpose(1, 2).flatten(2)  # (batch, n, t * d)
        channels, explained, ridges = self._channels(columns, conditioning.smoothers)
        tokens = self.embed_target(channels).unflatten(2, (t, d))
        tokens = self.encoder.encode_targets(tokens, conditioning.contexts)
        features = self.head.features(tokens).flatten(2)  # (batch, n, t * d * heads * width)
        if self.config.head == "cross-covariance":
            features = self._residualise(features, conditioning.smoothers, ridges)
        features = features.unflatten(2, (t, d, self.head.heads, -1)).transpose(1, 2).flatten(0, 1)
        return TargetEncoding(
            features,
            self.head.spread(features),
            explained.unflatten(1, (t, d)).amax(dim=2).flatten(),
            conditioning.d_z,
        )

    def score(self, x: TargetEncoding, y: TargetEncoding) -> Float[Tensor, " m"]:
        """Computes the logit of dependence for m pairs: the test statistic."""
        n = x.features.shape[1]
        statistics = self.head.compare(x.features, y.features, x.spread, y.spread)
        low = torch.minimum(x.explained, y.explained)
        high = torch.maximum(x.explained, y.explained)
        size = torch.tensor([n / 100.0, (1 + x.d_z) / 4.0], device=low.device).log()
        facts = torch.stack([low, high], dim=-1)
        facts = torch.cat([facts, size.expand(len(low), 2)], dim=-1)
        return self.classifier(torch.cat([statistics, facts], dim=-1))[:, 0]

    def forward(
        self,
        x: Float[Tensor, "batch n d_x"],
        y: Float[Tensor, "batch n d_y"],
        z: Float[Tensor, "batch n d_z"],
    ) -> Float[Tensor, " batch"]:
        """Scores one question for each dataset of a batch."""
        conditioning = self.encode_conditioning(z)
        encode = self.encode_targets
        return self.score(encode(x[:, None], conditioning), encode(y[:, None], conditioning))

    def _channels(
        self, v: Float[Tensor, "batch n k"], smoothers: tuple[Smoother, ...]
    ) -> tuple[
        Float[Tensor, "batch n k channels"], Float[Tensor, "batch k"], Int[Tensor, "batch k"]
    ]:
        """Sets each entry beside its residuals, scaled to unit sd, and the logs of the sds.

        Returns:
            The channels, the share of variance that the best smoother explains, and the ridge that
            suits each column best in the last smoother.
        """
        ridges = torch.zeros_like(v[:, 0], dtype=torch.long)
        residuals = []
        for smoother in smoothers:
            residual, ridges = smoother.residuals(v)
            residuals.append(residual)
        if not smoothers:
            residuals = [v] * _SMOOTHERS
        sds = [r.square().mean(1, keepdim=True).sqrt().clamp(1e-3, 1.5) for r in residuals]
        explained = 1 - torch.cat(sds, dim=1).amin(dim=1).square().clamp(max=1)
        if not self.config.residual_channels:
            return v[..., None], explained, ridges
        scaled = [r / sd for r, sd in zip(residuals, sds, strict=True)]
        logs = [sd.log().expand_as(v) for sd in sds]
        return torch.stack([v, *scaled, *logs], dim=-1), explained, ridges

    def _residualise(
        self,
        features: Float[Tensor, "batch n k"],
        smoothers: tuple[Smoother, ...],
        ridges: Int[Tensor, "batch columns"],
    ) -> Float[Tensor, "batch n k"]:
        """Takes from the features what Z tells of them, so that their conditional mean is nil."""
        if not smoothers:
            return features - features.mean(dim=1, keepdim=True)
        # All features of a column are smoothed as much as its values ask for.
        per_column = features.shape[2] // ridges.shape[1]
        return features - smoothers[-1].smooth(features, ridges.repeat_interleave(per_column, 1))
