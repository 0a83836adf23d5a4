"""What every kind of null can do."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.inference.encoding_cache import EncodedQuestions

Array = NDArray[np.float64]


class PValues(NamedTuple):
    """The p-values of m questions.

    Attributes:
        p: the p-values.
        log_p: their logarithms, finite where a p-value underflows.
    """

    p: Float[Array, " m"]
    log_p: Float[Array, " m"]


@runtime_checkable
class Null(Protocol):
    """Gives p-values to questions whose statistics are known."""

    @property
    def options(self) -> Mapping[str, int]:
        """The options that its p-values depend on, besides data and weights, by name."""

    @property
    def beyond_training(self) -> str:
        """What it means for a p-value that a question is unlike those of training; for warnings."""

    def pvalues(self, questions: EncodedQuestions, statistic: Float[Array, " m"]) -> PValues:
        """Computes the p-values of m questions."""
