"""The classifier of a model that keeps the user's scale: more evidence never means less.

It is monotone in every statistic that it is given, and unbounded: what rows of the same population
add, and what a stronger dependence adds, reaches the logit.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

_HIDDEN = 48
# The learned part of the logit stays within this; what grows with n is added to it.
_BOUND = 6.0
# In training the whole logit stays within this, so that no single question rules a batch.
_TRAINING_BOUND = 10.0


@dataclass(frozen=True)
class Evidence:
    """What two targets' comparison says, and what is known beforehand.

    Attributes:
        t: studentised statistics, of mean about 0 and variance about 1 under H0.
        effect: logs of the sizes of the effects.
        facts: what is known beforehand: how much Z explains, n and the size of Z.
        n: number of rows.
    """

    t: Float[Tensor, "*questions statistics"]
    effect: Float[Tensor, "*questions statistics"]
    facts: Float[Tensor, "*questions facts"]
    n: int


class MonotoneClassifier(nn.Module):
    """The logit of dependence: a bounded network, monotone in the evidence, and a sum that grows.

    The sum is of `sqrt(n) (e - allowance)+`, e the size of an effect as a correlation, without what
    chance adds to it. The allowance is what a regression's bias may leave, which is learned and
    depends on how much Z explains.

    Args:
        statistics: how many statistics are compared.
        facts: how many facts are known.
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
        # t = (n e^2 / v - 1) / sqrt(2): without the 1 it is what chance does not add.
        effect = (math.sqrt(2) * evidence.t.clamp(min=1e-6) / evidence.n).sqrt()
        beyond = (effect - softplus(self.allowance(evidence.facts))).clamp(min=0)
        return math.sqrt(evidence.n) * (beyond @ torch.softmax(self.share, dim=0))


def _increasing(linear: nn.Linear, x: Tensor) -> Tensor:
    """Applies a linear map with the absolute values of its weights."""
    return nn.functional.linear(x, linear.weight.abs(), linear.bias)
