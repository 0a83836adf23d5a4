"""ACID as a conditional independence test of pgmpy's constraint-based searches.

```python
from pgmpy.estimators import PC          # or pgmpy.causal_discovery
from acid_causal.pgmpy import ACID

PC(data).estimate(ci_test=ACID(data), significance_level=0.05)
```
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from acid_causal import defaults
from acid_causal.errors import InputError, unknown
from acid_causal.inference.tester import Tester


class ACID:
    """A test that pgmpy calls with the names of columns.

    Args:
        data: DataFrame or array of numbers, (n, d); an array's columns are called 0 to d - 1.
        **options: of `acid_causal.Tester`: model, device, null, missing, ...

    Raises:
        InputError, InputTypeError, OptionError, ModelError: see `acid_causal.Tester`.
    """

    def __init__(self, data: Any, **options: Any) -> None:
        self.tester = Tester(data, **options)
        self._shape = _names_and_rows(data)
        self._at = {name: k for k, name in enumerate(self._shape[0])}
        if len(self._at) < self.tester.d:
            raise InputError("pgmpy asks by the names of columns, and two of data's are the same")

    def __call__(
        self,
        X: Any,
        Y: Any,
        Z: Iterable[Any] = (),
        data: Any = None,
        significance_level: float = defaults.ALPHA,
        boolean: bool = True,
        **_: Any,
    ) -> bool | tuple[float, float]:
        """Tests whether X and Y are independent given Z, as pgmpy's own tests do.

        Args:
            X: name of a column.
            Y: name of another one.
            Z: names of the conditioning set.
            data: pgmpy passes it with each question; it must be the table of this test.
            significance_level: of the test.
            boolean: return a decision; else the statistic and the p-value.

        Returns:
            Whether the p-value is at least the level; or (statistic, p-value).

        Raises:
            OptionError: the table has no such column.
            InputError: names that make no question, or a table of other columns or rows.
        """
        if data is not None and (asked := _names_and_rows(data)) != self._shape:
            raise InputError(
                f"pgmpy asks about a table of {asked[1]} rows and the columns {asked[0]}, and "
                "this test was made of another one: make it of the table that pgmpy searches"
            )
        result = self.tester.test(self._column(X), self._column(Y), map(self._column, Z))
        if boolean:
            return result.pvalue >= significance_level
        return result.statistic, result.pvalue

    def _column(self, name: Any) -> int:
        if name not in self._at:
            raise unknown("column", name, self._at)
        return self._at[name]


def _names_and_rows(data: Any) -> tuple[list[Any], int]:
    return list(getattr(data, "columns", range(np.shape(data)[1]))), len(data)
