"""Null distributions by name. To add one: a class with the interface `Null`, and a line below."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from acid_causal.calibration.null import FittedNull
from acid_causal.choices import FITTED, NULLS
from acid_causal.errors import unknown
from acid_causal.inference.encoding_cache import EncodedQuestions
from acid_causal.inference.nulls.interface import Array, Null, PValues
from acid_causal.inference.nulls.permutation import PermutationNull
from acid_causal.model import ACIDModel
from acid_causal.weights.checkpoint import TrainedModel


def make_null(
    name: str, model: TrainedModel, network: ACIDModel, *, permutations: int, batch_entries: int
) -> Null:
    """Builds a null distribution by its name.

    Args:
        name: one of `acid_causal.choices.NULLS`.
        model: holds the fitted nulls.
        network: the model's network, on the device of the rows.
        permutations: draws for each question; only used by the permutation null.
        batch_entries: scalars of permuted copies encoded at once; bounds memory.

    Raises:
        OptionError: no such null; the model's file lacks it; too few permutations.
    """
    if name in FITTED:
        return Fitted(model.null.fitted(name))
    if name == "permutation":
        return PermutationNull(network, permutations, batch_entries)
    raise unknown("null", name, NULLS)


class Fitted:
    """A fitted null from the weights file.

    Args:
        null: the fitted null.
    """

    options: Mapping[str, int] = MappingProxyType({})
    beyond_training = 'its p-values are extrapolated; null="permutation" draws them from the data'

    def __init__(self, null: FittedNull) -> None:
        self._null = null

    def pvalues(self, questions: EncodedQuestions, statistic: Float[Array, " m"]) -> PValues:
        """See `Null`."""
        log_p = self._null.logsf(statistic, questions.facts)
        return PValues(np.exp(log_p), log_p)
