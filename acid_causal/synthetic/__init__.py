"""Synthetic data with known labels: structure x mechanism x noise."""

from acid_causal.synthetic.datasets import (
    NULL_STREAMS,
    QUESTION_DOMAINS,
    LabelledDatasets,
    null_datasets,
    random_dag_questions,
    six_models,
)
from acid_causal.synthetic.stream import Batch, Stream, StreamConfig

__all__ = [
    "NULL_STREAMS",
    "QUESTION_DOMAINS",
    "Batch",
    "LabelledDatasets",
    "Stream",
    "StreamConfig",
    "null_datasets",
    "random_dag_questions",
    "six_models",
]
