"""How questions are grouped: by conditioning set, in batches that memory can hold."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from acid_causal.inputs import Columns


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


def by_conditioning_set(tasks: Sequence[Task], n: int, batch_entries: int) -> Iterator[list[Task]]:
    """Splits tasks into batches of one size of conditioning set; each set stays together.

    Args:
        tasks: questions on the same n rows.
        n: number of rows.
        batch_entries: scalars of data that a batch of several sets may hold.
    """
    of_set: dict[Columns, list[Task]] = defaultdict(list)
    for task in tasks:
        of_set[task.cond].append(task)
    for size, sets in groupby(sorted(of_set, key=lambda s: (len(s), s)), key=len):
        batch: list[Task] = []
        entries = 0
        for cond in sets:
            targets = {part for task in of_set[cond] for part in (task.x, task.y)}
            weight = n * (size + sum(map(len, targets)))
            if batch and entries + weight > batch_entries:
                yield batch
                batch, entries = [], 0
            batch.extend(of_set[cond])
            entries += weight
        yield batch


def by_width(tasks: Sequence[Task], n: int, batch_entries: int) -> Iterator[list[Task]]:
    """Splits tasks into batches of equally many components of X and of Y."""

    def widths(task: Task) -> tuple[int, int]:
        return len(task.x), len(task.y)

    for (d_x, d_y), same in groupby(sorted(tasks, key=widths), key=widths):
        alike = list(same)
        step = max(1, batch_entries // (n * (d_x + d_y)))
        for start in range(0, len(alike), step):
            yield alike[start : start + step]
