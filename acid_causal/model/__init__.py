"""The ACID network: regressions on Z, attention, encoder, heads and classifier."""

from acid_causal.model.acid import ACIDModel, Conditioning, TargetEncoding
from acid_causal.model.config import ModelConfig
from acid_causal.model.layout import Layout

__all__ = ["ACIDModel", "Conditioning", "Layout", "ModelConfig", "TargetEncoding"]
