"""The result of a test."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from acid_causal.errors import check_level
from acid_causal.options import defaults


@dataclass(frozen=True)
class CITestResult:
    """The answer to one question.

    How it works: the p-value decides, and the statistic ranks questions with equal p-values. The
    names in `unlike_training` say why the p-value may not hold for this question.

    Limitations: the statistic grows with the rows, so it compares only questions about one table.
    An empty `unlike_training` is no guarantee: smooth functions that raise the Type I error to .12
    raise no warning.

    Attributes:
        statistic: the network's logit of dependence; -inf if a tested variable is constant or a
            function of the conditioning set.
        pvalue: probability of a statistic at least as large under H0, in [0, 1].
        log_pvalue: its logarithm, finite also where the p-value underflows.
        probability: of dependence, with prior probability 1/2: the logistic of the statistic.
        n: number of rows used by the test.
        unlike_training: kinds of difference between the question and those on which the network
            was trained and its null fitted; empty if there is none. The kinds are listed in
            `acid_causal.inference.applicability`.
        distance: distance of X and Y given Z from the variables of training, in units of the
            distance that one target in a thousand exceeds there; None if the weights file has no
            reference, or the statistic is -inf.
        null: name of the null distribution that the p-value comes from: "conditional", "sized",
            "pooled" or "permutation"; "none" if the statistic is -inf. With `null="checked"` it
            tells whether the question was checked.
        draws: permutations drawn; 0 if the p-value is of a fitted null.
    """

    statistic: float
    pvalue: float
    log_pvalue: float
    probability: float
    n: int
    unlike_training: tuple[str, ...] = ()
    distance: float | None = None
    null: str = "none"
    draws: int = 0

    def __iter__(self) -> Iterator[float]:
        """Yields the statistic and the p-value, as scipy's: `statistic, pvalue = result`."""
        yield self.statistic
        yield self.pvalue

    def reject(self, alpha: float = defaults.ALPHA) -> bool:
        """Returns whether independence is rejected: whether the p-value is at most alpha.

        Args:
            alpha: level of the test, in (0, 1).

        Raises:
            OptionError: alpha is outside (0, 1).
        """
        return self.pvalue <= check_level(alpha)


def independent_result(n: int) -> CITestResult:
    """Returns p = 1 for n rows: a variable is constant, or a function of the conditioning set."""
    return CITestResult(-math.inf, 1.0, 0.0, 0.0, n)
