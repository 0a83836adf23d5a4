"""Notes on a table: columns of row numbers, and missing values.

Notes on single questions are in `acid_causal.inference.applicability`.
"""

from collections.abc import Iterator

import numpy as np

from acid_causal.errors import listed
from acid_causal.tables.inputs import Table

_INDEX_NAMES = ("", "id", "idx", "index", "row", "row_id", "rowid", "row number", "nr", "no")


def notes_on(table: Table) -> Iterator[str]:
    """Yields notes for the user on row numbers and missing values."""
    for k in range(len(table.columns)):
        if looks_like_row_number(table, k):
            yield (
                f"the column {table.columns[k]!r} looks like a row number, not like a variable; "
                "leave it out"
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
    if not np.isfinite(values).all():
        return False
    name = table.columns[k].strip().lower()
    called_so = name in _INDEX_NAMES or name.startswith("unnamed:")
    # Years count up, too. So without a telling name the column must be in order from 0 or 1.
    counting = np.sort(values) if called_so else values
    starts_low = values.min() in (0, 1) or called_so
    return bool(starts_low and np.array_equal(np.diff(counting), np.ones(len(values) - 1)))
