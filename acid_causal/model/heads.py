"""Interdependence heads: how two encoded targets are compared.

A head lifts each entry to `heads x width` features when a target is encoded, and compares the
features of two targets when a question is asked, component by component; the largest of each
statistic counts. It is symmetric in X and Y and in the rows.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from acid_causal.model.attention import FeedForward
from acid_causal.model.blocks import row_blocks
from acid_causal.model.config import ModelConfig


@dataclass(frozen=True)
class Lifted:
    """Targets as a head compares them: m of them, of d components.

    Attributes:
        features: by head, so that a comparison is one product of matrices for each.
        norms: |features|^2 of each row.
        spread: what a comparison is studentised by.
    """

    features: Float[Tensor, "m d heads width n"]
    norms: Float[Tensor, "m d heads n"]
    spread: Float[Tensor, "m d heads"]

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.features.shape[4]


class PaperHead(nn.Module):
    """The paper's head: squared dot products, averaged over rows, maximal over pairs."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.statistics = config.head_count, config.head_count
        width = config.head_width
        self.lift = FeedForward(config.e, 2 * config.e, config.head_count * width)

    def features(
        self, x: Float[Tensor, "batch e columns n"]
    ) -> Float[Tensor, "batch features columns n"]:
        """Lifts tokens to the features of all heads."""
        return self.lift(x)

    def spread(self, features: Float[Tensor, "m d heads width n"]) -> Float[Tensor, "m d heads"]:
        """The paper's head does not studentise: ones."""
        return features.new_ones(features.shape[:3])

    def compare(self, x: Lifted, y: Lifted) -> Float[Tensor, "m d_x d_y statistics"]:
        """Computes one statistic a head for m pairs of targets, for each pair of components."""
        width = x.features.shape[3]
        dots = (x.features[:, :, None] * y.features[:, None]).sum(4) / math.sqrt(width)
        return dots.square().mean(-1)


class CrossCovarianceHead(nn.Module):
    """Studentised cross-covariance of features.

    For one head and one pair of dimensions let C be the cross-covariance of the two targets'
    features, Sx and Sy their covariances. Where the features' conditional means given Z are nil,

        t = n |C|^2 - mean_i |x_i|^2 |y_i|^2 = sum_{i != j} (x_i . x_j) (y_i . y_j) / n

    has mean about 0 under H0, whatever n is and however the features' spread depends on Z (a little
    more, as one smoother residualised both on these rows); its standard deviation is about
    sqrt(2) |Sx| |Sy| (Frobenius norms). Passed on are asinh(t / sd) and, as a size of effect,
    log(|C|^2 / (|Sx| |Sy|)).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.statistics = config.head_count, 2 * config.head_count
        self.lift = FeedForward(config.e, 2 * config.e, config.head_count * config.head_width)

    def features(
        self, x: Float[Tensor, "batch e columns n"]
    ) -> Float[Tensor, "batch features columns n"]:
        """Lifts tokens to the features of all heads."""
        return self.lift(x)

    def spread(self, features: Float[Tensor, "m d heads width n"]) -> Float[Tensor, "m d heads"]:
        """Computes |Sx|: of one target alone, and so once for all of its questions."""
        covariance = features @ features.mT / features.shape[4]
        return covariance.square().sum((-1, -2)).clamp(min=1e-20).sqrt()

    def compare(self, x: Lifted, y: Lifted) -> Float[Tensor, "m d_x d_y statistics"]:
        """Computes two statistics a head for m pairs of targets, for each pair of components."""
        n, d_x, d_y = x.n, x.features.shape[1], y.features.shape[1]
        # Of all components at once; where there is one of each, nothing is copied.
        rows_x = x.features.transpose(1, 2).flatten(2, 3)  # (m, heads, d_x * width, n)
        rows_y = y.features.transpose(1, 2).flatten(2, 3)
        cross = (rows_x @ rows_y.mT / n).unflatten(2, (d_x, -1)).unflatten(4, (d_y, -1))
        size = cross.square().sum((3, 5)).permute(0, 2, 3, 1)  # (m, d_x, d_y, heads)
        diagonal = _products(x.norms, y.norms) / n
        spread = x.spread[:, :, None] * y.spread[:, None, :]
        t = (n * size - diagonal) / (math.sqrt(2) * spread)
        effect = torch.log(size / spread + 1e-6)
        return torch.cat([torch.asinh(t), effect], dim=-1)


def squared_norms(features: Float[Tensor, "m d heads width n"]) -> Float[Tensor, "m d heads n"]:
    """Computes |features|^2 of each row, without a second copy of a long table."""
    blocks = row_blocks(features.shape[4])
    return torch.cat([features[..., rows].square().sum(3) for rows in blocks], dim=3)


def _products(
    x: Float[Tensor, "m d_x k n"], y: Float[Tensor, "m d_y k n"]
) -> Float[Tensor, "m d_x d_y k"]:
    """Sums over rows the products of every component of X with every component of Y."""
    return (x.transpose(1, 2) @ y.permute(0, 2, 3, 1)).permute(0, 2, 3, 1)


def residual_correlations(
    x: Float[Tensor, "m d_x channels n"], y: Float[Tensor, "m d_y channels n"]
) -> Float[Tensor, "m d_x d_y statistics"]:
    """Computes two statistics a channel: how strongly residuals of the same regression correlate.

    What a classical test would do: r^2 in units of its variance under H0, robust to
    heteroscedasticity (White 1980), as asinh; and log r^2 as a size of effect.

    Args:
        x: residuals of the one target, each of mean 0 and variance 1.
        y: of the other.
    """
    n = x.shape[-1]
    r2 = (_products(x, y) / n).square()
    variance = _products(x.square(), y.square()) / n
    t = torch.asinh(n * r2 / variance.clamp(min=0.05))
    size = torch.log(r2 + 1e-5)
    return torch.cat([t, size], dim=-1)


def make_head(config: ModelConfig) -> PaperHead | CrossCovarianceHead:
    """Builds the head that a configuration names."""
    return PaperHead(config) if config.head == "paper" else CrossCovarianceHead(config)
