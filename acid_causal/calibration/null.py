"""Null distributions: what the test statistic looks like when X and Y are independent given Z.

| null | depends on |
|---|---|
| conditional | n, d_z, the pairs of components of X and Y, and how much Z explains of each |
| sized | n, d_z and the pairs of components alone |
| pooled | nothing: the paper's, one skew-normal fitted to the logits of H0 datasets |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.calibration.null_regression import NullRegression
from acid_causal.calibration.reference import Reference
from acid_causal.calibration.skew_normal import bounded_shape, fit_skew_normal, skew_normal_logsf
from acid_causal.errors import OptionError, unknown

Array = NDArray[np.float64]

# Nulls that are fitted once, and kept with the weights.
FITTED = ("conditional", "sized", "pooled")
# "permutation" is drawn from the user's own data instead; see `acid_causal.inference.permutation`.
NULLS = (*FITTED, "permutation")

# Explained variances are read as information, -log(1 - r^2) / 2, up to this: r^2 of .9975.
_MAX_INFORMATION = 3.0
# Statistics are logits, of a few units; parameters of the paper's null beyond this are damage.
_LARGEST = 1e4


@dataclass(frozen=True)
class Facts:
    """What is known of m questions before their statistics are seen.

    Attributes:
        n: number of samples.
        d_z: size of the conditioning set.
        explained_x: share of X's variance that Z explains, in [0, 1).
        explained_y: the same of Y.
        pairs: d_x * d_y.
    """

    n: Float[Array, " m"]
    d_z: Float[Array, " m"]
    explained_x: Float[Array, " m"]
    explained_y: Float[Array, " m"]
    pairs: Float[Array, " m"]

    @classmethod
    def concatenate(cls, parts: Sequence["Facts"]) -> "Facts":
        """Joins the facts of several batches of questions."""
        return cls(
            **{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)}
        )

    def covariates(self) -> Float[Array, "m 5"]:
        """Returns them on the scales of the regression, symmetric in X and Y."""
        a, b = (
            np.minimum(-0.5 * np.log1p(-np.clip(r, 0, 1 - 1e-9)), _MAX_INFORMATION)
            for r in (self.explained_x, self.explained_y)
        )
        return np.stack(
            [np.log(self.n / 200), np.log1p(self.d_z), a + b, a * b, np.log(self.pairs)], axis=1
        )

    def sizes(self) -> "Facts":
        """Returns them without what Z explains."""
        nothing = np.zeros_like(self.n)
        return replace(self, explained_x=nothing, explained_y=nothing)


@dataclass(frozen=True)
class NullDistribution:
    """The fitted nulls of a model.

    Attributes:
        pooled: location, scale and shape of the paper's null.
        conditional: the null given all that is known of a question.
        sized: the null given its sizes alone; None in files of before it was fitted.
        reference: what the targets of the fit looked like; None in files of before it was kept.
    """

    pooled: tuple[float, float, float]
    conditional: NullRegression
    sized: NullRegression | None = None
    reference: Reference | None = None

    @classmethod
    def fit(
        cls, pooled: Float[Array, " k"], statistic: Float[Array, " m"], facts: Facts
    ) -> "NullDistribution":
        """Fits all nulls by maximum likelihood to the statistics of H0 datasets.

        Args:
            pooled: statistics of the questions of training, for the paper's null.
            statistic: statistics of all kinds of questions, hard ones among them.
            facts: what is known of the latter.
        """
        location, log_scale, raw = fit_skew_normal(pooled, np.ones((len(pooled), 1)))
        return cls(
            pooled=(float(location[0]), float(np.exp(log_scale[0])), float(bounded_shape(raw)[0])),
            conditional=NullRegression.fit(statistic, facts.covariates()),
            sized=NullRegression.fit(statistic, facts.sizes().covariates()),
        )

    @property
    def largest_n(self) -> int:
        """Most samples among the questions of the fit."""
        return round(200 * float(np.exp(self.conditional.high[0])))

    @property
    def largest_d_z(self) -> int:
        """Largest conditioning set among the questions of the fit."""
        return round(float(np.expm1(self.conditional.high[1])))

    def require(self, null: str) -> None:
        """Checks that a fitted null is there.

        Raises:
            OptionError: no such null, or the file is of before it was fitted.
        """
        if null not in FITTED:
            raise unknown("fitted null", null, FITTED)
        if null == "sized" and self.sized is None:
            raise OptionError(
                "the model's file holds no sized null; `acid-causal calibrate` fits all nulls anew"
            )

    def logsf(self, statistic: Float[Array, " m"], facts: Facts, null: str) -> Float[Array, " m"]:
        """Computes the log of the p-value, sound far in the tail.

        Raises:
            OptionError: see `require`.
        """
        self.require(null)
        if null == "pooled":
            location, scale, shape = self.pooled
            standardised = (statistic - location) / scale
            return skew_normal_logsf(standardised, np.full(len(statistic), shape))
        if null == "sized":
            assert self.sized is not None  # `require` has seen to it
            return self.sized.logsf(statistic, facts.sizes().covariates())
        return self.conditional.logsf(statistic, facts.covariates())

    def to_dict(self) -> dict[str, Any]:
        """Returns plain numbers for a header."""
        # The conditional null's numbers lie side by side with the others', as in the first files.
        conditional = self.conditional.to_dict()
        table: dict[str, Any] = {
            "pooled": list(self.pooled),
            "conditional": conditional.pop("coefficients"),
            **conditional,
        }
        for name, kept in (("sized", self.sized), ("reference", self.reference)):
            if kept is not None:
                table[name] = kept.to_dict()
        return table

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> "NullDistribution":
        """Reads what `to_dict` wrote.

        Raises:
            ValueError: shapes or values that no fit gives.
        """
        location, scale, shape = (float(v) for v in table["pooled"])
        if not (np.abs([location, scale, shape]) <= _LARGEST).all() or scale < 1 / _LARGEST:
            raise ValueError("null distribution of no finite location or no positive, finite scale")
        sized, reference = table.get("sized"), table.get("reference")
        return cls(
            pooled=(location, scale, shape),
            conditional=NullRegression.from_dict({**table, "coefficients": table["conditional"]}),
            sized=None if sized is None else NullRegression.from_dict(sized),
            reference=None if reference is None else Reference.from_dict(reference),
        )
