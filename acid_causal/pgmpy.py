"""ACID as a conditional independence test of pgmpy's constraint-based searches.

```python
from pgmpy.estimators import PC          # or pgmpy.causal_discovery
from acid_causal.pgmpy import ACID

PC(data).estimate(ci_test=ACID(data), significance_level=0.05, variant="stable", n_jobs=1)
```

pgmpy's default, `variant="parallel"` on all cores, starts processes that load torch: it pays for
large graphs only.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from acid_causal.choices import RESAMPLING
from acid_causal.errors import InputError, unknown
from acid_causal.inference.tester import Tester
from acid_causal.tables.inputs import Table, read_table


class ACID:
    """A test that pgmpy calls with the names of columns.

    Args:
        data: DataFrame or array, (n, d); an array's columns are called 0 to d - 1. Columns of texts
            and pandas' categories are categories.
        **options: of `acid_causal.Tester`: model, null, missing, categorical, ... The level of
            `null="checked"` and of "permutation" is that of pgmpy's question, unless `alpha` is
            given.

    Attributes:
        tester: answers about the table that was given last.
        statistic_, p_value_, effect_size_: of the question asked last, as pgmpy's own tests have
            them. The effect size is the probability of dependence, which grows with n.

    Raises:
        InputError, InputTypeError, OptionError, ModelError: see `acid_causal.Tester`.
    """

    statistic_: float
    p_value_: float
    effect_size_: float

    def __init__(self, data: Any, **options: Any) -> None:
        reading = ("missing", "categorical", "ordered")
        self._reading = {name: options.pop(name) for name in reading if name in options}
        self._options = options
        self._names, self._table = _names(data), read_table(data, **self._reading)
        self.tester = Tester(self._table, **options)

    def __call__(
        self,
        X: Any,
        Y: Any,
        Z: Iterable[Any] = (),
        data: Any = None,
        significance_level: float = 0.05,
        boolean: bool = True,
        **_: Any,
    ) -> bool | tuple[float, float]:
        """Tests whether X and Y are independent given Z, as pgmpy's own tests do.

        Args:
            X: name of a column.
            Y: name of another one.
            Z: names of the conditioning set.
            data: pgmpy passes its table with each question. Where it is no longer the one that this
                test has, the question is about the new one, with the same options.
            significance_level: of the test.
            boolean: return a decision; else the statistic and the p-value.

        Returns:
            Whether the p-value is at least the level; or (statistic, p-value).

        Raises:
            OptionError: the table has no such column.
            InputError, InputTypeError: names that make no question, or a table that cannot be used.
        """
        if data is not None:
            self._turn_to(data)
        if self.tester.null in RESAMPLING and "alpha" not in self._options:
            self._decide_at(significance_level)
        result = self.tester.test(self._column(X), self._column(Y), map(self._column, Z))
        self.statistic_, self.p_value_ = result
        self.effect_size_ = result.probability
        if boolean:
            return result.pvalue >= significance_level
        return result.statistic, result.pvalue

    def __repr__(self) -> str:
        return f"ACID({self.tester!r})"

    def _turn_to(self, data: Any) -> None:
        """Makes another tester if the table is another one, or the same with other values."""
        # Whether it is the same object tells nothing: its owner may have changed it in place.
        names, table = _names(data), read_table(data, **self._reading)
        if names != self._names or not _equal(table, self._table):
            self.tester = Tester(table, **self._options)
            self._names, self._table = names, table

    def _decide_at(self, alpha: float) -> None:
        """Makes another tester if the level is another one."""
        if self.tester.alpha != alpha:
            self.tester = Tester(self._table, alpha=alpha, **self._options)

    def _column(self, name: Any) -> int:
        try:
            return self._names[name]
        except (KeyError, TypeError) as error:
            raise unknown("column", name, self._names) from error


def _names(data: Any) -> dict[Any, int]:
    """Returns the columns by their names.

    Raises:
        InputError: two have one name, or pgmpy could not put the names in order.
    """
    shape = np.shape(data)
    names = list(getattr(data, "columns", range(shape[1] if len(shape) == 2 else 0)))
    at = {name: k for k, name in enumerate(names)}
    if len(at) < len(names):
        raise InputError("pgmpy asks by the names of columns, and two of data's are the same")
    try:
        sorted(names)
    except TypeError as error:
        raise InputError(
            f"pgmpy sorts the names of columns, and some of data's cannot be compared ({error}): "
            "make them of one type, as data.rename(columns=str) does, here and for pgmpy"
        ) from error
    return at


def _equal(one: Table, other: Table) -> bool:
    same = np.array_equal(one.values, other.values, equal_nan=True)
    return same and one.describe_columns() == other.describe_columns()
