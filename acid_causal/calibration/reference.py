"""A reference of how encoded variables look in training, and a distance of new ones from it.

A target's encoding is summarised by two numbers for each head: the mean norm of its features, and
how unevenly rows contribute to it. Their expectation depends on n, on d_z and on how much Z
explains, so they are regressed on these. The distance is the Mahalanobis norm of the residual.
Where the network sees only ranks, a variable's distribution shows in its ties alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.model import TargetEncoding

Array = NDArray[np.float64]

# The bound is exceeded by one in this many targets of the fit.
_RARE = 1000
# The bound depends on n: one for each group of this many targets, sorted by n; at most so many.
_TARGETS_PER_BOUND, _MAX_BOUNDS = 4000, 8
# Added to the variances, so that directions with almost none do not dominate the distance.
_MIN_VARIANCE = 1e-3


def summarise(encoding: TargetEncoding) -> Float[Array, "m numbers"]:
    """Summarises encoded targets: log mean norm and log unevenness of each head.

    The components of a target are averaged. Of categories, whose features are not learned, the
    summary is NaN.
    """
    if encoding.categories:
        heads = encoding.norms.shape[2]
        return np.full((len(encoding.norms), 2 * heads), np.nan)
    size = encoding.norms.mean(dim=-1).clamp(min=1e-12)  # (m, d, heads)
    unevenness = encoding.norms.square().mean(dim=-1).clamp(min=1e-24) / size.square()
    numbers = torch.cat([size, unevenness], dim=-1).log().mean(dim=1)  # (m, 2 heads)
    return numbers.double().cpu().numpy()


@dataclass(frozen=True)
class Reference:
    """The regression of `summarise` over the targets of the fit, and bounds of the distance.

    The names of the attributes are keys of the weights file.

    Attributes:
        usual: coefficients of `summarise` on the terms of `_design`.
        whitening: maps residuals to uncorrelated numbers of unit variance.
        low: smallest log n and log(d_z + 1) of the fit; others are clipped to them.
        high: largest, likewise.
        sizes: log n of each bound; between them the bound is interpolated.
        bounds: distances that one target of the fit in a thousand exceeds.
    """

    usual: Float[Array, "terms numbers"]
    whitening: Float[Array, "numbers numbers"]
    low: Float[Array, " 2"]
    high: Float[Array, " 2"]
    sizes: Float[Array, " points"]
    bounds: Float[Array, " points"]

    @classmethod
    def fit(
        cls,
        numbers: Float[Array, "m numbers"],
        n: Float[Array, " m"],
        d_z: Float[Array, " m"],
        explained: Float[Array, " m"],
    ) -> "Reference":
        """Fits the reference to targets.

        Args:
            numbers: their `summarise`.
            n: numbers of samples.
            d_z: sizes of their conditioning sets.
            explained: share of each target's variance that Z explains.
        """
        known = ~np.isnan(numbers).any(axis=1)
        numbers, n, d_z, explained = numbers[known], n[known], d_z[known], explained[known]
        log_sizes = _log_sizes(n, d_z)
        design = _design(log_sizes, explained)
        usual: Array = np.linalg.lstsq(design, numbers, rcond=None)[0].astype(np.float64)
        residual = numbers - design @ usual
        variance, directions = np.linalg.eigh(residual.T @ residual / len(residual))
        whitening = directions / np.sqrt(variance + _MIN_VARIANCE)
        distance = np.linalg.norm(residual @ whitening, axis=1)
        groups = max(1, min(_MAX_BOUNDS, len(n) // _TARGETS_PER_BOUND))
        parts = np.array_split(np.argsort(n), groups)
        return cls(
            usual,
            whitening,
            low=log_sizes.min(axis=0),
            high=log_sizes.max(axis=0),
            sizes=np.array([log_sizes[part, 0].mean() for part in parts]),
            bounds=np.array([np.quantile(distance[part], 1 - 1 / _RARE) for part in parts]),
        )

    def distance(
        self,
        numbers: Float[Array, "m numbers"],
        n: Float[Array, " m"],
        d_z: Float[Array, " m"],
        explained: Float[Array, " m"],
    ) -> Float[Array, " m"]:
        """Computes the distance of targets from those of the fit, in units of the bound.

        The distance of a category is 0.

        Args:
            numbers: their `summarise`.
            n: numbers of samples.
            d_z: sizes of their conditioning sets.
            explained: share of each target's variance that Z explains.
        """
        log_sizes = np.clip(_log_sizes(n, d_z), self.low, self.high)
        residual = numbers - _design(log_sizes, explained) @ self.usual
        bound = np.interp(log_sizes[:, 0], self.sizes, self.bounds)
        return np.nan_to_num(np.linalg.norm(residual @ self.whitening, axis=1) / bound)

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values for the header of a weights file, rounded to four digits."""
        return {
            name: np.vectorize(_rounded, otypes=[float])(value).tolist()
            for name, value in vars(self).items()
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> "Reference":
        """Reads the output of `to_dict`.

        Raises:
            ValueError: shapes or values that no fit can produce.
        """
        read = {f.name: np.asarray(table[f.name], dtype=np.float64) for f in fields(cls)}
        terms, numbers = _design(np.zeros((1, 2)), np.zeros(1)).shape[1], len(read["whitening"])
        points = read["sizes"].size
        expected = ((terms, numbers), (numbers, numbers), (2,), (2,), (points,), (points,))
        if tuple(value.shape for value in read.values()) != expected or not points:
            raise ValueError("reference with unexpected shapes")
        if not all(np.isfinite(value).all() for value in read.values()):
            raise ValueError("reference with values that are not finite")
        if not (read["bounds"] > 0).all() or (np.diff(read["sizes"]) < 0).any():
            raise ValueError("reference with bounds that are not positive, or sizes not in order")
        return cls(**read)


def _log_sizes(n: Float[Array, " m"], d_z: Float[Array, " m"]) -> Float[Array, "m 2"]:
    return np.stack([np.log(n), np.log1p(d_z)], axis=1)


def _design(
    log_sizes: Float[Array, "m 2"], explained: Float[Array, " m"]
) -> Float[Array, "m terms"]:
    """Builds the terms: intercept, covariates, their products, and an indicator of d_z = 0."""
    log_n, log_size = log_sizes[:, 0] - np.log(200), log_sizes[:, 1]
    information = -0.5 * np.log1p(-np.clip(explained, 0, 0.9975))
    covariates = [log_n, log_size, information]
    products = [a * b for i, a in enumerate(covariates) for b in covariates[i:]]
    return np.stack([np.ones_like(information), *covariates, *products, log_size == 0], axis=1)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
