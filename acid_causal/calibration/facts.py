"""What the null distribution is told of a question before the statistic is seen."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.model import TargetEncoding

Array = NDArray[np.float64]

# Explained variances are read as information, -log(1 - r^2) / 2, up to this: r^2 of .9975.
_MAX_INFORMATION = 3.0


@dataclass(frozen=True)
class TargetFacts:
    """What is known of m targets: of each the component of which Z tells most.

    Attributes:
        explained: share of the variance that Z explains.
        nonlinear: share of what least squares leave that other regressions explain.
    """

    explained: Float[Array, " m"]
    nonlinear: Float[Array, " m"]

    @classmethod
    def of(cls, targets: TargetEncoding) -> "TargetFacts":
        """Reads them off encodings, once."""
        return cls(
            targets.explained.amax(dim=1).double().cpu().numpy(),
            targets.nonlinear.amax(dim=1).double().cpu().numpy(),
        )


@dataclass(frozen=True)
class Facts:
    """What is known of m questions before their statistics are seen.

    Attributes:
        n: number of samples.
        d_z: size of the conditioning set.
        explained_x: share of X's variance that Z explains, in [0, 1).
        explained_y: the same of Y.
        pairs: d_x * d_y.
        nonlinear_x: share of what least squares leave of X that other regressions explain.
        nonlinear_y: the same of Y.
    """

    n: Float[Array, " m"]
    d_z: Float[Array, " m"]
    explained_x: Float[Array, " m"]
    explained_y: Float[Array, " m"]
    pairs: Float[Array, " m"]
    nonlinear_x: Float[Array, " m"]
    nonlinear_y: Float[Array, " m"]

    @classmethod
    def of_one_size(
        cls,
        n: int,
        d_z: int,
        x: "TargetFacts",
        y: "TargetFacts",
        pairs: int | Float[Array, " m"],
    ) -> "Facts":
        """Gathers the facts of questions with equally many samples and conditioning variables."""
        ones = np.ones(len(x.explained))
        return cls(
            n * ones, d_z * ones, x.explained, y.explained, pairs * ones, x.nonlinear, y.nonlinear
        )

    @classmethod
    def of_encodings(cls, x: TargetEncoding, y: TargetEncoding) -> "Facts":
        """Reads the facts of m pairs of targets off their encodings."""
        pairs = x.explained.shape[1] * y.explained.shape[1]
        return cls.of_one_size(x.n, x.d_z, TargetFacts.of(x), TargetFacts.of(y), pairs)

    @classmethod
    def concatenate(cls, parts: Sequence["Facts"]) -> "Facts":
        """Joins the facts of several batches of questions."""
        return cls(
            **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)}
        )

    def covariates(self) -> Float[Array, "m 7"]:
        """Returns them on the scales of the regression, symmetric in X and Y."""
        a, b = (
            np.minimum(-0.5 * np.log1p(-np.clip(r, 0, 1 - 1e-9)), _MAX_INFORMATION)
            for r in (self.explained_x, self.explained_y)
        )
        size = [np.log(self.n / 200), np.log1p(self.d_z)]
        nonlinear = [self.nonlinear_x + self.nonlinear_y, self.nonlinear_x * self.nonlinear_y]
        return np.stack([*size, a + b, a * b, np.log(self.pairs), *nonlinear], axis=1)

    def sizes(self) -> "Facts":
        """Returns them without what Z explains."""
        nothing = np.zeros_like(self.n)
        return replace(
            self, explained_x=nothing, explained_y=nothing, nonlinear_x=nothing, nonlinear_y=nothing
        )
