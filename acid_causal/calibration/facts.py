"""Covariates of the null distribution: what is known of a question before its statistic."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from acid_causal.model import TargetEncoding

Array = NDArray[np.float64]

# Explained variance r^2 enters as information, -log(1 - r^2) / 2, capped here (r^2 = .9975).
_MAX_INFORMATION = 3.0
# A number has few values if two rows have equal ones with at least this chance: a third if there
# are three of equal frequency. With less than the second chance, its values are not counted.
_FEW_VALUES, _MANY_VALUES = 0.3, 0.05


@dataclass(frozen=True)
class TargetFacts:
    """Facts of m targets; of a target's components the one that Z explains best.

    Attributes:
        explained: share of the variance that Z explains.
        nonlinear: share of the least-squares residual that nonlinear regressions explain.
        components: number of components; of a category its levels.
        categories: 1 for a category, else 0.
        ties: chance that two rows have equal values; the mean over components.
    """

    explained: Float[Array, " m"]
    nonlinear: Float[Array, " m"]
    components: Float[Array, " m"]
    categories: Float[Array, " m"]
    ties: Float[Array, " m"]

    @classmethod
    def of(cls, targets: TargetEncoding) -> "TargetFacts":
        """Takes the facts from the encodings."""
        explained = targets.explained.amax(dim=1).double().cpu().numpy()
        return cls(
            explained,
            targets.nonlinear.amax(dim=1).double().cpu().numpy(),
            np.full_like(explained, targets.explained.shape[1]),
            np.full_like(explained, targets.categories),
            targets.ties.mean(dim=1).double().cpu().numpy(),
        )

    @property
    def few_values(self) -> Float[Array, " m"]:
        """1 for a number with hardly more than three values, else 0."""
        return ((self.ties >= _FEW_VALUES) & (self.categories == 0)).astype(np.float64)

    @classmethod
    def concatenate(cls, parts: Sequence["TargetFacts"]) -> "TargetFacts":
        """Joins the facts of several groups of targets."""
        return cls(
            **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)}
        )

    @classmethod
    def gather(cls, places: Sequence[tuple["TargetFacts", int]]) -> "TargetFacts":
        """Joins single targets, each given by its group and its index there."""
        return cls(
            **{f.name: np.array([getattr(p, f.name)[k] for p, k in places]) for f in fields(cls)}
        )

    def __getitem__(self, index: Int[NDArray[np.int64], " k"]) -> "TargetFacts":
        """Selects targets."""
        return TargetFacts(**{f.name: getattr(self, f.name)[index] for f in fields(self)})


@dataclass(frozen=True)
class Facts:
    """Facts of m questions: the covariates on which the null distribution may depend.

    Attributes:
        n: number of samples.
        d_z: size of the conditioning set.
        explained_x: share of X's variance that Z explains, in [0, 1).
        explained_y: the same for Y.
        pairs: d_x * d_y.
        nonlinear_x: share of X's least-squares residual that nonlinear regressions explain.
        nonlinear_y: the same for Y.
        categories: how many of X and Y are categories.
        few_values: how many of X and Y are numbers with hardly more than three values.
        ties_x: chance that two rows have equal values of X.
        ties_y: the same for Y.
    """

    n: Float[Array, " m"]
    d_z: Float[Array, " m"]
    explained_x: Float[Array, " m"]
    explained_y: Float[Array, " m"]
    pairs: Float[Array, " m"]
    nonlinear_x: Float[Array, " m"]
    nonlinear_y: Float[Array, " m"]
    categories: Float[Array, " m"]
    few_values: Float[Array, " m"]
    ties_x: Float[Array, " m"]
    ties_y: Float[Array, " m"]

    @classmethod
    def of_targets(
        cls, n: int, d_z: int | Float[Array, " m"], x: "TargetFacts", y: "TargetFacts"
    ) -> "Facts":
        """Builds the facts of questions on the same number of rows."""
        return cls(
            n=np.full_like(x.explained, n),
            d_z=d_z * np.ones_like(x.explained),
            explained_x=x.explained,
            explained_y=y.explained,
            pairs=x.components * y.components,
            nonlinear_x=x.nonlinear,
            nonlinear_y=y.nonlinear,
            categories=x.categories + y.categories,
            few_values=x.few_values + y.few_values,
            ties_x=x.ties,
            ties_y=y.ties,
        )

    @classmethod
    def of_encodings(cls, x: TargetEncoding, y: TargetEncoding) -> "Facts":
        """Builds the facts of m pairs of encoded targets."""
        return cls.of_targets(x.n, x.d_z, TargetFacts.of(x), TargetFacts.of(y))

    @classmethod
    def concatenate(cls, parts: Sequence["Facts"]) -> "Facts":
        """Joins the facts of several batches of questions."""
        return cls(
            **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)}
        )

    @property
    def are_few_valued(self) -> Bool[NDArray[np.bool_], " m"]:
        """Which questions are about a category, or a number of few values."""
        return self.categories + self.few_values > 0

    def covariates(self) -> Float[Array, "m 11"]:
        """Returns the covariates of the null regressions.

        They are symmetric in X and Y: log(n / 200), log(1 + d_z), sum and product of the two
        informations, log(pairs), sum and product of the two nonlinear shares, number of categories
        and of numbers of few values, sum and product of the logs of the numbers of values.
        """
        a, b = (
            np.minimum(-0.5 * np.log1p(-np.clip(r, 0, 1 - 1e-9)), _MAX_INFORMATION)
            for r in (self.explained_x, self.explained_y)
        )
        size = [np.log(self.n / 200), np.log1p(self.d_z)]
        nonlinear = [self.nonlinear_x + self.nonlinear_y, self.nonlinear_x * self.nonlinear_y]
        pairs = np.log(self.pairs)
        kinds = [self.categories, self.few_values]
        # The reciprocal of the chance of a tie is the number of values, were they equally frequent.
        x, y = (-np.log(np.maximum(ties, _MANY_VALUES)) for ties in (self.ties_x, self.ties_y))
        return np.stack([*size, a + b, a * b, pairs, *nonlinear, *kinds, x + y, x * y], axis=1)

    def sizes(self) -> "Facts":
        """Returns a copy with all explained shares set to 0: only the sizes remain."""
        zero = np.zeros_like(self.n)
        return replace(self, explained_x=zero, explained_y=zero, nonlinear_x=zero, nonlinear_y=zero)
