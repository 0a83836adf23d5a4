"""The conditional independence tests that are compared, each as `(x, y, z) -> p-value`."""

from benchmarks.methods.method import Method, Question
from benchmarks.methods.registry import (
    AS_IN_THE_PAPER,
    DEFAULT_MODEL,
    get_method,
    pick,
    weights_sha256,
)

__all__ = [
    "AS_IN_THE_PAPER",
    "DEFAULT_MODEL",
    "Method",
    "Question",
    "get_method",
    "pick",
    "weights_sha256",
]
