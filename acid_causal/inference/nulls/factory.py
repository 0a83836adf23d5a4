"""Null distributions by name. To add one: a class with the interface `Null`, and a line below."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from acid_causal.calibration.null import FittedNull
from acid_causal.errors import unknown
from acid_causal.inference.encoding_cache import EncodedQuestions
from acid_causal.inference.nulls.checked import CheckedNull
from acid_causal.inference.nulls.interface import Array, Null, PValues
from acid_causal.inference.nulls.permutation import PermutationNull
from acid_causal.model import ACIDModel
from acid_causal.options.choices import FITTED, NULLS, RESAMPLING
from acid_causal.weights.checkpoint import TrainedModel


def make_null(
    name: str,
    model: TrainedModel,
    network: ACIDModel,
    *,
    permutations: int,
    alpha: float,
    draws: int | None,
    batch_entries: int,
) -> Null:
    """Builds a null distribution by its name.

    Args:
        name: one of `acid_causal.options.choices.NULLS`.
        model: holds the fitted nulls.
        network: the model's network, on the device of the rows.
        permutations: draws for each question; only used by the permutation null.
        alpha: level at which one decides; used by the checked null, and by that of permutation to
            refuse so few draws that no p-value could reach it.
        draws: most draws of the checked null for each question; None: as many as suit alpha.
        batch_entries: scalars of permuted copies encoded at once; bounds memory.

    Raises:
        OptionError: no such null; the model's file lacks it; too few permutations or draws.
    """
    if name in FITTED:
        return Fitted(name, model.null.fitted(name))
    if name == "checked":
        return CheckedNull(model, network, alpha=alpha, draws=draws, batch_entries=batch_entries)
    if name == "permutation":
        return PermutationNull(network, permutations, alpha, batch_entries)
    raise unknown("null", name, NULLS)


def takes_level(name: object) -> bool:
    """Says whether a null is made for a level, where no tester has been made that could say it.

    Args:
        name: one of `acid_causal.options.choices.NULLS`; False for anything else, which `Tester`
            refuses.
    """
    return isinstance(name, str) and name in RESAMPLING


class Fitted:
    """A fitted null from the weights file.

    Args:
        name: its name.
        null: the fitted null.
    """

    options: Mapping[str, float] = MappingProxyType({})
    least_alpha = 0.0
    at_one_level = False
    cost = 1
    beyond_training = (
        'its p-values are extrapolated; null="checked" checks rejections by permuting the rows'
    )
    needs_predictions = False

    def __init__(self, name: str, null: FittedNull) -> None:
        self._name, self._null = name, null

    def pvalues(self, questions: EncodedQuestions, statistic: Float[Array, " m"]) -> PValues:
        """See `Null`."""
        log_p = self._null.logsf(statistic, questions.facts)
        draws = np.zeros(len(log_p), dtype=np.int64)
        return PValues(np.exp(log_p), log_p, draws, [self._name] * len(log_p))
