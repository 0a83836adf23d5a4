"""ACID as a conditional independence test of pgmpy: importing this module registers "acid" there.

```python
from pgmpy.causal_discovery import PC
import acid_causal.pgmpy

PC(ci_test="acid", significance_level=0.05, variant="stable").fit(frame)
```

A test that pgmpy knows by its name is made anew from each table that `fit` is given, so that the
graphs of resamples and of parts of a table are right. `register` gives a test with other options a
name of its own. Another process knows a name once it has done the same. `ACID(frame)` is a test of
one table, for `pgmpy.estimators`, which takes no names of others' tests, and for single questions.

pgmpy's default, `variant="parallel"` on all cores, starts threads, which ask in turn here. Those of
`pgmpy.estimators` are processes that load torch: they pay for large graphs only.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from acid_causal.errors import InputError, InputTypeError, missing_extra, unknown
from acid_causal.inference.tester import OPTIONS, Tester
from acid_causal.tables.columns import is_pandas
from acid_causal.tables.inputs import Table, read_table

try:
    from pgmpy.ci_tests import _BaseCITest, pearsonr
    from skbase.lookup import _lookup, all_objects
except ModuleNotFoundError as error:
    raise missing_extra("pgmpy", error) from error


class ACID:
    """A test of one table, which pgmpy calls with the names of columns.

    Like an instance of pgmpy's own tests it answers about its own table: `pgmpy.causal_discovery`
    does not tell a test which table `fit` was given. `PC(ci_test=ACID(frame))` must fit `frame`;
    with `ci_test="acid"` nothing can be mixed up.

    How it works: names of columns become indices, and a `acid_causal.Tester` answers; its encodings
    are shared by all questions about a table.

    Limitations: those of `acid_causal.ci_test`. Questions are computed one by one: only for
    causal-learn and andrey-core are those of a level predicted and computed in one batch, which
    divides the time by 3 (20 variables, 1,000 rows).

    Args:
        data: DataFrame of pandas, polars or pyarrow, or array, (n, d). The columns of an array are
            called x0, x1, ..., as pgmpy calls them, or 0, 1, ... Columns of texts and pandas'
            categories are categories.
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

    def __init__(self, data: Any, *question: Any, **options: Any) -> None:
        if question:
            raise InputTypeError(
                'the class ACID is not a test: give pgmpy ci_test="acid", or ACID(frame)'
            )
        reading = ("missing", "categorical", "ordered")
        self._reading = {name: options.pop(name) for name in reading if name in options}
        self._options = options
        self._table = _read(data, self._reading)
        self._places = _places(data, self._table)
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
            data: `pgmpy.estimators` passes its table with each question. Where it is no longer the
                one that this test has, the question is about the new one, with the same options.
            significance_level: of the test, in (0, 1).
            boolean: return a decision; else the statistic and the p-value.

        Returns:
            Whether independence is not rejected: whether the p-value is above the level; or
            (statistic, p-value).

        Raises:
            OptionError: the table has no such column; no such level.
            InputError, InputTypeError: names that make no question, or a table that cannot be used.
        """
        if data is not None:
            self._turn_to(data)
        # P-values for every level need no tester for this one.
        if self.tester.least_alpha > 0 and "alpha" not in self._options:
            self._decide_at(significance_level)
        result = self.tester.test(self._column(X), self._column(Y), map(self._column, Z))
        self.statistic_, self.p_value_ = result
        self.effect_size_ = result.probability
        if boolean:
            return not result.reject(significance_level)
        return result.statistic, result.pvalue

    def is_independent(
        self, X: Any, Y: Any, Z: Iterable[Any] = (), significance_level: float = 0.05
    ) -> bool:
        """Returns the decision of a call."""
        return bool(self(X, Y, Z, significance_level=significance_level))

    def run_test(self, X: Any, Y: Any, Z: Iterable[Any] = ()) -> tuple[float, float]:
        """Returns the statistic and the p-value, as some of pgmpy's functions ask for them."""
        level = self.tester.alpha  # pgmpy's own one is not known here
        found = self(X, Y, Z, significance_level=level, boolean=False)
        assert not isinstance(found, bool)
        return found

    def __repr__(self) -> str:
        return f"ACID({self.tester!r})"

    def _turn_to(self, data: Any) -> None:
        """Makes another tester if the table is another one, or the same with other values."""
        table = _read(data, self._reading)
        places = _places(data, table)
        if not (places == self._places and _equal(table, self._table)):
            self.tester = Tester(table, **self._options)
            self._places, self._table = places, table

    def _decide_at(self, alpha: float) -> None:
        """Makes another tester if the level is another one."""
        if self.tester.alpha != alpha:
            self.tester = Tester(self._table, alpha=alpha, **self._options)

    def _column(self, name: Any) -> int:
        try:
            return self._places[str(name)]
        except KeyError as error:
            raise unknown("column", name, self._table.columns) from error


# ---- names of tests ------------------------------------------------------------------------------


class _ByName(_BaseCITest):  # type: ignore[misc]  # pgmpy has no types
    """What pgmpy finds by a name, and calls with the table of `fit`."""

    _options: ClassVar[dict[str, Any]] = {}

    def __new__(cls, data: Any, use_cache: bool = True) -> Any:
        """Returns an `ACID`; pgmpy takes any test that can be called."""
        return ACID(data, **cls._options)


def register(name: str, **options: Any) -> None:
    """Registers ACID with some options under a name, for `ci_test=name`.

    Args:
        name: a new name; "acid" changes the options of that one. Capitals make no difference.
        **options: see `ACID`.

    Raises:
        InputError: pgmpy has a test of this name that is not ours.
        OptionError: there is no such option.
    """
    for option in options:
        if option not in OPTIONS:
            raise unknown("option of acid", option, OPTIONS)
    name = name.lower()  # as pgmpy looks it up
    known = all_objects(
        object_types=_BaseCITest,
        package_name="pgmpy.ci_tests",
        return_names=False,
        filter_tags={"name": name},
    )
    # By the name of the module, as one that was loaded anew has another `_ByName`.
    if not all(test.__module__ == __name__ for test in known):
        raise InputError(f"pgmpy has its own test {name!r}; choose another name")
    tags = {"name": name, "data_types": ("discrete", "continuous", "mixed")}
    # pgmpy has no function for this: it looks through the classes in the modules of its tests, and
    # keeps what it found.
    setattr(
        pearsonr, f"ACID {name}", type("ACID", (_ByName,), {"_tags": tags, "_options": options})
    )
    _lookup._walk_and_retrieve_all_objs.cache_clear()


# ---- tables --------------------------------------------------------------------------------------


def _read(data: Any, reading: dict[str, Any]) -> Table:
    """Reads a table; an array's columns are named as pgmpy names them."""
    names = None
    if not is_pandas(data) and not hasattr(data, "to_pandas"):
        with suppress(ValueError, IndexError):  # which reading it explains
            names = [f"x{k}" for k in range(np.shape(data)[1])]
    return read_table(data, columns=names, **reading)


def _places(data: Any, table: Table) -> dict[str, int]:
    """Returns the columns by the names that pgmpy may call them.

    Raises:
        InputError: two have one name, or pgmpy could not put the names in order.
    """
    places = {name: k for k, name in enumerate(table.columns)}
    if len(places) < len(table.columns):
        raise InputError("pgmpy asks by the names of columns, and two of data's are the same")
    if not is_pandas(data):
        # pgmpy names the columns of all but pandas' frames anew.
        numbers = range(len(table.columns))
        anew = {f"x{k}": k for k in numbers}
        if any(anew.get(name, k) != k for name, k in places.items()):
            raise InputError(
                "pgmpy calls the columns of this table x0, x1, ... in their order, and data has "
                "these names in another one: give data.to_pandas(), here and to pgmpy"
            )
        return {str(k): k for k in numbers} | anew | places
    try:
        sorted(data.columns)
    except TypeError as error:
        raise InputError(
            f"pgmpy sorts the names of columns, and some of data's cannot be compared ({error}): "
            "make them of one type, as data.rename(columns=str) does, here and for pgmpy"
        ) from error
    return places


def _equal(one: Table, other: Table) -> bool:
    """Returns whether two tables have the same values and levels."""
    return (
        np.array_equal(one.values, other.values, equal_nan=True)
        and one.categories == other.categories
        and one.ordered == other.ordered
    )


register("acid")
