"""The encoder: attention over the dimensions of a row, and over the samples of a column."""

from collections.abc import Iterator
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from acid_causal.model.attention import FeedForward, MHAttn, over_samples
from acid_causal.model.config import ModelConfig


@dataclass(frozen=True)
class ZContext:
    """What targets read of Z in one layer: keys and values of its tokens, row by row."""

    key: Float[Tensor, "batch n d_z e"]
    value: Float[Tensor, "batch n d_z e"]


class Layer(nn.Module):
    """One layer: a skip connection and three attentions are summed, then an FFN.

    X and Y share weights; Z has its own.
    """

    def __init__(self, config: ModelConfig, *, updates_z: bool) -> None:
        super().__init__()
        e, heads, dropout = config.e, config.attention_heads, config.dropout
        self.over_dims = MHAttn(e, heads, dropout)
        self.to_z = MHAttn(e, heads, dropout)
        self.over_samples = MHAttn(e, heads, dropout) if config.sample_attention else None
        self.norm, self.ffn = nn.LayerNorm(e), FeedForward(e, 2 * e, e)
        self.updates_z = updates_z
        if updates_z:
            self.z_over_dims = MHAttn(e, heads, dropout)
            self.z_over_samples = MHAttn(e, heads, dropout) if config.sample_attention else None
            self.z_norm, self.z_ffn = nn.LayerNorm(e), FeedForward(e, 2 * e, e)

    def z_step(
        self, z: Float[Tensor, "batch n d_z e"]
    ) -> tuple[ZContext, Float[Tensor, "batch n d_z e"]]:
        """Returns what targets read in this layer, and Z for the next layer."""
        context = ZContext(*self.to_z.keys_values(z))
        if not self.updates_z:
            return context, z
        h = z + self.z_over_dims(z, z)
        if self.z_over_samples is not None:
            h = h + over_samples(self.z_over_samples, z)
        return context, h + self.z_ffn(self.z_norm(h))

    def target_step(
        self, x: Float[Tensor, "batch n t d_x e"], context: ZContext | None
    ) -> Float[Tensor, "batch n t d_x e"]:
        """Updates t targets, each of which sees itself and Z."""
        h = x + self.over_dims(x, x)
        if context is not None:
            columns = x.flatten(2, 3)
            attended = self.to_z.attend(columns, context.key, context.value)
            h = h + attended.view_as(x)
        if self.over_samples is not None:
            h = h + over_samples(self.over_samples, x.flatten(2, 3)).view_as(x)
        return h + self.ffn(self.norm(h))


class Encoder(nn.Module):
    """L layers, run for Z once and for any number of targets after it."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        last = config.layers - 1
        self.layers = nn.ModuleList(Layer(config, updates_z=k < last) for k in range(config.layers))

    def encode_z(self, z: Float[Tensor, "batch n d_z e"]) -> tuple[ZContext, ...]:
        """Runs Z through the layers; empty when d_z = 0."""
        if z.shape[2] == 0:
            return ()
        contexts = []
        for layer in self._layers():
            context, z = layer.z_step(z)
            contexts.append(context)
        return tuple(contexts)

    def encode_targets(
        self, x: Float[Tensor, "batch n t d_x e"], contexts: tuple[ZContext, ...]
    ) -> Float[Tensor, "batch n t d_x e"]:
        """Runs targets through the layers."""
        for k, layer in enumerate(self._layers()):
            x = layer.target_step(x, contexts[k] if contexts else None)
        return x

    def _layers(self) -> Iterator[Layer]:
        for layer in self.layers:
            assert isinstance(layer, Layer)
            yield layer
