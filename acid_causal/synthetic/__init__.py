"""Synthetic data with known labels: structure x mechanism x noise."""

from acid_causal.synthetic.datasets import (
    KINDS_OF_PAIRS,
    KINDS_OF_Z,
    NULL_STREAMS,
    QUESTION_DOMAINS,
    LabelledDatasets,
    null_datasets,
    null_datasets_of_kinds,
    random_dag_questions,
    six_models,
)
from acid_causal.synthetic.stream import Batch, Stream, StreamConfig

__all__ = [
    "KINDS_OF_PAIRS",
    "KINDS_OF_Z",
    "NULL_STREAMS",
    "QUESTION_DOMAINS",
    "Batch",
    "LabelledDatasets",
    "Stream",
    "StreamConfig",
    "null_datasets",
    "null_datasets_of_kinds",
    "random_dag_questions",
    "six_models",
]
