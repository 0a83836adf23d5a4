"""What users bring: tables and questions are validated here, once, and trusted afterwards."""

import hashlib
import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass
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
from acid_causal.errors import InputError, InputTypeError, listed, unknown

Array = NDArray[np.float64]
Columns = tuple[int, ...]
Question = tuple[int, int, Columns]

MIN_SAMPLES = 4
# Up to it each whole number is a float.
_LARGEST_WHOLE = 2**53


@dataclass(frozen=True)
class Table:
    """A validated table; `values` is our own copy.

    Attributes:
        values: finite numbers, or NaN where a value is missing; less the median in a column of
            whole numbers beyond 2^53 some of which would become equal.
        columns: names of the columns.
        absent: where values are missing; None if nowhere.
    """

    values: Float[Array, "n d"]
    columns: tuple[str, ...]
    absent: Bool[NDArray[np.bool_], "n d"] | None

    @cached_property
    def sha256(self) -> str:
        """A hash of shape and values, whatever the columns are called."""
        digest = hashlib.sha256(json.dumps(self.values.shape).encode())
        digest.update(np.ascontiguousarray(self.values).tobytes())
        return digest.hexdigest()


def read_table(data: Any, *, missing: str = defaults.MISSING, name: str = "data") -> Table:
    """Reads an array or a pandas DataFrame of shape (n, d).

    Args:
        data: real numbers of any type, booleans among them, one column a variable; objects too, if
            each of them is one. Masked values, None and pandas' NA count as missing.
        missing: "raise" refuses NaN; "drop" lets each test leave out its incomplete rows.
        name: what messages call the table.

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


def _as_columns(part: Any) -> Any:
    """Reads one variable as a table of one column."""
    if part.ndim != 1:
        return part
    return part.to_frame() if _is_pandas(part) else part[:, None]


def _is_empty(part: Any) -> bool:
    """Says whether an array or a frame has no column: [] stands for no variable, too."""
    return part.shape == (0,) or (part.ndim == 2 and part.shape[1] == 0)


def read_question(question: Any, d: int) -> Question:
    """Reads a question about columns: a triple (i, j, conditioning set).

    Args:
        question: any three things that `normalise_question` takes.
        d: number of columns.

    Returns:
        The question in canonical form; see `normalise_question`.

    Raises:
        InputTypeError: not a sequence, or an index is not an integer.
        InputError: not three parts, or indices that make no question.
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
    except TypeError:  # an array of no axis has __iter__, and refuses when it is called
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
    values += 0.0  # -0.0 becomes 0.0
    values[np.isnan(values)] = np.nan  # of all bit patterns one: equal tables hash equal
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
    """Reads any array-like; a pandas object stays one, for its names, and a mask stays a mask."""
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
    """Converts one column, missing values to NaN, or returns None if that would be a guess."""
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
    # Of missing whole numbers pandas would make floats.
    own = isinstance(column.dtype, np.dtype)
    return _centred(np.asarray(column) if own else column.to_numpy(dtype=object), number)


def _objects_as_float(column: Any) -> Float[Array, " n"] | None:
    """Converts a column of objects each of which is a real number, or nothing."""
    # Categories of integers are objects, too: their numbers are codes, and no amounts.
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
    """Takes the median from all numbers before they are rounded, if some would become equal.

    So do whole numbers beyond 2^53, such as nanoseconds since 1970. The test reads ranks, and a
    shift moves no answer.

    Args:
        exact: the numbers as they came.
        number: the nearest floats; NaN where one is missing.
    """
    there = np.isfinite(number)
    if not there.any() or np.abs(number[there]).max() < _LARGEST_WHOLE:
        return number
    values = exact[there].tolist() if exact.dtype.kind in "iu" else list(exact[there])
    if all(isinstance(value, Rational | Decimal) for value in values):
        values = [int(v) if isinstance(v, Integral) else Fraction(v) for v in values]
    elif exact.dtype.kind != "f" or exact.dtype.itemsize == number.itemsize:  # floats as they came
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
    except OverflowError:  # a whole number or a fraction beyond 1e308, which is told as infinite
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
