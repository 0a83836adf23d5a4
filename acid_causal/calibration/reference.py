"""What variables of training looked like to the network, and how far another one is from that.

A target's encoding is summed up by two numbers a head: how large its features are, and how unevenly
the rows share in that. What is usual depends on n, on the size of the conditioning set and on how
much it explains, so the numbers are regressed on these; what is left is measured by the distance of
Mahalanobis. Ranks hide a variable's distribution from the network, but not its ties.
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

# One target in so many of the fit lies beyond the bound.
_RARE = 1000
# The bound is found anew for every so many targets, in order of their n, up to so many times.
_TARGETS_A_BOUND, _MOST_BOUNDS = 4000, 8
# A direction in which the targets of the fit hardly differ may not rule the distance.
_LEAST_VARIANCE = 1e-3


def summarise(encoding: TargetEncoding) -> Float[Array, "m numbers"]:
    """Sums up what encoded targets look like; components of a target are averaged."""
    size = encoding.norms.mean(dim=-1).clamp(min=1e-12)  # (m, d, heads)
    unevenness = encoding.norms.square().mean(dim=-1).clamp(min=1e-24) / size.square()
    numbers = torch.cat([size, unevenness], dim=-1).log().mean(dim=1)  # (m, 2 heads)
    return numbers.double().cpu().numpy()


@dataclass(frozen=True)
class Reference:
    """What the targets of the fit looked like.

    Attributes:
        usual: coefficients of the numbers of `summarise` on `_design`.
        whitening: turns what is left into numbers of unit variance, uncorrelated.
        low: least log n and log d_z + 1 of the fit; beyond them the nearest is used.
        high: largest.
        sizes: log n at which the bound is known.
        bounds: the distance that one target of the fit in a thousand exceeds there.
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
        """Fits it to targets of training.

        Args:
            numbers: what `summarise` says of them.
            n: samples.
            d_z: sizes of their conditioning sets.
            explained: share of each target's variance that Z explains.
        """
        where = _where(n, d_z)
        design = _design(where, explained)
        usual: Array = np.linalg.lstsq(design, numbers, rcond=None)[0].astype(np.float64)
        left = numbers - design @ usual
        variance, directions = np.linalg.eigh(left.T @ left / len(left))
        whitening = directions / np.sqrt(variance + _LEAST_VARIANCE)
        distance = np.linalg.norm(left @ whitening, axis=1)
        parts = np.array_split(np.argsort(n), max(1, min(_MOST_BOUNDS, len(n) // _TARGETS_A_BOUND)))
        return cls(
            usual,
            whitening,
            low=where.min(axis=0),
            high=where.max(axis=0),
            sizes=np.array([where[part, 0].mean() for part in parts]),
            bounds=np.array([np.quantile(distance[part], 1 - 1 / _RARE) for part in parts]),
        )

    def distance(
        self,
        numbers: Float[Array, "m numbers"],
        n: Float[Array, " m"],
        d_z: Float[Array, " m"],
        explained: Float[Array, " m"],
    ) -> Float[Array, " m"]:
        """Computes how far targets are from those of the fit, in units of the bound.

        Args:
            numbers: what `summarise` says of them.
            n: samples.
            d_z: sizes of their conditioning sets.
            explained: share of each target's variance that Z explains.
        """
        where = np.clip(_where(n, d_z), self.low, self.high)
        left = numbers - _design(where, explained) @ self.usual
        bound = np.interp(where[:, 0], self.sizes, self.bounds)
        return np.linalg.norm(left @ self.whitening, axis=1) / bound

    def to_dict(self) -> dict[str, Any]:
        """Returns plain numbers for a header, of no more digits than they are worth."""
        return {
            name: np.vectorize(_shortened, otypes=[float])(value).tolist()
            for name, value in vars(self).items()
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> "Reference":
        """Reads what `to_dict` wrote.

        Raises:
            ValueError: shapes or values that no fit gives.
        """
        read = {f.name: np.asarray(table[f.name], dtype=np.float64) for f in fields(cls)}
        terms, numbers = _design(np.zeros((1, 2)), np.zeros(1)).shape[1], len(read["whitening"])
        points = read["sizes"].size
        expected = ((terms, numbers), (numbers, numbers), (2,), (2,), (points,), (points,))
        if tuple(value.shape for value in read.values()) != expected or not points:
            raise ValueError("reference of another shape")
        if not all(np.isfinite(value).all() for value in read.values()):
            raise ValueError("reference with values that are not finite")
        if not (read["bounds"] > 0).all() or (np.diff(read["sizes"]) < 0).any():
            raise ValueError("reference with bounds that are none")
        return cls(**read)


def _where(n: Float[Array, " m"], d_z: Float[Array, " m"]) -> Float[Array, "m 2"]:
    return np.stack([np.log(n), np.log1p(d_z)], axis=1)


def _design(where: Float[Array, "m 2"], explained: Float[Array, " m"]) -> Float[Array, "m terms"]:
    log_n, log_size = where[:, 0] - np.log(200), where[:, 1]
    # As information, and no more of it than an r^2 of .9975 gives.
    told = -0.5 * np.log1p(-np.clip(explained, 0, 0.9975))
    covariates = [log_n, log_size, told]
    products = [a * b for i, a in enumerate(covariates) for b in covariates[i:]]
    return np.stack([np.ones_like(told), *covariates, *products, log_size == 0], axis=1)


def _shortened(value: float) -> float:
    return float(f"{value:.4g}")
