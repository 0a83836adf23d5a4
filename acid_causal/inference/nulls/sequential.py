"""How many draws a permutation test needs, and the p-value of where it stopped.

Draws are made in stages. After each the test stops if few or many of the draws so far have reached
the observed statistic: the decision is then unlikely to change. If independence holds, the number
of draws that reach the statistic is uniform on 0, ..., B for any B, since the observed statistic
and those drawn are exchangeable. So the law of the point at which the test stops is known exactly,
and so is the p-value: the probability of that point and of all that speak more against independence
(earlier rejections and fewer draws that reach the statistic). It is valid at every level.

At alpha = .05 with 199 draws, independence is mostly seen after 9 draws, and strong dependence
after 39. The decision differs from that of all 199 draws with probability .1 at most, if the
p-value of infinitely many draws is near alpha; below .01 and above .12 with less than .01.

References:
    Besag, Clifford (1991), Sequential Monte Carlo p-values.
    Fay, Kim, Hachey (2007), On using truncated sequential probability ratio test boundaries for
    Monte Carlo implementation of hypothesis tests.
    Gandy (2009), Sequential implementation of Monte Carlo tests with uniformly bounded resampling
    risk.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from acid_causal.errors import check_level, whole_number

# The stages end after these multiples of 1 / alpha draws, less one; the last one is the default.
_STAGES = (0.5, 2.0, 4.0, 7.0)
_MOST = 10.0
# A stage stops the test if the other decision has less than this probability: given the draws so
# far, and a p-value of infinitely many draws that is uniform. Rejections stop sooner, since to
# reject takes many draws in any case.
_REJECTING, _ACCEPTING = 0.15, 0.03


@dataclass(frozen=True)
class Stage:
    """A stage of the draws, and when it ends the test.

    Attributes:
        draws: draws made at its end, since the beginning.
        reject: the test stops if at most this many of them reach the statistic; -1: never.
        accept: it stops if at least this many do.
    """

    draws: int
    reject: int
    accept: int


@dataclass(frozen=True)
class DrawPlan:
    """The stages of a permutation test.

    Attributes:
        alpha: level at which the decision is made.
        draws: the most draws, B; the test needs 1 / alpha - 1 at least to reject at all.
    """

    alpha: float
    draws: int

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages; the last one ends with all draws and stops the test in any case."""
        found: list[Stage] = []
        for draws in (math.ceil(k / self.alpha - 1e-9) - 1 for k in _STAGES):
            if 0 < draws < self.draws:
                found.append(self._stage(draws))
        return (*found, Stage(self.draws, self.draws, self.draws + 1))

    def pvalue(self, stage: int, reached: int) -> float:
        """Returns the p-value of a test that has stopped.

        Args:
            stage: index of the stage at whose end it stopped.
            reached: draws up to then whose statistic is at least the one observed.
        """
        return self._pvalues[stage, reached]

    def _stage(self, draws: int) -> Stage:
        from scipy.stats import beta  # slow to import, and only the checked null needs it

        reached = np.arange(draws + 1)
        rejected = beta.cdf(self.alpha, reached + 1, draws - reached + 1)  # decreases
        reject = int((1 - rejected <= _REJECTING).sum()) - 1
        accept = int((rejected > _ACCEPTING).sum())
        # With one draw more at the end than at this stage, the stage alone must not exceed alpha.
        reject = min(reject, math.floor(self.alpha * (draws + 1) + 1e-9) - 1)
        return Stage(draws, reject, max(accept, reject + 1))

    @cached_property
    def _pvalues(self) -> dict[tuple[int, int], float]:
        """The p-value of each point at which the test can stop."""
        law = dict(self._law())
        last = len(self.stages) - 1

        def against(point: tuple[int, int]) -> tuple[int, int, int]:
            """Sorts points, the strongest evidence against independence first."""
            stage, reached = point
            if stage == last:
                return (1, 0, reached)
            if reached <= self.stages[stage].reject:
                return (0, stage, reached)
            return (2, -stage, reached)

        order = sorted(law, key=against)
        total = np.cumsum([law[point] for point in order])
        # Multiples of 1 / (1 + draws) without rounding errors: 1 / 20 must not exceed .05.
        return {p: min(round(float(t), 12), 1.0) for p, t in zip(order, total, strict=True)}

    def _law(self) -> Iterator[tuple[tuple[int, int], float]]:
        """Yields each point at which the test can stop, with its probability under H0."""
        from scipy.stats import betabinom

        going, before = {0: 1.0}, 0
        for k, stage in enumerate(self.stages):
            more = stage.draws - before
            chance = np.zeros(stage.draws + 1)
            for reached, weight in going.items():
                # The chance that further draws reach the statistic, given those before.
                parameters = (more, reached + 1, before - reached + 1)
                chance[reached : reached + more + 1] += weight * betabinom.pmf(
                    np.arange(more + 1), *parameters
                )
            stops = [r <= stage.reject or r >= stage.accept for r in range(stage.draws + 1)]
            yield from (((k, r), float(chance[r])) for r in np.flatnonzero(stops).tolist())
            going = {r: float(chance[r]) for r in np.flatnonzero(~np.array(stops)).tolist()}
            before = stage.draws


def make_plan(alpha: float, draws: int | None) -> DrawPlan:
    """Makes the plan of a test that stops early.

    Args:
        alpha: level at which it decides.
        draws: the most draws; None: 10 / alpha - 1, which is 199 at alpha = .05.

    Raises:
        OptionError: alpha is outside (0, 1), or the draws are too few to reject at it.
    """
    alpha = check_level(alpha)
    if draws is None:
        draws = max(1, math.ceil(_MOST / alpha - 1e-9) - 1)
    note = f" at alpha = {alpha:g}"
    return DrawPlan(alpha, whole_number("draws", draws, fewest_draws(alpha), note))


def fewest_draws(alpha: float) -> int:
    """Returns with how many draws the smallest p-value, 1 / (1 + draws), is at most alpha."""
    return max(1, math.ceil(1 / alpha - 1e-9) - 1)
