"""The classifier of models with `keeps_values`: monotone in every statistic, and unbounded.

A larger statistic never lowers the logit, and the logit keeps growing with the number of rows and
with the strength of the dependence.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

_HIDDEN = 48
# Bound on the learned part of the logit; the part that grows with n is added to it.
_BOUND = 6.0
# Bound on the whole logit in training, so that no single question dominates a batch.
_TRAINING_BOUND = 10.0


@dataclass(frozen=True)
class Evidence:
    """Statistics of the comparison of two targets, and the facts of the question.

    Attributes:
        t: studentised statistics, of mean about 0 and variance about 1 under H0.
        effect: logs of effect sizes.
        facts: explained and nonlinear shares of X and Y, n and d_z; with `category_facts` also the
            number of pairs of components, and how many of X and Y are categories.
        n: number of rows.
    """

    t: Float[Tensor, "*questions statistics"]
    effect: Float[Tensor, "*questions statistics"]
    facts: Float[Tensor, "*questions facts"]
    n: int


class MonotoneClassifier(nn.Module):
    """Computes the logit of dependence: a bounded monotone network plus an unbounded sum.

    The terms of the sum are `sqrt(n) max(0, e - allowance)`. Here e is an effect size on the scale
    of a correlation, corrected for its expectation under H0. The allowance covers effects that come
    from the bias of the regressions; it is learned as a function of the facts.

    Args:
        statistics: number of statistics.
        facts: number of facts.
    """

    def __init__(self, statistics: int, facts: int) -> None:
        super().__init__()
        self.evidence = nn.Linear(2 * statistics, _HIDDEN)
        self.facts = nn.Linear(facts, _HIDDEN, bias=False)
        self.mixed = nn.Linear(_HIDDEN, _HIDDEN)
        self.out = nn.Linear(_HIDDEN, 1)
        self.prior = nn.Sequential(nn.Linear(facts, 32), nn.GELU(), nn.Linear(32, 1))
        self.share = nn.Parameter(torch.zeros(statistics))
        self.allowance = nn.Linear(facts, statistics)
        nn.init.zeros_(self.allowance.weight)
        nn.init.constant_(self.allowance.bias, math.log(math.expm1(0.1)))

    def forward(self, evidence: Evidence) -> Float[Tensor, " *questions"]:
        """Computes the logit of dependence."""
        t, facts = evidence.t, evidence.facts
        compared = torch.cat([torch.asinh(t), evidence.effect], dim=-1)
        hidden = torch.tanh(_increasing(self.evidence, compared) + self.facts(facts))
        hidden = torch.tanh(_increasing(self.mixed, hidden))
        learned = (_increasing(self.out, hidden) + self.prior(facts))[..., 0]
        logit = _BOUND * torch.tanh(learned / _BOUND) + self._growth(evidence)
        if self.training:
            logit = _TRAINING_BOUND * torch.tanh(logit / _TRAINING_BOUND)
        return logit

    def _growth(self, evidence: Evidence) -> Float[Tensor, " *questions"]:
        # t = (n e^2 / v - 1) / sqrt(2). Solved for e without the 1, its expectation under H0.
        effect = (math.sqrt(2) * evidence.t.clamp(min=1e-6) / evidence.n).sqrt()
        beyond = (effect - softplus(self.allowance(evidence.facts))).clamp(min=0)
        return math.sqrt(evidence.n) * (beyond @ torch.softmax(self.share, dim=0))


def _increasing(linear: nn.Linear, x: Tensor) -> Tensor:
    """Applies a linear map with the absolute values of its weights."""
    return nn.functional.linear(x, linear.weight.abs(), linear.bias)
