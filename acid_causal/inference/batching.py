"""How questions are grouped: by conditioning set, in batches that memory can hold."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from acid_causal.errors import InputError
from acid_causal.tables.inputs import Columns

# So many batches of targets share one pass over their conditioning sets: regressions on a few rows
# are mostly overhead, and many sets bear it together.
_ROUND = 4
# What regressions on a conditioning set take: for each of its values, and for each pair of its
# variables; and how much they may take.
_BYTES_OF_VALUE, _BYTES_OF_PAIR = 40, 24
_MOST_BYTES = 2 * 2**30


@dataclass(frozen=True)
class Task:
    """A question about sets of columns.

    Attributes:
        number: its place among the questions asked.
        x: columns of X.
        y: columns of Y.
        cond: columns of Z.
    """

    number: int
    x: Columns
    y: Columns
    cond: Columns


def require_room(task: Task, n: int) -> None:
    """Refuses a question whose conditioning set is too large for the memory of most machines.

    Raises:
        InputError: regressions on the set would take more than 2 GiB.
    """
    size = len(task.cond)
    needed = _BYTES_OF_VALUE * n * size + _BYTES_OF_PAIR * size**2
    if needed > _MOST_BYTES:
        raise InputError(
            f"a conditioning set of {size} variables with {n} rows takes about "
            f"{needed / 2**30:.1f} GiB, more than the 2 GiB that a question may take: ask about "
            "fewer rows or a smaller set"
        )


def by_conditioning_set(tasks: Sequence[Task], n: int, batch_entries: int) -> Iterator[list[Task]]:
    """Splits tasks into rounds of one size of conditioning set; each set stays together.

    Sets with equally many targets follow one another, as these are encoded in one batch.

    Args:
        tasks: questions on the same n rows.
        n: number of rows.
        batch_entries: scalars of data encoded at once; a round of several sets holds a few batches.
    """
    of_set: dict[Columns, list[Task]] = defaultdict(list)
    for task in tasks:
        of_set[task.cond].append(task)
    columns = {
        cond: sum(map(len, {part for task in of_set[cond] for part in (task.x, task.y)}))
        for cond in of_set
    }
    order = sorted(of_set, key=lambda cond: (len(cond), columns[cond], cond))
    for size, sets in groupby(order, key=len):
        batch: list[Task] = []
        entries = 0
        for cond in sets:
            weight = n * (size + columns[cond])
            if batch and entries + weight > _ROUND * batch_entries:
                yield batch
                batch, entries = [], 0
            batch.extend(of_set[cond])
            entries += weight
        yield batch
