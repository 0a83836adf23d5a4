"""Null distributions: the distribution of the test statistic if X and Y are independent given Z.

| null | depends on |
|---|---|
| conditional | n, d_z, d_x * d_y, and how much Z explains of X and of Y |
| sized | n, d_z and d_x * d_y |
| pooled | nothing: as in the paper, one skew-normal fitted to the logits of H0 datasets |
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.calibration.designs import (
    CATEGORY_COVARIATES,
    FEW_VALUED_COVARIATES,
    NUMERIC_COVARIATES,
    RANK_COVARIATES,
)
from acid_causal.calibration.facts import Facts
from acid_causal.calibration.null_regression import NullRegression
from acid_causal.calibration.reference import Reference
from acid_causal.calibration.skew_normal import bounded_shape, fit_skew_normal, skew_normal_logsf
from acid_causal.errors import OptionError, unknown
from acid_causal.options.choices import FITTED
from acid_causal.synthetic import StreamConfig

Array = NDArray[np.float64]

# Logits are a few units; a location or scale beyond this means that the file is damaged.
_MAX_PARAMETER = 1e4


def default_null(stream: StreamConfig) -> str:
    """Names the default null of a model trained on a stream.

    Within the six data models, how well Z explains X and Y is itself informative about dependence.
    The conditional null conditions on it and so discards that information, as it should on other
    data; a model of the six data models alone therefore uses the sized null. The paper's pooled
    null gives the same ranking as the sized null among questions of one size, but it holds its
    level at few sizes.
    """
    return "sized" if stream.six_models == 1 else "conditional"


@runtime_checkable
class FittedNull(Protocol):
    """A null distribution that was fitted before the test, in contrast to permutation."""

    def logsf(self, statistic: Float[Array, " m"], facts: Facts) -> Float[Array, " m"]:
        """Computes log p-values of m questions, accurate far in the tail."""


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
    """The null given all facts of a question.

    Attributes:
        regression: on the covariates of any question.
        few_valued: on those of a question with categories or numbers of few values, whose statistic
            has another distribution; None in old weights files and for models of numbers.
    """

    regression: NullRegression
    few_valued: NullRegression | None

    def logsf(self, statistic: Float[Array, " m"], facts: Facts) -> Float[Array, " m"]:
        """See `FittedNull`."""
        covariates = facts.covariates()
        log_p = self.regression.logsf(statistic, covariates)
        few = facts.are_few_valued
        if self.few_valued is not None and few.any():
            log_p[few] = self.few_valued.logsf(statistic[few], covariates[few])
        return log_p


@dataclass(frozen=True)
class SizedNull:
    """The null given only the sizes of a question.

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
        conditional: the null given all facts of a question.
        sized: the null given only its sizes; None in old weights files.
        few_valued: the null given all facts of questions with categories or numbers of few values;
            see `ConditionalNull`.
        reference: summary of the targets used in the fit; None in old weights files.
    """

    pooled: tuple[float, float, float]
    conditional: NullRegression
    sized: NullRegression | None = None
    few_valued: NullRegression | None = None
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
            pooled: statistics of questions from the training stream, for the pooled null.
            statistic: statistics of questions from all streams, for the other nulls.
            facts: covariates of the latter.
            unbounded: whether the statistic is unbounded, as in models with `keeps_values`.
        """
        conditional, sized = facts.covariates(), facts.sizes().covariates()
        location, log_scale, raw = fit_skew_normal(pooled, np.ones((len(pooled), 1)))
        of_pooled = float(location[0]), float(np.exp(log_scale[0])), float(bounded_shape(raw)[0])
        if not (unbounded and facts.categories.any()):
            used = NUMERIC_COVARIATES if unbounded else RANK_COVARIATES
            return cls(
                of_pooled,
                conditional=NullRegression.fit(statistic, conditional[:, :used]),
                sized=NullRegression.fit(statistic, sized[:, :used]),
            )
        few = facts.are_few_valued
        return cls(
            of_pooled,
            conditional=NullRegression.fit(statistic[~few], conditional[~few, :NUMERIC_COVARIATES]),
            sized=NullRegression.fit(statistic, sized[:, :CATEGORY_COVARIATES]),
            few_valued=NullRegression.fit(statistic[few], conditional[few]),
        )

    @property
    def largest_n(self) -> int:
        """Largest n among the questions of the fit."""
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
            OptionError: no such null, or an old weights file that lacks it.
        """
        if name not in FITTED:
            raise unknown("fitted null", name, FITTED)
        if name == "pooled":
            return PooledNull(*self.pooled)
        if name == "conditional":
            return ConditionalNull(self.conditional, self.few_valued)
        if self.sized is None:
            raise OptionError(
                "the model's file holds no sized null; run `acid-causal calibrate` to fit all nulls"
            )
        return SizedNull(self.sized)

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON values for the header of a weights file."""
        # The conditional null's entries stand at the top level, for old weights files.
        conditional = self.conditional.to_dict()
        table: dict[str, Any] = {
            "pooled": list(self.pooled),
            "conditional": conditional.pop("coefficients"),
            **conditional,
        }
        parts = {
            "sized": self.sized,
            "few_valued": self.few_valued,
            "reference": self.reference,
        }
        for name, kept in parts.items():
            if kept is not None:
                table[name] = kept.to_dict()
        return table

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> "NullDistribution":
        """Reads the output of `to_dict`.

        Raises:
            ValueError: shapes or values that no fit can produce.
        """
        location, scale, shape = (float(v) for v in table["pooled"])
        largest = np.abs([location, scale, shape]).max()
        if not largest <= _MAX_PARAMETER or scale < 1 / _MAX_PARAMETER:
            raise ValueError("null distribution without a finite location and a positive scale")
        sized, few_valued = (
            None if name not in table else NullRegression.from_dict(table[name])
            for name in ("sized", "few_valued")
        )
        if few_valued is not None and len(few_valued.low) != FEW_VALUED_COVARIATES:
            raise ValueError("null distribution with unexpected shapes")
        reference = table.get("reference")
        return cls(
            pooled=(location, scale, shape),
            conditional=NullRegression.from_dict({**table, "coefficients": table["conditional"]}),
            sized=sized,
            few_valued=few_valued,
            reference=None if reference is None else Reference.from_dict(reference),
        )
