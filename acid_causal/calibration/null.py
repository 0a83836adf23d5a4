"""Null distributions: what the test statistic looks like when X and Y are independent given Z.

| null | depends on |
|---|---|
| conditional | n, d_z, the pairs of components of X and Y, and how much Z explains of each |
| sized | n, d_z and the pairs of components alone |
| pooled | nothing: the paper's, one skew-normal fitted to the logits of H0 datasets |
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.calibration.facts import Facts
from acid_causal.calibration.null_regression import OF_RANKS, NullRegression
from acid_causal.calibration.reference import Reference
from acid_causal.calibration.skew_normal import bounded_shape, fit_skew_normal, skew_normal_logsf
from acid_causal.choices import FITTED
from acid_causal.errors import OptionError, unknown
from acid_causal.synthetic import StreamConfig

Array = NDArray[np.float64]

# Statistics are logits, of a few units; parameters of the paper's null beyond this are damage.
_LARGEST = 1e4


def default_null(stream: StreamConfig) -> str:
    """Names the null that suits a model trained on a stream.

    On the six data models alone, how well Z explains X and Y tells of the answer. The conditional
    null takes that for known beforehand and so forgoes it, as it must on other data. The paper's
    own null, pooled over all sizes, ranks the questions of one size alike, but its level holds at
    few sizes.
    """
    return "sized" if stream.six_models == 1 else "conditional"


@runtime_checkable
class FittedNull(Protocol):
    """A null distribution that was fitted beforehand."""

    def logsf(self, statistic: Float[Array, " m"], facts: Facts) -> Float[Array, " m"]:
        """Computes the log of the p-value of m questions, accurate far in the tail."""


@dataclass(frozen=True)
class PooledNull:
    """The paper's null: one skew-normal for all questions.

    Attributes:
        location: of the skew-normal.
        scale: of the skew-normal.
        shape: of the skew-normal.
    """

    location: float
    scale: float
    shape: float

    def logsf(self, statistic: Float[Array, " m"], facts: Facts) -> Float[Array, " m"]:
        """See `FittedNull`."""
        standardised = (statistic - self.location) / self.scale
        return skew_normal_logsf(standardised, np.full(len(statistic), self.shape))


@dataclass(frozen=True)
class ConditionalNull:
    """The null given all that is known of a question.

    Attributes:
        regression: on all covariates.
    """

    regression: NullRegression

    def logsf(self, statistic: Float[Array, " m"], facts: Facts) -> Float[Array, " m"]:
        """See `FittedNull`."""
        return self.regression.logsf(statistic, facts.covariates())


@dataclass(frozen=True)
class SizedNull:
    """The null given the sizes of a question alone.

    Attributes:
        regression: on n, d_z and the number of pairs of components.
    """

    regression: NullRegression

    def logsf(self, statistic: Float[Array, " m"], facts: Facts) -> Float[Array, " m"]:
        """See `FittedNull`."""
        return self.regression.logsf(statistic, facts.sizes().covariates())


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
        cls,
        pooled: Float[Array, " k"],
        statistic: Float[Array, " m"],
        facts: Facts,
        *,
        unbounded: bool = False,
    ) -> "NullDistribution":
        """Fits all nulls by maximum likelihood to the statistics of H0 datasets.

        Args:
            pooled: statistics of the questions of training, for the paper's null.
            statistic: statistics of all kinds of questions, hard ones among them.
            facts: what is known of the latter.
            unbounded: whether the statistic grows without bound, as that of a model that keeps
                values.
        """
        conditional, sized = facts.covariates(), facts.sizes().covariates()
        if not unbounded:
            conditional, sized = conditional[:, :OF_RANKS], sized[:, :OF_RANKS]
        location, log_scale, raw = fit_skew_normal(pooled, np.ones((len(pooled), 1)))
        return cls(
            pooled=(float(location[0]), float(np.exp(log_scale[0])), float(bounded_shape(raw)[0])),
            conditional=NullRegression.fit(statistic, conditional),
            sized=NullRegression.fit(statistic, sized),
        )

    @property
    def largest_n(self) -> int:
        """Most samples among the questions of the fit."""
        return round(200 * float(np.exp(self.conditional.high[0])))

    @property
    def largest_d_z(self) -> int:
        """Largest conditioning set among the questions of the fit."""
        return round(float(np.expm1(self.conditional.high[1])))

    def fitted(self, name: str) -> FittedNull:
        """Returns one of the fitted nulls.

        Args:
            name: one of `FITTED`.

        Raises:
            OptionError: no such null, or the file is of before it was fitted.
        """
        if name not in FITTED:
            raise unknown("fitted null", name, FITTED)
        if name == "pooled":
            return PooledNull(*self.pooled)
        if name == "conditional":
            return ConditionalNull(self.conditional)
        if self.sized is None:
            raise OptionError(
                "the model's file holds no sized null; `acid-causal calibrate` fits all nulls anew"
            )
        return SizedNull(self.sized)

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
