"""Reads and validates tables and questions from users. The rest of the package trusts them."""

import hashlib
import json
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Integral, Rational, Real
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from acid_causal import defaults
from acid_causal.choices import MISSING
from acid_causal.errors import InputError, InputTypeError, listed, unknown, warn

Array = NDArray[np.float64]
Columns = tuple[int, ...]
Question = tuple[int, int, Columns]

MIN_SAMPLES = 4
# Floats represent every integer up to this one exactly.
_LARGEST_WHOLE = 2**53


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
    """

    values: Float[Array, "n d"]
    columns: tuple[str, ...]
    absent: Bool[NDArray[np.bool_], "n d"] | None
    categories: Mapping[int, tuple[str, ...]] = field(default_factory=dict, kw_only=True)

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


def read_table(data: Any, *, missing: str = defaults.MISSING, name: str = "data") -> Table:
    """Reads an array or a pandas DataFrame of shape (n, d).

    Args:
        data: real numbers of any type, including booleans and columns of objects that are numbers;
            one column for each variable. Masked values, None and pandas' NA count as missing.
        missing: "raise" refuses NaN; "drop" lets each test leave out its incomplete rows.
        name: name of the table in messages.

    Raises:
        InputTypeError: columns that are not real numbers.
        InputError: another number of axes, fewer than 4 rows, no column, infinities, or NaN with
            `missing="raise"`.
        OptionError: another value of `missing`.
    """
    if missing not in MISSING:
        raise unknown("value of missing:", missing, MISSING)
    columns, values = _numbers(data, name)
    n, d = values.shape
    if n < MIN_SAMPLES or d < 1:
        raise InputError(
            f"{name} has {n} rows and {d} columns; a test needs at least {MIN_SAMPLES} rows and "
            "one column (one row a sample, one column a variable)"
        )
    _refuse(np.isinf(values), columns, name, "infinite values", "Remove or replace them.")
    absent = np.isnan(values)
    if missing == "raise":
        advice = 'Impute them, or pass missing="drop" to leave out the rows that a test lacks.'
        _refuse(absent, columns, name, "missing values (NaN)", advice)
    return Table(values, columns, absent if absent.any() else None)


def join_tables(x: Any, y: Any, z: Any, *, missing: str) -> tuple[Table, tuple[Columns, ...]]:
    """Reads X, Y and Z of one test into one table.

    Args:
        x: array or DataFrame (n,) or (n, d_x).
        y: (n,) or (n, d_y).
        z: (n,) or (n, d_z); None, [] or no column for an empty conditioning set.
        missing: see `read_table`.

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
    tables = [
        read_table(_as_columns(part), missing=missing, name=name) for name, part in parts.items()
    ]
    lengths = [len(table.values) for table in tables]
    if len(set(lengths)) > 1:
        shown = ", ".join(f"{name} has {n}" for name, n in zip("xyz", lengths, strict=False))
        raise InputError(f"x, y and z must have the same number of rows; {shown}")
    names = [
        f"{name}[{column}]"
        for name, table in zip("xyz", tables, strict=False)
        for column in table.columns
    ]
    values = np.hstack([table.values for table in tables])
    absent = np.isnan(values)
    ends = list(np.cumsum([table.values.shape[1] for table in tables]))
    ends += [ends[-1]] * (3 - len(ends))
    groups = tuple(tuple(range(a, b)) for a, b in zip([0, *ends[:-1]], ends, strict=True))
    return Table(values, tuple(names), absent if absent.any() else None), groups


def _check_labels(parts: Mapping[str, Any]) -> None:
    """Warns if parts have the same labels of rows in different orders; a lagged part has others."""
    (first, labels), *others = [
        (name, part.index if _is_pandas(part) else None) for name, part in parts.items()
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
    return part.to_frame() if _is_pandas(part) else part[:, None]


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
    if x == y:
        raise InputError(f"a variable cannot be tested against itself (column {x})")
    if x in z or y in z:
        both = [k for k in (x, y) if k in z]
        raise InputError(f"column {both[0]} is tested and conditioned on at once; S = {z}")
    return min(x, y), max(x, y), z


def _members(cond: Any) -> list[Any]:
    """Lists the members of a conditioning set."""
    if cond is None:
        return []
    try:
        members = None if isinstance(cond, str | bytes | bytearray) else list(cond)
    except TypeError:  # a 0-d array has __iter__, but calling it fails
        members = None
    if members is None:
        raise InputTypeError(f"the conditioning set must be a sequence of columns, not {cond!r}")
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


def _numbers(data: Any, name: str) -> tuple[tuple[str, ...], Float[Array, "n d"]]:
    """Copies data to float64 column by column, and names the columns that are not numbers."""
    array = _as_array(data, name)
    if array.ndim != 2:
        what = str(array.shape) if array.ndim else f"a single {type(data).__name__}"
        raise InputError(f"{name} must have shape (n, d), samples by variables, not {what}")
    n, d = array.shape
    if _is_pandas(array):
        columns = tuple(str(c) for c in array.columns)
        parts = [array.iloc[:, k] for k in range(d)]
    else:
        columns = tuple(f"X{k + 1}" for k in range(d))
        parts = [array[:, k] for k in range(d)]
    values = np.empty((n, d), dtype=np.float64)
    refused = []
    for k, part in enumerate(parts):
        number = _as_float(part)
        if number is None:
            refused.append(f"{columns[k]!r} ({part.dtype})")
        else:
            values[:, k] = number
    # -0.0 becomes 0.0, and every NaN has the same bits, so that equal tables hash equal.
    values += 0.0
    values[np.isnan(values)] = np.nan
    if refused:
        raise InputTypeError(
            f"{name} has columns that are not real numbers: {listed(refused)}. "
            "Encode or leave out these columns."
        )
    return columns, values


def _is_pandas(part: Any) -> bool:
    """Recognises a Series or a DataFrame without importing pandas."""
    return hasattr(part, "iloc")


def _as_array(data: Any, name: str) -> Any:
    """Converts to an array, but leaves pandas objects and masked arrays as they are."""
    if _is_pandas(data) or isinstance(data, np.ma.MaskedArray):
        return data
    masked = isinstance(data, list | tuple) and any(isinstance(p, np.ma.MaskedArray) for p in data)
    try:
        return np.ma.asarray(data) if masked else np.asarray(data)
    except ValueError as error:
        raise InputError(
            f"{name} cannot be read as an array, samples by variables: {error}. "
            "Do all of its rows have the same length?"
        ) from error
    except (TypeError, RuntimeError) as error:  # a torch tensor on a GPU, or with a gradient
        raise InputTypeError(
            f"{name} is a {type(data).__name__} that numpy cannot read: {error}"
        ) from error


def _as_float(column: Any) -> Float[Array, " n"] | None:
    """Converts a column to floats, with NaN for missing values; None if it is not numeric."""
    if column.dtype.kind == "O":
        return _objects_as_float(column)
    if column.dtype.kind not in "biuf":
        return None
    if _is_pandas(column):
        number = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    else:
        with np.errstate(over="ignore"):
            number = column.astype(np.float64)
        if isinstance(number, np.ma.MaskedArray):
            number = number.filled(np.nan)
    # pandas would convert nullable integers to float64, which loses digits.
    own = isinstance(column.dtype, np.dtype)
    return _centred(np.asarray(column) if own else column.to_numpy(dtype=object), number)


def _objects_as_float(column: Any) -> Float[Array, " n"] | None:
    """Converts a column of objects; None if some of them are neither numbers nor missing."""
    # A categorical column of integers is refused: its numbers are codes and not amounts.
    if hasattr(column, "cat"):
        return None
    objects = np.asarray(column)
    if isinstance(column, np.ma.MaskedArray):
        objects = objects.copy()
        objects[np.ma.getmaskarray(column)] = None
    kinds = set(map(type, objects))
    nothing = {kind for kind in kinds if kind is type(None) or kind.__name__ == "NAType"}
    if not all(issubclass(kind, Real | Decimal | np.bool_) for kind in kinds - nothing):
        return None
    number = np.array([np.nan if type(one) in nothing else _nearest_float(one) for one in objects])
    return _centred(objects, number)


def _centred(exact: Any, number: Float[Array, " n"]) -> Float[Array, " n"]:
    """Subtracts the median before rounding to floats, if different numbers would become equal.

    This happens to integers beyond 2^53, such as nanoseconds since 1970. A shift does not change
    the answers of the test.

    Args:
        exact: the original numbers.
        number: the nearest floats; NaN where a number is missing.
    """
    there = np.isfinite(number)
    if not there.any() or np.abs(number[there]).max() < _LARGEST_WHOLE:
        return number
    values = exact[there].tolist() if exact.dtype.kind in "iu" else list(exact[there])
    if all(isinstance(value, Rational | Decimal) for value in values):
        values = [int(v) if isinstance(v, Integral) else Fraction(v) for v in values]
    elif exact.dtype.kind != "f" or exact.dtype.itemsize == number.itemsize:  # already float64
        return number
    if len(set(values)) == len(np.unique(number[there])):
        return number
    median = sorted(values)[len(values) // 2]
    shifted = number.copy()
    shifted[there] = [float(value - median) for value in values]
    return shifted


def _nearest_float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:  # an integer or a fraction beyond 1e308; reported as infinite
        return np.inf
    except ValueError:  # Decimal's signalling NaN
        return np.nan


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
