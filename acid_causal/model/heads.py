"""Interdependence heads: they compare two encoded targets.

A head maps each entry of an encoded target to `heads x width` features. For a question it computes
statistics of the features of two targets: for each pair of components, of which the model takes the
maximum, or for all components jointly (`compare_jointly`). The statistics are symmetric in X and Y
and do not depend on the order of rows.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from acid_causal.model.attention import FeedForward
from acid_causal.model.config import ModelConfig
from acid_causal.model.numerics import row_blocks
from acid_causal.model.regression.neighbours import NEAREST


@dataclass(frozen=True)
class Lifted:
    """Features of m targets of d components each, as a head compares them.

    Attributes:
        features: grouped by head; a comparison is one matrix product per head.
        norms: |features|^2 of each row.
        spread: the target's factor in the standard deviation that studentises a statistic.
    """

    features: Float[Tensor, "m d heads width n"]
    norms: Float[Tensor, "m d heads n"]
    spread: Float[Tensor, "m d heads"]

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.features.shape[4]


class PaperHead(nn.Module):
    """The paper's head: squared dot products, averaged over rows; maximum over component pairs."""

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
        """Returns ones: the paper's head does not studentise."""
        return features.new_ones(features.shape[:3])

    def compare(self, x: Lifted, y: Lifted) -> Float[Tensor, "m d_x d_y statistics"]:
        """Computes one statistic a head for m pairs of targets, for each pair of components."""
        width = x.features.shape[3]
        dots = (x.features[:, :, None] * y.features[:, None]).sum(4) / math.sqrt(width)
        return dots.square().mean(-1)


class CrossCovarianceHead(nn.Module):
    """Studentised cross-covariance of features.

    For one head and one pair of components let C be the cross-covariance of the two targets'
    features, and Sx and Sy their covariances. If the features have conditional mean 0 given Z, then

        t = n |C|^2 - mean_i |x_i|^2 |y_i|^2 = sum_{i != j} (x_i . x_j) (y_i . y_j) / n

    has mean about 0 under H0, for any n and also if the features are heteroscedastic given Z. (The
    mean is slightly positive, since both are residualised by the same smoother on the same rows.)
    Its standard deviation is about sqrt(2) |Sx| |Sy| (Frobenius norms). The statistics are
    asinh(t / sd) and the log effect size log(|C|^2 / (|Sx| |Sy|)).
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
        """Computes |Sx|; it depends on one target only and is shared by all its questions."""
        covariance = features @ features.mT / features.shape[4]
        return covariance.square().sum((-1, -2)).clamp(min=1e-20).sqrt()

    def compare(self, x: Lifted, y: Lifted) -> Float[Tensor, "m d_x d_y statistics"]:
        """Computes two statistics a head for m pairs of targets, for each pair of components."""
        n, d_x, d_y = x.n, x.features.shape[1], y.features.shape[1]
        # All components in one product; with one component each, nothing is copied.
        rows_x = x.features.transpose(1, 2).flatten(2, 3)  # (m, heads, d_x * width, n)
        rows_y = y.features.transpose(1, 2).flatten(2, 3)
        cross = (rows_x @ rows_y.mT / n).unflatten(2, (d_x, -1)).unflatten(4, (d_y, -1))
        size = cross.square().sum((3, 5)).permute(0, 2, 3, 1)  # (m, d_x, d_y, heads)
        diagonal = _products(x.norms, y.norms) / n
        spread = x.spread[:, :, None] * y.spread[:, None, :]
        t = (n * size - diagonal) / (math.sqrt(2) * spread)
        effect = torch.log(size / spread + 1e-6)
        return torch.cat([torch.asinh(t), effect], dim=-1)

    def joint_spread(
        self, features: Float[Tensor, "m d heads width n"]
    ) -> Float[Tensor, "m d heads"]:
        """Computes |Sx| of all components of a target jointly, repeated for each component."""
        together = features.transpose(1, 2).flatten(2, 3)  # (m, heads, d * width, n)
        if together.shape[2] > features.shape[4]:
            together = together.mT  # both Gram matrices have the same norm: take the smaller
        gram = together @ together.mT / features.shape[4]
        norm = gram.square().sum((-1, -2)).clamp(min=1e-20).sqrt()
        return norm[:, None].expand(-1, features.shape[1], -1)

    def compare_jointly(
        self, x: Lifted, y: Lifted, r: int, c: int
    ) -> tuple[Float[Tensor, "sets r c heads"], Float[Tensor, "sets r c heads"]]:
        """Computes t and the log effect size of each pair of targets, over all components jointly.

        Args:
            x: r targets per conditioning set, their components side by side.
            y: c targets per conditioning set, likewise.
            r: number of targets per set in x.
            c: number of targets per set in y.
        """
        n = x.n
        rows_x = x.features.transpose(1, 2).flatten(2, 3)
        rows_y = y.features.transpose(1, 2).flatten(2, 3)
        d_x, d_y = x.features.shape[1] // r, y.features.shape[1] // c
        cross = (rows_x @ rows_y.mT / n).unflatten(2, (r, -1)).unflatten(4, (c, -1))
        size = cross.square().sum((3, 5)).permute(0, 2, 3, 1)
        diagonal = _sum_over_components(_products(x.norms, y.norms) / n, r, c)
        spread = x.spread[:, ::d_x][:, :, None] * y.spread[:, ::d_y][:, None]
        t = (n * size - diagonal) / (math.sqrt(2) * spread)
        return t, torch.log(size / spread + 1e-6)


def _sum_over_components(
    components: Float[Tensor, "sets rows columns statistics"], r: int, c: int
) -> Float[Tensor, "sets r c statistics"]:
    """Sums statistics over the component pairs of each pair of targets."""
    return components.unflatten(2, (c, -1)).unflatten(1, (r, -1)).sum((2, 4))


def squared_norms(features: Float[Tensor, "m d heads width n"]) -> Float[Tensor, "m d heads n"]:
    """Computes |features|^2 of each row, in row blocks to save memory."""
    blocks = row_blocks(features.shape[4])
    return torch.cat([features[..., rows].square().sum(3) for rows in blocks], dim=3)


def _products(
    x: Float[Tensor, "m d_x k n"], y: Float[Tensor, "m d_y k n"]
) -> Float[Tensor, "m d_x d_y k"]:
    """Computes sum_i x_i y_i over rows, for every component of X with every component of Y."""
    return (x.transpose(1, 2) @ y.permute(0, 2, 3, 1)).permute(0, 2, 3, 1)


def residual_correlations(
    x: Float[Tensor, "m d_x channels n"], y: Float[Tensor, "m d_y channels n"]
) -> Float[Tensor, "m d_x d_y statistics"]:
    """Correlates residuals of the same regression; two statistics per channel.

    They are asinh(n r^2 / v), with v the heteroscedasticity-robust variance under H0 (White 1980),
    and the log effect size log r^2.

    Args:
        x: residuals of one target, of mean 0 and variance 1.
        y: residuals of the other.
    """
    n = x.shape[-1]
    r2 = (_products(x, y) / n).square()
    variance = _products(x.square(), y.square()) / n
    t = torch.asinh(n * r2 / variance.clamp(min=0.05))
    size = torch.log(r2 + 1e-5)
    return torch.cat([t, size], dim=-1)


def joint_correlations(
    x: Float[Tensor, "sets rows channels n"],
    y: Float[Tensor, "sets columns channels n"],
    r: int,
    c: int,
    *,
    deviations_of: int,
) -> tuple[Float[Tensor, "sets r c channels"], Float[Tensor, "sets r c channels"]]:
    """Correlates residuals of the same regression; the statistics are unbounded.

    The squared correlation enters as the likelihood ratio -log(1 - r^2), which is unbounded as |r|
    approaches 1. It is divided by White's (1980) variance, computed from one residual and the other
    after regression on it, so that dependence does not inflate the variance. Statistics are summed
    over all pairs of components and studentised for the correlation among components.

    The last channel holds deviations of another channel from its neighbours (`Neighbours`). It is
    correlated with that channel of the other target, and the mean of both ways is taken.

    Args:
        x: residuals of r targets per set, of mean 0 and variance 1, components side by side; the
            last channel is not standardised.
        y: residuals of c targets per set, likewise.
        r: number of targets per set in x.
        c: number of targets per set in y.
        deviations_of: the channel whose deviations the last channel holds.

    Returns:
        t, of mean about 0 and variance about 1 under H0, and the log effect size.
    """
    n = x.shape[-1]
    d_x, d_y = x.shape[1] // r, y.shape[1] // c
    (x, apart_x), (y, apart_y) = ((of[:, :, :-1], of[:, :, -1:]) for of in (x, y))
    whole = slice(deviations_of, deviations_of + 1)
    rho = (_products(x, y) / n).clamp(-1, 1)
    x2, y2 = x.square(), y.square()
    both = _products(x2, y2) / n
    # E x^2 (y - rho x)^2, and the same with x and y exchanged.
    of_x = both - 2 * rho * _products(x2 * x, y) / n + rho.square() * _fourth_moment(x2)[:, :, None]
    of_y = both - 2 * rho * _products(x, y2 * y) / n + rho.square() * _fourth_moment(y2)[:, None]
    unexplained = (1 - rho.square()).clamp(min=1e-6)
    variance = (0.5 * (of_x + of_y) / unexplained).clamp(min=0.05, max=1e3)
    crossed = _products(apart_x, y[:, :, whole]) + _products(x[:, :, whole], apart_y)
    apart = 1 - (0.5 * crossed / n).square()
    unexplained = torch.cat([unexplained, apart.clamp(min=1e-6)], dim=3)
    variance = torch.cat([variance, (1 + 1 / NEAREST) * variance[..., whole]], dim=3)
    norms = (
        torch.cat([norm, norm[..., whole]], dim=2)
        for norm in (_correlation_norm(x, r), _correlation_norm(y, c))
    )
    of_rows, of_columns = norms
    spread = of_rows[:, :, None] * of_columns[:, None]
    # 0 if a target has nothing left, such as a category of which no row has another level.
    remains, spread = spread > 0, spread.clamp(min=1e-12)
    ratio = _sum_over_components(-torch.log(unexplained), r, c) * remains
    noise = _sum_over_components(variance, r, c)
    t = (n * ratio - noise) * remains / (math.sqrt(2) * spread * noise / (d_x * d_y))
    return t, torch.log(ratio / spread + 1e-6)


def _fourth_moment(
    squares: Float[Tensor, "sets rows channels n"],
) -> Float[Tensor, "sets rows channels"]:
    return squares.square().mean(-1)


def _correlation_norm(
    x: Float[Tensor, "sets rows channels n"], r: int
) -> Float[Tensor, "sets r channels"]:
    """Computes the Frobenius norm of the correlation matrix of each target's components."""
    if x.shape[1] == r:
        return torch.ones_like(x[..., 0])
    targets = x.unflatten(1, (r, -1)).transpose(2, 3)  # (sets, r, channels, d, n)
    return (targets @ targets.mT / x.shape[-1]).square().sum((-1, -2)).sqrt()


def make_head(config: ModelConfig) -> PaperHead | CrossCovarianceHead:
    """Builds the head that a configuration names."""
    return PaperHead(config) if config.head == "paper" else CrossCovarianceHead(config)
