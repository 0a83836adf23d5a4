"""Reads and validates tables and questions from users. The rest of the package trusts them."""

import hashlib
import json
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from acid_causal.errors import (
    InputError,
    InputTypeError,
    OptionError,
    listed,
    unknown,
    warn,
)
from acid_causal.options import defaults
from acid_causal.options.choices import MISSING
from acid_causal.tables.column_types import (
    CATEGORICAL,
    NUMERIC,
    ORDERED,
    Declared,
    Ordered,
    Selection,
    check_levels,
    declare,
    selected,
)
from acid_causal.tables.columns import Array, is_pandas, read_column

Columns = tuple[int, ...]
Question = tuple[int, int, Columns]

MIN_SAMPLES = 4
# Rows less columns of Z and a mean. With fewer, what regressions leave of any two variables is
# nearly the same.
_LEAST_FREEDOM = 3
_CONDITIONING_SET = "the conditioning set"


@dataclass(frozen=True)
class Table:
    """A validated table; `values` is a copy.

    Attributes:
        values: finite numbers, or NaN where a value is missing. The median is subtracted from a
            column of integers beyond 2^53 if some of them would otherwise round to the same float.
        columns: names of the columns.
        absent: where values are missing; None if none is.
        categories: names of the levels of unordered categories, by column. Such a column holds
            codes 0, 1 and so on, which index its names; their order is arbitrary.
        ordered: names of ordered levels, by column. Such a column holds their ranks, 0, 1 and so
            on, and is a column of numbers otherwise.
    """

    values: Float[Array, "n d"]
    columns: tuple[str, ...]
    absent: Bool[NDArray[np.bool_], "n d"] | None
    categories: Mapping[int, tuple[str, ...]] = field(default_factory=dict, kw_only=True)
    ordered: Mapping[int, tuple[str, ...]] = field(default_factory=dict, kw_only=True)

    @cached_property
    def sha256(self) -> str:
        """A hash of shape and values, and of which columns are categories.

        Names of columns and of levels make no difference.
        """
        digest = hashlib.sha256(json.dumps(self.values.shape).encode())
        if self.categories:
            digest.update(json.dumps(sorted(self.categories)).encode())
        digest.update(np.ascontiguousarray(self.values).tobytes())
        return digest.hexdigest()

    def take(self, rows: Int[NDArray[np.int64], " m"]) -> "Table":
        """Returns some of the rows; levels that they lack stay known."""
        absent = None if self.absent is None else self.absent[rows]
        kept = absent if absent is not None and absent.any() else None
        return replace(self, values=self.values[rows], absent=kept)

    def describe_columns(self) -> list[dict[str, Any]]:
        """Returns name, type and levels of each column, as JSON values."""
        described: list[dict[str, Any]] = []
        for k, name in enumerate(self.columns):
            levels = self.categories.get(k) or self.ordered.get(k)
            kind = CATEGORICAL if k in self.categories else ORDERED if levels else NUMERIC
            described.append({"name": name, "type": kind, "levels": levels and list(levels)})
        return described


def as_table(
    data: Any,
    *,
    missing: str = defaults.MISSING,
    categorical: Selection = (),
    ordered: Ordered = (),
) -> Table:
    """Returns a `Table` as it is, and reads any other data; see `read_table`.

    Raises:
        OptionError: types of columns are given for a `Table`.
    """
    if not isinstance(data, Table):
        return read_table(data, missing=missing, categorical=categorical, ordered=ordered)
    if selected(categorical) or selected(ordered):
        raise OptionError("categorical and ordered are for data that are not read yet")
    return data


def read_table(
    data: Any,
    *,
    missing: str = defaults.MISSING,
    categorical: Selection = (),
    ordered: Ordered = (),
    name: str = "data",
    columns: Sequence[str] | None = None,
) -> Table:
    """Reads an array or a DataFrame of pandas, polars or pyarrow, of shape (n, d).

    Numbers and booleans are numbers. Texts and unordered pandas categories are categories. An
    ordered pandas category becomes the ranks of its levels.

    Args:
        data: one column for each variable; real numbers of any type, including booleans and
            objects that are numbers, or texts. Masked values, None and pandas' NA count as missing.
        missing: "raise" refuses NaN; "drop" lets each test leave out its incomplete rows.
        categorical: columns whose values are unordered categories whatever their type, as integer
            codes are: names, or indices. Where labels of a DataFrame are numbers, integers are
            labels alone, and one that is no label is an error. None: no column.
        ordered: columns to be ranked, by names or indices: numbers, or pandas categories in the
            order in which they are declared. For texts a mapping that lists the levels of each
            column from the lowest to the highest: `{"size": ["small", "large"]}`.
        name: name of the table in messages.
        columns: names of the columns instead of those of the data.

    Raises:
        InputTypeError: columns that are neither numbers nor texts.
        InputError: another number of axes, fewer than 4 rows, no column, infinities, NaN with
            `missing="raise"`, a category of too many levels, or an order that is not known.
        OptionError: another value of `missing`, or no such column in `categorical` or `ordered`.
    """
    brought = _split(_as_array(data, name), name)
    names = brought.names if columns is None else tuple(columns)
    called = list(zip(brought.labels, names, strict=True))
    declared = declare(called, categorical, ordered)
    return _read(brought.columns, names, declared, missing, name)


def join_tables(
    x: Any,
    y: Any,
    z: Any,
    *,
    missing: str,
    categorical: Selection = (),
    ordered: Ordered = (),
) -> tuple[Table, tuple[Columns, ...]]:
    """Reads X, Y and Z of one test into one table.

    Args:
        x: array or DataFrame (n,) or (n, d_x).
        y: (n,) or (n, d_y).
        z: (n,) or (n, d_z); None, [] or no column for an empty conditioning set.
        missing: see `read_table`.
        categorical: see `read_table`. Besides names of a DataFrame's columns: "x", "y" and "z" for
            all columns of one of these, "z[X2]" for the second column of an array, or indices
            among the columns of x, y and z together. Integers are indices here, whatever labels a
            DataFrame has, as several may have the same.
        ordered: likewise.

    Returns:
        The table, and the columns of X, of Y and of Z.

    Raises:
        InputError, InputTypeError, OptionError: see `read_table`; different numbers of rows.
    """
    parts = {"x": _as_array(x, "x"), "y": _as_array(y, "y")}
    given = _as_array(() if z is None else z, "z")
    if not _is_empty(given):
        parts["z"] = given
    _check_labels(parts)
    brought = {name: _split(_as_columns(part), name) for name, part in parts.items()}
    called = [
        (label if isinstance(label, str) and is_pandas(parts[name]) else whole, whole, name)
        for name, part in brought.items()
        for label, whole in zip(part.labels, part.joined(name), strict=True)
    ]
    declared = declare(called, categorical, ordered)
    groups: list[Columns] = []
    tables: list[Table] = []
    for name, part in brought.items():
        start = groups[-1][-1] + 1 if groups else 0
        groups.append(tuple(range(start, start + len(part.columns))))
        own = {k - start: order for k, order in declared.items() if k in groups[-1]}
        tables.append(_read(part.columns, part.names, own, missing, name))
    lengths = [len(table.values) for table in tables]
    if len(set(lengths)) > 1:
        shown = ", ".join(f"{name} has {n}" for name, n in zip("xyz", lengths, strict=False))
        raise InputError(f"x, y and z must have the same number of rows; {shown}")
    values = np.hstack([table.values for table in tables])
    absent = np.isnan(values)
    table = Table(
        values,
        tuple(whole for name, part in brought.items() for whole in part.joined(name)),
        absent if absent.any() else None,
        categories=_joined(groups, [table.categories for table in tables]),
        ordered=_joined(groups, [table.ordered for table in tables]),
    )
    return table, (*groups, *[()] * (3 - len(groups)))


def _joined(
    groups: Sequence[Columns], levels: Sequence[Mapping[int, tuple[str, ...]]]
) -> dict[int, tuple[str, ...]]:
    """Joins the levels of several tables whose columns have these places in the joined one."""
    pairs = zip(groups, levels, strict=True)
    return {group[k]: names for group, own in pairs for k, names in own.items()}


def _check_labels(parts: Mapping[str, Any]) -> None:
    """Warns if parts have the same row labels in different orders; lagged parts have others."""
    (first, labels), *others = [
        (name, part.index if is_pandas(part) else None) for name, part in parts.items()
    ]
    for name, others_labels in others:
        if labels is None or others_labels is None or labels.equals(others_labels):
            continue
        if len(labels) == len(others_labels) and labels.difference(others_labels).empty:
            warn(
                f"{first} and {name} have the same labels of rows in different orders: rows are "
                f"taken as they come, as those of arrays; {name}.reindex({first}.index) aligns them"
            )


def _as_columns(part: Any) -> Any:
    """Reads one variable as a table of one column."""
    if part.ndim != 1:
        return part
    return part.to_frame() if is_pandas(part) else part[:, None]


def _is_empty(part: Any) -> bool:
    """Says whether an array or a frame has no columns; [] counts as no columns."""
    return part.shape == (0,) or (part.ndim == 2 and part.shape[1] == 0)


def read_question(question: Any, d: int) -> Question:
    """Reads a question about columns: a triple (i, j, conditioning set).

    Args:
        question: two columns and a conditioning set, as `normalise_question` takes them.
        d: number of columns.

    Returns:
        The question in canonical form; see `normalise_question`.

    Raises:
        InputTypeError: not a sequence, or an index is not an integer.
        InputError: not three parts, or see `normalise_question`.
    """
    expected = f"a question must be a triple (i, j, conditioning set), not {question!r}"
    try:
        i, j, cond = question
    except ValueError as error:
        raise InputError(expected) from error
    except TypeError as error:
        raise InputTypeError(expected) from error
    return normalise_question(i, j, cond, d)


def are_too_few(n: int, d_z: int) -> bool:
    """Says whether regressions on Z leave too little of n rows for a test.

    Args:
        n: number of rows.
        d_z: number of columns of Z, as a test reads them.
    """
    return n - 1 - d_z < _LEAST_FREEDOM


def normalise_question(i: Any, j: Any, cond: Any, d: int) -> Question:
    """Turns column indices of any integer type into a question in canonical form.

    Args:
        i: column of X.
        j: column of Y; the answer does not depend on which of the two comes first.
        cond: columns of Z: any iterable of integers, in any order, with repeats; None for none.
        d: number of columns.

    Returns:
        The smaller of i and j, the larger, and the sorted distinct columns of Z.

    Raises:
        InputTypeError: an index is not an integer.
        InputError: out of range, i equals j, or one of them is in cond.
    """
    x, y = _index(i, d), _index(j, d)
    z = tuple(sorted({_index(k, d) for k in _members(cond)}))
    _check_disjoint((x,), (y,), z)
    return min(x, y), max(x, y), z


def normalise_sets(x: Any, y: Any, cond: Any, d: int) -> tuple[Columns, Columns, Columns]:
    """Turns sets of column indices of any integer type into canonical form.

    Args:
        x: columns of X: any iterable of integers, in any order, with repeats.
        y: columns of Y, likewise.
        cond: columns of Z, likewise; None for none.
        d: number of columns.

    Returns:
        The sorted distinct columns of X, of Y and of Z.

    Raises:
        InputTypeError: an index is not an integer.
        InputError: out of range, x or y is empty, or two of the sets overlap.
    """
    of_x, of_y, of_z = (
        tuple(sorted({_index(k, d) for k in _members(part, what)}))
        for part, what in ((x, "x"), (y, "y"), (cond, _CONDITIONING_SET))
    )
    for name, part in (("x", of_x), ("y", of_y)):
        if not part:
            raise InputError(f"{name} has no column; a test needs at least one")
    _check_disjoint(of_x, of_y, of_z)
    return of_x, of_y, of_z


def _check_disjoint(x: Columns, y: Columns, z: Columns) -> None:
    for k in x:
        if k in y:
            raise InputError(f"a variable cannot be tested against itself (column {k})")
    for k in (*x, *y):
        if k in z:
            raise InputError(f"column {k} is tested and conditioned on at once; Z = {z}")


def _members(part: Any, what: str = _CONDITIONING_SET) -> list[Any]:
    """Lists the members of a set of columns."""
    if part is None:
        return []
    try:
        members = None if isinstance(part, str | bytes | bytearray) else list(part)
    except TypeError:  # a 0-d array has __iter__, but calling it fails
        members = None
    if members is None:
        raise InputTypeError(f"{what} must be a sequence of columns, not {part!r}")
    return members


def _index(value: Any, d: int) -> int:
    if isinstance(value, bool | np.bool_):
        raise InputTypeError(f"a column index must be an integer, not {value!r}")
    try:
        index = operator.index(value)
    except TypeError as error:
        raise InputTypeError(f"a column index must be an integer, not {value!r}") from error
    if not 0 <= index < d:
        raise InputError(f"column {index} is out of range: the table has columns 0 to {d - 1}")
    return index


@dataclass(frozen=True)
class _Brought:
    """The columns of a table as the user brings them.

    Attributes:
        labels: a DataFrame's column labels; an array's are its names.
        names: of the columns.
        columns: the columns, each (n,).
    """

    labels: Sequence[Any]
    names: tuple[str, ...]
    columns: Sequence[Any]

    def joined(self, part: str) -> list[str]:
        """Returns the names of the columns in a table that joins X, Y and Z."""
        return [f"{part}[{name}]" for name in self.names]


def _split(array: Any, name: str) -> _Brought:
    """Splits a table into its columns."""
    if array.ndim != 2:
        what = str(array.shape) if array.ndim else f"a single {type(array.item()).__name__}"
        raise InputError(f"{name} must have shape (n, d), samples by variables, not {what}")
    n, d = array.shape
    if n < MIN_SAMPLES or d < 1:
        raise InputError(
            f"{name} has {n} rows and {d} columns; a test needs at least {MIN_SAMPLES} rows and "
            "one column (one row a sample, one column a variable)"
        )
    if is_pandas(array):
        labels = list(array.columns)
        return _Brought(labels, tuple(map(str, labels)), [array.iloc[:, k] for k in range(d)])
    names = tuple(f"X{k + 1}" for k in range(d))
    return _Brought(names, names, [array[:, k] for k in range(d)])


def _read(
    columns: Sequence[Any], names: tuple[str, ...], declared: Declared, missing: str, name: str
) -> Table:
    """Reads columns; see `read_table`."""
    if missing not in MISSING:
        raise unknown("value of missing:", missing, MISSING)
    read, refused = [], []
    for k, column in enumerate(columns):
        try:
            one = read_column(
                column,
                categorical=k in declared and declared[k] is None,
                order=declared.get(k),
            )
        except InputError as error:
            raise InputError(
                f"{names[k]!r} of {name} {error}. Pass its levels from the lowest to the highest, "
                f'as in ordered={{"{names[k]}": ["low", "high"]}}'
            ) from error
        if one is None:
            refused.append(f"{names[k]!r} ({column.dtype})")
        else:
            read.append(one)
    if refused:
        raise InputTypeError(
            f"{name} has columns that are neither numbers nor texts: {listed(refused)}. Encode or "
            'leave out these columns; categorical=["A"] takes the values of A for categories.'
        )
    values = np.stack([column.values for column in read], axis=1)
    # -0.0 becomes 0.0, and every NaN has the same bits, so that equal tables hash equal.
    values += 0.0
    absent = np.isnan(values)
    values[absent] = np.nan
    _refuse(np.isinf(values), names, name, "infinite values", "Remove or replace them.")
    if missing == "raise":
        advice = 'Impute them, or pass missing="drop" to leave out the rows that a test lacks.'
        _refuse(absent, names, name, "missing values (NaN)", advice)
    check_levels(read, names, name)
    levels = {k: column for k, column in enumerate(read) if column.levels}
    return Table(
        values,
        names,
        absent if absent.any() else None,
        categories={k: one.levels for k, one in levels.items() if not one.ordered},
        ordered={k: one.levels for k, one in levels.items() if one.ordered},
    )


def _as_array(data: Any, name: str) -> Any:
    """Converts to an array, but leaves pandas objects and masked arrays as they are."""
    if hasattr(data, "to_pandas") and not is_pandas(data):
        data = _to_pandas(data, name)
    if is_pandas(data) or isinstance(data, np.ma.MaskedArray):
        return data
    masked = isinstance(data, list | tuple) and any(isinstance(p, np.ma.MaskedArray) for p in data)
    try:
        array = np.ma.asarray(data) if masked else np.asarray(data)
        # numpy turns numbers beside texts in a list into texts.
        mixed = array.dtype.kind == "U" and not isinstance(data, np.ndarray)
        return np.asarray(data, dtype=object) if mixed else array
    except ValueError as error:
        raise InputError(
            f"{name} cannot be read as an array, samples by variables: {error}. "
            "Do all of its rows have the same length?"
        ) from error
    except (TypeError, RuntimeError) as error:  # a torch tensor on a GPU, or with a gradient
        raise InputTypeError(
            f"{name} is a {type(data).__name__} that numpy cannot read: {error}"
        ) from error


def _to_pandas(data: Any, name: str) -> Any:
    """Converts a table or a column of polars, pyarrow and the like."""
    try:
        return data.to_pandas()
    except ImportError as error:
        raise InputTypeError(
            f"{name} is a {type(data).__module__}.{type(data).__name__}, which needs another "
            f"package to be read: {error}"
        ) from error


def _refuse(
    bad: Bool[NDArray[np.bool_], "n d"],
    columns: Sequence[str],
    name: str,
    what: str,
    advice: str,
) -> None:
    counts = bad.sum(axis=0)
    if counts.any():
        shown = [f"{columns[k]!r}: {counts[k]}" for k in np.flatnonzero(counts).tolist()]
        raise InputError(f"{name} has {what} in {listed(shown)}. {advice}")
