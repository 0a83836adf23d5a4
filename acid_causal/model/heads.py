"""Interdependence heads: how two encoded targets are compared.

A head lifts each entry to `heads x width` features when a target is encoded, and compares the
features of two targets when a question is asked. It is symmetric in X and Y and in the rows.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from acid_causal.model.attention import FeedForward
from acid_causal.model.blocks import row_blocks
from acid_causal.model.config import ModelConfig

Features = Float[Tensor, "m n d heads width"]
FeaturesX = Float[Tensor, "m n d_x heads width"]
FeaturesY = Float[Tensor, "m n d_y heads width"]
SpreadX = Float[Tensor, "m d_x heads"]
SpreadY = Float[Tensor, "m d_y heads"]


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

    def spread(self, x: Features) -> Float[Tensor, "m d heads"]:
        """The paper's head does not studentise: ones."""
        m, _, d, heads, _ = x.shape
        return x.new_ones(m, d, heads)

    def compare(
        self, x: FeaturesX, y: FeaturesY, spread_x: SpreadX, spread_y: SpreadY
    ) -> Float[Tensor, "m statistics"]:
        """Computes one statistic a head for each of m pairs of targets."""
        dots = torch.einsum("mnihf,mnjhf->mnijh", x, y) / math.sqrt(x.shape[-1])
        return dots.square().mean(dim=1).amax(dim=(1, 2))


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

    def features(self, x: Float[Tensor, "*rows e"]) -> Float[Tensor, "*rows features"]:
        """Lifts entries to the features of all heads."""
        return self.lift(x)

    def spread(self, x: Features) -> Float[Tensor, "m d heads"]:
        """Computes |Sx|: of one target alone, and so once for all of its questions."""
        blocks = [
            torch.einsum("mnihf,mnihg->mihfg", x[:, rows], x[:, rows])
            for rows in row_blocks(x.shape[1])
        ]
        covariance = sum(blocks[1:], start=blocks[0]) / x.shape[1]
        return covariance.square().sum((-1, -2)).clamp(min=1e-20).sqrt()

    def compare(
        self, x: FeaturesX, y: FeaturesY, spread_x: SpreadX, spread_y: SpreadY
    ) -> Float[Tensor, "m statistics"]:
        """Computes two statistics a head for each of m pairs of targets."""
        n = x.shape[1]
        sums = [_sums_of_products(x[:, rows], y[:, rows]) for rows in row_blocks(n)]
        cross, diagonal = (sum(parts[1:], start=parts[0]) / n for parts in zip(*sums, strict=True))
        size = cross.square().sum((-1, -2))
        spread = spread_x[:, :, None] * spread_y[:, None, :]
        t = (n * size - diagonal) / (math.sqrt(2) * spread)
        effect = torch.log(size / spread + 1e-6)
        return torch.cat([torch.asinh(t).amax(dim=(1, 2)), effect.amax(dim=(1, 2))], dim=-1)


def _sums_of_products(
    x: FeaturesX, y: FeaturesY
) -> tuple[Float[Tensor, "m d_x d_y heads width width"], Float[Tensor, "m d_x d_y heads"]]:
    """Sums over rows the products of features, and of their squared norms."""
    norms_x, norms_y = x.square().sum(-1), y.square().sum(-1)
    return (
        torch.einsum("mnihf,mnjhg->mijhfg", x, y),
        torch.einsum("mnih,mnjh->mijh", norms_x, norms_y),
    )


def residual_correlations(
    x: Float[Tensor, "m n d_x channels"], y: Float[Tensor, "m n d_y channels"]
) -> Float[Tensor, "m statistics"]:
    """Computes two statistics a channel: how strongly residuals of the same regression correlate.

    What a classical test would do: r^2 in units of its variance under H0, robust to
    heteroscedasticity (White 1980), as asinh; and log r^2 as a size of effect. Maximal over pairs
    of dimensions.

    Args:
        x: residuals of the one target, each of mean 0 and variance 1.
        y: of the other.
    """
    n = x.shape[1]
    r2 = (torch.einsum("mnik,mnjk->mijk", x, y) / n).square()
    variance = torch.einsum("mnik,mnjk->mijk", x.square(), y.square()) / n
    t = torch.asinh(n * r2 / variance.clamp(min=0.05))
    size = torch.log(r2 + 1e-5)
    return torch.cat([t.amax(dim=(1, 2)), size.amax(dim=(1, 2))], dim=-1)


def make_head(config: ModelConfig) -> PaperHead | CrossCovarianceHead:
    """Builds the head that a configuration names."""
    return PaperHead(config) if config.head == "paper" else CrossCovarianceHead(config)
