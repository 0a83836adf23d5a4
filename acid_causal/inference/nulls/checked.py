"""The checked null: a fitted null whose rejections are checked by permutation.

Where the fitted null does not reject at alpha, its p-value is returned. Every other p-value is
drawn from the user's own table, in stages that end as soon as the decision at alpha is clear. So
independence is rejected at alpha only where both nulls reject it, and the level holds if one of
them holds its level.

One kind of rejection is not checked. Without Z and with hardly any ties the statistic depends on
ranks alone, so that under H0 it has one distribution whatever the table. The fitted null knows it
up to the error of the fit, which is far below the factor of three by which the p-value must be
below alpha.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from acid_causal.calibration.null import FittedNull
from acid_causal.inference.batching import Task
from acid_causal.inference.encoding_cache import EncodedQuestions
from acid_causal.inference.nulls.interface import Array, PValues
from acid_causal.inference.nulls.permuted_encodings import PermutedEncodings
from acid_causal.inference.nulls.sequential import make_plan
from acid_causal.inference.rows.rows import Rows
from acid_causal.model import ACIDModel
from acid_causal.weights.checkpoint import TrainedModel

# Without Z and ties, fitted p-values below this multiple of alpha are not checked.
_SURE = 1 / 3
# There are hardly any ties if two rows have equal values with at most this probability.
_TIES = 0.01
# Scalars that are permuted at once, in units of `batch_entries`.
_AT_ONCE = 64


class CheckedNull:
    """Checks would-be rejections of a fitted null by permutation.

    Args:
        model: the model, whose default null is checked.
        network: its network, on the device of the rows.
        alpha: level at which decisions are made.
        draws: the most draws for each question; None: 10 / alpha - 1.
        batch_entries: bound on the scalars encoded at once.

    Raises:
        OptionError: an alpha outside (0, 1), or too few draws for it.
    """

    at_one_level = True
    # Few questions are checked, and most of these stop early.
    cost = 1
    beyond_training = "its rejections are checked by permuting the table's own rows"
    needs_predictions = True

    def __init__(
        self,
        model: TrainedModel,
        network: ACIDModel,
        *,
        alpha: float,
        draws: int | None,
        batch_entries: int,
    ) -> None:
        self._name, self._network = model.default_null, network
        self._fitted: FittedNull = model.null.fitted(self._name)
        self._known_n = range(model.recipe.stream.n[0], model.null.largest_n + 1)
        self._plan = make_plan(alpha, draws)
        self._entries = _AT_ONCE * batch_entries

    @property
    def options(self) -> Mapping[str, float]:
        """The level and the most draws."""
        return MappingProxyType({"alpha": self._plan.alpha, "draws": self._plan.draws})

    @property
    def least_alpha(self) -> float:
        """Its level: draws end when the decision there is clear, and not yet below it."""
        return self._plan.alpha

    def pvalues(self, questions: EncodedQuestions, statistic: Float[Array, " m"]) -> PValues:
        """See `Null`."""
        log_p = self._fitted.logsf(statistic, questions.facts)
        p = np.exp(log_p)
        draws = np.zeros(len(p), dtype=np.int64)
        doubtful = np.flatnonzero(p <= self._plan.alpha)
        sure = [self._is_sure(questions.tasks[k], p[k], questions.rows) for k in doubtful.tolist()]
        doubtful = doubtful[~np.array(sure, dtype=bool)]
        if len(doubtful):
            p[doubtful], draws[doubtful] = self._check(questions, doubtful.tolist())
            log_p[doubtful] = np.log(p[doubtful])
        names = np.where(draws > 0, "permutation", self._name)
        return PValues(p, log_p, draws, names.tolist())

    def _is_sure(self, task: Task, pvalue: float, rows: Rows) -> bool:
        """Returns whether a rejection needs no check: the fitted null is that of every table."""
        tie_chance = rows.measures.tie_chance
        return bool(
            not task.cond
            and pvalue <= _SURE * self._plan.alpha
            and len(task.x) == len(task.y) == 1
            and rows.n in self._known_n
            and self._network.config.transform != "standardise"
            and max(tie_chance(task.x[0]), tie_chance(task.y[0])) <= _TIES
        )

    def _check(
        self, questions: EncodedQuestions, doubtful: list[int]
    ) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        """Returns the p-values of doubtful questions by permutation, and the draws made."""
        copies = PermutedEncodings(self._network, questions, doubtful, self._entries)
        reached = np.zeros(len(doubtful), dtype=np.int64)
        p, draws = np.ones(len(doubtful)), np.zeros(len(doubtful))
        going, before = np.arange(len(doubtful)), 0
        for k, stage in enumerate(self._plan.stages):
            reached[going] += copies.count(going.tolist(), range(before, stage.draws))
            stops = (reached[going] <= stage.reject) | (reached[going] >= stage.accept)
            for one in going[stops]:
                p[one], draws[one] = self._plan.pvalue(k, int(reached[one])), stage.draws
            going, before = going[~stops], stage.draws
            if not len(going):
                break
        return p, draws
