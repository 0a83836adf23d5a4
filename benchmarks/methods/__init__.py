"""The conditional independence tests that are compared, each as `(x, y, z) -> p-value`."""

from benchmarks.methods.method import Method, Question
from benchmarks.methods.registry import (
    AS_IN_THE_PAPER,
    CHECKED,
    DEFAULT_MODEL,
    FAST,
    PERMUTATION,
    get_method,
    pick,
    weights_sha256,
)

__all__ = [
    "AS_IN_THE_PAPER",
    "CHECKED",
    "DEFAULT_MODEL",
    "FAST",
    "PERMUTATION",
    "Method",
    "Question",
    "get_method",
    "pick",
    "weights_sha256",
]
