"""Notes on a table: columns of row numbers, of codes or of amounts, and missing values.

Notes on single questions are in `acid_causal.inference.applicability`.
"""

import json
from collections.abc import Iterator, Sequence

import numpy as np

from acid_causal.errors import listed
from acid_causal.tables.inputs import Table
from acid_causal.tables.text_kinds import kind_of_texts

# Two codes are as good as numbers; more than so many, or with fewer rows each, are counts.
MOST_CODES = 20
_FEWEST_CODES, _ROWS_A_CODE = 3, 10
_MOST_NAMED = 10
_INDEX_NAMES = ("", "id", "idx", "index", "row", "row_id", "rowid", "row number", "nr", "no")


def notes_on(table: Table) -> Iterator[str]:
    """Yields notes for the user on row numbers, codes, amounts and missing values."""
    for k in range(len(table.columns)):
        if looks_like_row_number(table, k):
            yield (
                f"the column {table.columns[k]!r} looks like a row number, not like a variable; "
                "leave it out"
            )
    codes = [table.columns[k] for k in range(len(table.columns)) if may_be_codes(table, k)]
    if codes:
        yield (
            f"few different whole numbers in {listed(codes)} are taken for amounts or ranks: if "
            f"they are codes of unordered categories, pass categorical={_as_list(codes)}"
        )
    for k, levels in table.categories.items():
        if len(levels) >= _FEWEST_CODES and (kind := kind_of_texts(levels)):
            yield (
                f"the texts of {table.columns[k]!r} are {kind}, such as {levels[0]!r}, and are "
                "taken for unordered categories; make it a column of numbers"
            )
    if table.absent is not None:
        gaps = table.absent.sum(axis=0)
        named = [f"{table.columns[k]} ({gaps[k]})" for k in np.flatnonzero(gaps)]
        yield (
            f"missing values in {listed(named)}: each test leaves out the rows that lack one of "
            "its own columns"
        )


def looks_like_row_number(table: Table, k: int) -> bool:
    """Says whether column k has row numbers: consecutive integers, in order or with such a name."""
    values = table.values[:, k]
    if k in table.categories or not np.isfinite(values).all():
        return False
    name = table.columns[k].strip().lower()
    called_so = name in _INDEX_NAMES or name.startswith("unnamed:")
    # Years count up, too. So without a telling name the column must be in order from 0 or 1.
    counting = np.sort(values) if called_so else values
    starts_low = values.min() in (0, 1) or called_so
    return bool(starts_low and np.array_equal(np.diff(counting), np.ones(len(values) - 1)))


def may_be_codes(table: Table, k: int) -> bool:
    """Says whether column k may have codes of categories: 3 to 20 different whole numbers."""
    if k in table.categories or k in table.ordered:
        return False
    values = table.values[:, k]
    values = np.unique(values[~np.isnan(values)])
    few = _FEWEST_CODES <= len(values) <= min(MOST_CODES, len(table.values) // _ROWS_A_CODE)
    return few and bool((values == np.round(values)).all())


def _as_list(names: Sequence[str]) -> str:
    """Formats a list of names for a line of Python; a long one ends in dots."""
    shown = ", ".join(map(json.dumps, names[:_MOST_NAMED]))
    return f"[{shown}, ...]" if len(names) > _MOST_NAMED else f"[{shown}]"
