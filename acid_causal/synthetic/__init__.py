"""Synthetic data with known labels: structure x mechanism x noise."""

from acid_causal.synthetic.datasets import (
    NULL_STREAMS,
    LabelledDatasets,
    null_datasets,
    six_models,
)
from acid_causal.synthetic.stream import Batch, Stream, StreamConfig

__all__ = [
    "NULL_STREAMS",
    "Batch",
    "LabelledDatasets",
    "Stream",
    "StreamConfig",
    "null_datasets",
    "six_models",
]
