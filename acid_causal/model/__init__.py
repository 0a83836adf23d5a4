"""The network: smoothers, attention, encoder, heads, and ACID itself."""

from acid_causal.model.acid import ACIDModel, Conditioning, TargetEncoding
from acid_causal.model.config import ModelConfig

__all__ = ["ACIDModel", "Conditioning", "ModelConfig", "TargetEncoding"]
