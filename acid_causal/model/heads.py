"""Interdependence heads: how two encoded targets are compared.

A head lifts each entry to `heads x width` features when a target is encoded, and compares the
features of two targets when a question is asked. It is symmetric in X and Y and in the rows.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from acid_causal.model.attention import FeedForward
from acid_causal.model.config import ModelConfig

Features = Float[Tensor, "m n d heads width"]


class PaperHead(nn.Module):
    """The paper's head: squared dot products, averaged over rows, maximal over pairs."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.statistics = config.head_count, config.head_count
        width = config.head_width
        self.lift = FeedForward(config.e, 2 * config.e, config.head_count * width)

    def features(self, x: Float[Tensor, "*rows e"]) -> Float[Tensor, "*rows features"]:
        """Lifts entries to the features of all heads."""
        return self.lift(x)

    def compare(self, x: Features, y: Features) -> Float[Tensor, "m statistics"]:
        """Computes one statistic a head for each of m pairs of targets."""
        dots = torch.einsum("mnihf,mnjhf->mnijh", x, y) / math.sqrt(x.shape[-1])
        return dots.square().mean(dim=1).amax(dim=(1, 2))


class CrossCovarianceHead(nn.Module):
    """Studentised cross-covariance of features.

    For one head and one pair of dimensions let w_i be the outer product of the two feature vectors
    in row i, flattened. Under H0, where the features' conditional means given Z are nil,

        t = sum_{i != j} w_i . w_j / n   has mean 0 and variance 2 |M|_F^2,   M = sum_i w_i w_i' / n

    whatever n is and however the features' spread depends on Z. Passed on are asinh(t / sd) and, as
    a size of effect, the log of |mean w|^2 over the features' own spread.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.statistics = config.head_count, 2 * config.head_count
        self.lift = FeedForward(config.e, 2 * config.e, config.head_count * config.head_width)

    def features(self, x: Float[Tensor, "*rows e"]) -> Float[Tensor, "*rows features"]:
        """Lifts entries to the features of all heads."""
        return self.lift(x)

    def compare(self, x: Features, y: Features) -> Float[Tensor, "m statistics"]:
        """Computes two statistics a head for each of m pairs of targets."""
        n = x.shape[1]
        # (m, d_x, d_y, heads, n, width^2)
        w = torch.einsum("mnihf,mnjhg->mijhnfg", x, y).flatten(-2)
        mean = w.mean(dim=-2)
        second = w.mT @ w / n
        size = mean.square().sum(-1)
        trace = second.diagonal(dim1=-2, dim2=-1).sum(-1)
        spread = second.square().sum((-1, -2)).clamp(min=1e-20).sqrt()
        t = (n * size - trace) / (math.sqrt(2) * spread)
        effect = torch.log(size / trace.clamp(min=1e-10) + 1e-6)
        studentised = torch.asinh(t).amax(dim=(1, 2))
        return torch.cat([studentised, effect.amax(dim=(1, 2))], dim=-1)


def make_head(config: ModelConfig) -> PaperHead | CrossCovarianceHead:
    """Builds the head that a configuration names."""
    return PaperHead(config) if config.head == "paper" else CrossCovarianceHead(config)
