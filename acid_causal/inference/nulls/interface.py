"""The interface of null distributions."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int64
from numpy.typing import NDArray

from acid_causal.inference.encoding_cache import EncodedQuestions

Array = NDArray[np.float64]


class PValues(NamedTuple):
    """The p-values of m questions.

    Attributes:
        p: the p-values.
        log_p: their logarithms, finite also where a p-value underflows.
        draws: permutations drawn for each question.
        sources: name of the null distribution that each p-value comes from.
    """

    p: Float[Array, " m"]
    log_p: Float[Array, " m"]
    draws: Int64[NDArray[np.int64], " m"]
    sources: Sequence[str]


@runtime_checkable
class Null(Protocol):
    """Computes p-values from statistics."""

    @property
    def options(self) -> Mapping[str, float]:
        """The options, by name, that its p-values depend on besides data and weights."""

    @property
    def least_alpha(self) -> float:
        """Smallest level at which its p-values may be used; 0 if they may at every level."""

    @property
    def at_one_level(self) -> bool:
        """Whether decisions hold at that level alone, and not at larger ones."""

    @property
    def cost(self) -> int:
        """Time of a question, in units of that with a fitted null."""

    @property
    def beyond_training(self) -> str:
        """Part of a warning: what a question unlike training means for its p-value."""

    @property
    def needs_predictions(self) -> bool:
        """Whether encodings must hold what Z predicts of a variable."""

    def pvalues(self, questions: EncodedQuestions, statistic: Float[Array, " m"]) -> PValues:
        """Computes the p-values of m questions."""
