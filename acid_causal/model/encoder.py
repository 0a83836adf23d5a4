"""The encoder: attention over the dimensions of a sample, and over the samples of a column.

Tokens have their samples last; see `acid_causal.model.attention`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from acid_causal.model.attention import FeedForward, MHAttn, TokenNorm
from acid_causal.model.config import ModelConfig


@dataclass(frozen=True)
class ZContext:
    """Keys and values of Z's tokens in one layer, to which targets attend sample by sample."""

    key: Float[Tensor, "batch e d_z n"]
    value: Float[Tensor, "batch e d_z n"]

    def __getitem__(self, sets: slice) -> "ZContext":
        """Selects some of a batch of sets, without a copy."""
        return ZContext(self.key[sets], self.value[sets])

    @staticmethod
    def concatenate(contexts: "Sequence[ZContext]") -> "ZContext":
        """Joins the contexts of several sets."""
        if len(contexts) == 1:
            return contexts[0]
        keys, values = [c.key for c in contexts], [c.value for c in contexts]
        return ZContext(torch.cat(keys), torch.cat(values))


class Layer(nn.Module):
    """One layer: the sum of a skip connection and up to three attentions, then an FFN.

    X and Y share their weights; Z has separate ones.
    """

    def __init__(self, config: ModelConfig, *, updates_z: bool) -> None:
        super().__init__()
        e, heads, dropout = config.e, config.attention_heads, config.dropout
        self.over_dims = MHAttn(e, heads, dropout)
        self.to_z = MHAttn(e, heads, dropout)
        self.over_samples = MHAttn(e, heads, dropout) if config.sample_attention else None
        self.norm, self.ffn = TokenNorm(e), FeedForward(e, 2 * e, e)
        self.updates_z = updates_z
        if updates_z:
            self.z_over_dims = MHAttn(e, heads, dropout)
            self.z_over_samples = MHAttn(e, heads, dropout) if config.sample_attention else None
            self.z_norm, self.z_ffn = TokenNorm(e), FeedForward(e, 2 * e, e)

    def z_step(
        self, z: Float[Tensor, "batch e d_z n"]
    ) -> tuple[ZContext, Float[Tensor, "batch e d_z n"]]:
        """Returns the context of this layer for targets, and Z for the next layer."""
        context = ZContext(*self.to_z.keys_values(z))
        if not self.updates_z:
            return context, z
        h = z + self.z_over_dims(z, z)
        if self.z_over_samples is not None:
            h = h + self.z_over_samples.over_samples(z)
        return context, h + self.z_ffn(self.z_norm(h))

    def target_step(
        self, x: Float[Tensor, "batch e columns n"], d: int, context: ZContext | None
    ) -> Float[Tensor, "batch e columns n"]:
        """Updates targets of d columns each; a target attends to its own columns and to Z."""
        h = x + self._over_dims(x, d)
        if context is not None:
            h = h + self.to_z.attend(x, context.key, context.value)
        if self.over_samples is not None:
            h = h + self.over_samples.over_samples(x)
        return h + self.ffn(self.norm(h))

    def _over_dims(
        self, x: Float[Tensor, "batch e columns n"], d: int
    ) -> Float[Tensor, "batch e columns n"]:
        if d == 1:
            return self.over_dims.to_itself(x)
        batch = len(x)
        targets = x.unflatten(2, (-1, d)).transpose(1, 2).flatten(0, 1)  # (batch * t, e, d, n)
        attended = self.over_dims(targets, targets)
        return attended.unflatten(0, (batch, -1)).transpose(1, 2).flatten(2, 3)


class Encoder(nn.Module):
    """L layers. Z goes through them once; any number of targets then reuse its contexts."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        last = config.layers - 1
        self.layers = nn.ModuleList(Layer(config, updates_z=k < last) for k in range(config.layers))

    def encode_z(self, z: Float[Tensor, "batch e d_z n"]) -> tuple[ZContext, ...]:
        """Runs Z through the layers; empty when d_z = 0."""
        if z.shape[2] == 0:
            return ()
        contexts = []
        for layer in self._layers():
            context, z = layer.z_step(z)
            contexts.append(context)
        return tuple(contexts)

    def encode_targets(
        self, x: Float[Tensor, "batch e columns n"], d: int, contexts: tuple[ZContext, ...]
    ) -> Float[Tensor, "batch e columns n"]:
        """Runs targets of d columns each through the layers."""
        for k, layer in enumerate(self._layers()):
            x = layer.target_step(x, d, contexts[k] if contexts else None)
        return x

    def _layers(self) -> Iterator[Layer]:
        for layer in self.layers:
            assert isinstance(layer, Layer)
            yield layer
