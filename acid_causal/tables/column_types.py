"""Types of columns: what the user says of them, and what a category may look like."""

import operator
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from acid_causal.errors import InputError, OptionError, listed, unknown
from acid_causal.tables.columns import Column, as_number
from acid_causal.tables.text_kinds import kind_of_texts

NUMERIC, CATEGORICAL, ORDERED = "numeric", "categorical", "ordered"

# Columns, by names or indices; the labels of a DataFrame may be anything. None: no column.
Selection = Iterable[Any] | str | int | None
# The same, or the levels of each column from the lowest to the highest.
Ordered = Selection | Mapping[Any, Sequence[Any]]
# By column: None for unordered categories, or the levels in their order; none listed means the
# column's own order.
Declared = dict[int, Sequence[Any] | None]

# A category may have at most this many levels, and at most one per so many rows; two are always
# fine.
MOST_LEVELS = 50
_ROWS_A_LEVEL = 5


class LevelsError(InputError):
    """Categories have too many levels.

    Attributes:
        columns: their names.
    """

    def __init__(self, message: str, columns: Sequence[str]) -> None:
        super().__init__(message)
        self.columns = tuple(columns)


def declare(names: Sequence[Sequence[Any]], categorical: Selection, ordered: Ordered) -> Declared:
    """Finds the columns that the user names.

    Integers are indices; but if any label is a number, all integers are labels.

    Args:
        names: for each column what it may be called, in order of precedence.
        categorical: see `acid_causal.tables.inputs.read_table`.
        ordered: likewise.

    Raises:
        OptionError: there is no such column, or one is named as both.
    """
    of_order = ordered if isinstance(ordered, Mapping) else dict.fromkeys(selected(ordered), ())
    found: Declared = {}
    for option, keys in ((CATEGORICAL, selected(categorical)), (ORDERED, list(of_order))):
        for key in keys:
            for column in _columns_called(key, names, option):
                if option == ORDERED and column in found and found[column] is None:
                    raise OptionError(f"{key!r} is named as both categorical and ordered")
                found[column] = None if option == CATEGORICAL else of_order[key]
    return found


def selected(selection: Selection) -> list[Any]:
    """Lists the members of a selection; a single name or index counts as one, None as none."""
    if selection is None:
        return []
    if isinstance(selection, str | bytes) or not isinstance(selection, Iterable):
        return [selection]
    return list(selection)


def _columns_called(key: Any, names: Sequence[Sequence[Any]], option: str) -> list[int]:
    index = _index(key)
    # Python's integer: numpy's would be compared with each part of a label that is a tuple.
    sought = key if index is None else index
    if not _is_boolean(key):
        for called in zip(*names, strict=True):
            if found := [k for k, name in enumerate(called) if _is_same(name, sought)]:
                return found
    shown = [str(called[0]) for called in names]
    # All integers are read in one way, as in `[0, 1]` each may be a label or an index.
    if index is not None and any(_is_number(name) for called in names for name in called):
        raise OptionError(
            f"unknown column in {option}: {key!r}. Labels of this table are numbers, so that a "
            f"number is a label, and no index. Known: {listed(shown)}"
        )
    if index is None or not 0 <= index < len(names):
        raise unknown(f"column in {option}:", key, shown)
    return [index]


def _index(key: Any) -> int | None:
    """Returns a key that is an integer; None for others, and for booleans, which are a mask."""
    try:
        return None if _is_boolean(key) else operator.index(key)
    except TypeError:
        return None


def _is_same(name: Any, key: Any) -> bool:
    # In Python True is equal to 1.
    return not _is_boolean(name) and bool(name == key)


def _is_number(name: Any) -> bool:
    is_nan = name != name  # of a column without a name
    return isinstance(name, Real) and not _is_boolean(name) and not is_nan


def _is_boolean(name: Any) -> bool:
    return isinstance(name, bool | np.bool_)


def check_levels(columns: Sequence[Column], names: Sequence[str], table: str) -> None:
    """Refuses categories with more levels than a test can use.

    Args:
        columns: of a table.
        names: their names.
        table: name of the table in messages.

    Raises:
        LevelsError: a category has more levels than 50 or a fifth of its rows.
    """
    faults = {
        name: fault
        for name, column in zip(names, columns, strict=True)
        if (fault := _fault(column))
    }
    if faults:
        told = [f"{name!r} {fault}" for name, fault in faults.items()]
        raise LevelsError(
            f"{table} has categories of too many levels: {listed(told)}. Group rare levels",
            list(faults),
        )


def _fault(column: Column) -> str:
    """Says what is wrong with the levels of a column; "" if nothing is."""
    count = len(column.levels)
    rows = int((~np.isnan(column.values)).sum())
    most = min(MOST_LEVELS, max(2, rows // _ROWS_A_LEVEL))
    if column.ordered or count <= most:
        return ""
    if not np.isnan([as_number(name) for name in column.levels]).any():
        return f"({count} in {rows} rows, all of them numbers: make it a column of numbers)"
    if kind := kind_of_texts(column.levels):
        return f"({kind}, such as {column.levels[0]!r}: make it a column of numbers)"
    if count == rows:
        return f"(an identifier, it seems: each of its {rows} values is different)"
    return f"({count} in {rows} rows, where at most {most} can be used)"
