"""Columns of a table as users bring them: numbers, unordered categories and ordered levels."""

import contextlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from acid_causal.errors import InputError, listed

Array = NDArray[np.float64]

# Floats represent every integer up to this one exactly.
_LARGEST_WHOLE = 2**53


@dataclass(frozen=True)
class Column:
    """A column, read.

    Attributes:
        values: numbers, codes of categories, or ranks of ordered levels; NaN if missing.
        levels: names of the levels, by code or rank; empty for numbers.
        ordered: whether the levels have an order.
    """

    values: Float[Array, " n"]
    levels: tuple[str, ...] = ()
    ordered: bool = False


def read_column(
    column: Any, *, categorical: bool = False, order: Sequence[Any] | None = None
) -> Column | None:
    """Reads a column: numbers as they are, texts and pandas' categories as codes.

    Args:
        column: pandas Series or array, (n,).
        categorical: the values are unordered categories, whatever their type.
        order: the levels are ordered: as listed here, or, if nothing is listed, as numbers are or
            as pandas' categories are declared. None: only an ordered pandas category is.

    Returns:
        The column; None if its values are neither numbers nor texts.

    Raises:
        InputError: `order` lacks a level, or is empty and the column has no order of its own.
    """
    declared = hasattr(column, "cat")  # pandas' category
    if order is None and not categorical and declared and column.cat.ordered:
        order = ()
    if order is not None:
        return _read_ordered(column, order)
    if not categorical and not declared:
        numbers = as_float(column)
        if numbers is not None or column.dtype.kind not in "OUT":
            return None if numbers is None else Column(numbers)
    try:
        codes, values = _factorise(column)
    except (TypeError, ValueError):  # unhashable values, such as lists and arrays
        return None
    if not categorical and not declared and not all(isinstance(value, str) for value in values):
        return None
    # The codes must not depend on which row comes first.
    levels = _sorted_levels({_level_name(value) for value in values})
    return Column(_recode(codes, values, levels), levels)


def _read_ordered(column: Any, order: Sequence[Any]) -> Column | None:
    """Ranks a column's levels; see `read_column`."""
    if not order and hasattr(column, "cat"):
        return Column(
            _as_codes(np.asarray(column.cat.codes)),
            tuple(map(_level_name, column.cat.categories)),
            ordered=True,
        )
    if not order:
        numbers = as_float(column)
        if numbers is None:
            raise InputError("has no order of its own")
        there = ~np.isnan(numbers)
        distinct, ranks = np.unique(numbers[there], return_inverse=True)
        values = np.full(len(numbers), np.nan)
        values[there] = ranks.reshape(-1)
        return Column(values, tuple(map(_level_name, distinct.tolist())), ordered=True)
    try:
        codes, found = _factorise(column)
    except (TypeError, ValueError):
        return None
    levels = tuple(dict.fromkeys(_name_as_read(level, found) for level in order))
    lacking = [name for name in map(_level_name, found) if name not in levels]
    if lacking:
        raise InputError(
            f"has levels that its order lacks: {listed(list(map(repr, lacking)))}; the order is "
            f"{listed(list(map(repr, levels)))}"
        )
    return Column(_recode(codes, found, levels), levels, ordered=True)


def _factorise(column: Any) -> tuple[Int[NDArray[np.int64], " n"], list[Any]]:
    """Returns each value's index among the distinct values, -1 if missing, and these values."""
    if hasattr(column, "factorize"):
        codes, values = column.factorize()
        return np.asarray(codes, dtype=np.int64), list(values)
    places: dict[Any, int] = {}
    masked = np.ma.getmaskarray(column)
    objects = np.asarray(column).astype(object)
    found = [
        -1 if hidden or _is_missing(value) else places.setdefault(value, len(places))
        for value, hidden in zip(objects, masked, strict=True)
    ]
    return np.array(found, dtype=np.int64), list(places)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _recode(
    codes: Int[NDArray[np.int64], " n"], values: Sequence[Any], levels: Sequence[str]
) -> Float[Array, " n"]:
    """Turns indices of values, -1 if missing, into indices of levels, NaN if missing."""
    place = {name: k for k, name in enumerate(levels)}
    new = np.array([*(place[_level_name(value)] for value in values), -1])
    return _as_codes(new[codes])


def _as_codes(codes: Int[NDArray[Any], " n"]) -> Float[Array, " n"]:
    return np.where(codes < 0, np.nan, codes.astype(np.float64))


def _level_name(value: Any) -> str:
    """Names a level; whole numbers of any type have one name."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    return str(int(value)) if number and float(value).is_integer() else str(value)


def _name_as_read(level: Any, found: Iterable[Any]) -> str:
    """Names a listed level as its value in the column: 0.10 as 0.1, true as True."""
    for value in found:
        if isinstance(value, bool | np.bool_):
            if str(level).strip().lower() == str(value).lower():
                return _level_name(value)
        elif isinstance(value, Real):
            with contextlib.suppress(TypeError, ValueError):
                if float(level) == value:
                    return _level_name(value)
    return _level_name(level)


def _sorted_levels(names: set[str]) -> tuple[str, ...]:
    """Sorts levels as numbers if all of them are, else as texts."""
    numbers = {name: as_number(name) for name in names}
    if all(map(math.isfinite, numbers.values())):
        return tuple(sorted(names, key=lambda name: (numbers[name], name)))
    return tuple(sorted(names))


def as_number(text: str) -> float:
    """Reads a text as a number; NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


# ---- numbers -----------------------------------------------------------------------------------


def is_pandas(part: Any) -> bool:
    """Recognises a Series or a DataFrame without importing pandas."""
    return hasattr(part, "iloc")


def as_float(column: Any) -> Float[Array, " n"] | None:
    """Converts a column to floats, with NaN for missing values; None if it is not numeric."""
    if column.dtype.kind == "O":
        return _objects_as_float(column)
    if column.dtype.kind not in "biuf":
        return None
    if is_pandas(column):
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
