"""What a test answers."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from acid_causal import defaults
from acid_causal.errors import require


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

    def __iter__(self) -> Iterator[float]:
        """Yields the statistic and the p-value: `statistic, pvalue = result`, as of scipy's."""
        yield self.statistic
        yield self.pvalue

    def reject(self, alpha: float = defaults.ALPHA) -> bool:
        """Says whether independence is rejected: whether the p-value is at most alpha.

        Args:
            alpha: level of the test, in (0, 1).

        Raises:
            OptionError: another level.
        """
        require(0 < alpha < 1, "alpha", alpha, "between 0 and 1")
        return self.pvalue <= alpha


def nothing_could_depend(n: int) -> CITestResult:
    """The answer of n rows where a variable is constant, or known from the conditioning set."""
    return CITestResult(-math.inf, 1.0, 0.0, 0.0, n)
