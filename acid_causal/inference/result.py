"""What a test answers."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class CITestResult:
    """The answer to one question.

    Attributes:
        statistic: the network's logit of dependence; -inf where nothing could depend.
        pvalue: chance of a statistic at least as large under H0, in [0, 1].
        log_pvalue: its logarithm, finite where the p-value underflows.
        probability: of dependence where it is as common as independence: the statistic's logistic.
        n: rows that entered the test.
        unlike_training: in what the question is unlike those that the network was trained and its
            null fitted on; empty if in nothing. For the kinds see
            `acid_causal.inference.applicability`.
        distance: how far X and Y given Z look from training, in units of the distance that one
            question in a thousand of training exceeds; None if the weights file does not say what
            training looked like, or where nothing could depend.
    """

    statistic: float
    pvalue: float
    log_pvalue: float
    probability: float
    n: int
    unlike_training: tuple[str, ...] = ()
    distance: float | None = None

    @classmethod
    def independent(cls, n: int) -> "CITestResult":
        """The answer where nothing could depend."""
        return cls(-math.inf, 1.0, 0.0, 0.0, n)
