"""What a table itself gives reason to look at twice.

`acid_causal.inference.applicability` sees to the questions.
"""

from collections.abc import Iterator

import numpy as np

from acid_causal.errors import listed
from acid_causal.tables.inputs import Table

_INDEX_NAMES = ("", "id", "idx", "index", "row", "row_id", "rowid", "row number", "nr", "no")


def notes_on(table: Table) -> Iterator[str]:
    """Tells of row numbers and missing values.

    Yields:
        Sentences for a user.
    """
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
    """Says whether column k counts the rows: consecutive integers, in order or named so."""
    values = table.values[:, k]
    if not np.isfinite(values).all():
        return False
    name = table.columns[k].strip().lower()
    called_so = name in _INDEX_NAMES or name.startswith("unnamed:")
    # Years in a short table count up as well, so that an unnamed suspicion needs the exact start.
    counting = np.sort(values) if called_so else values
    starts_low = values.min() in (0, 1) or called_so
    return bool(starts_low and np.array_equal(np.diff(counting), np.ones(len(values) - 1)))
