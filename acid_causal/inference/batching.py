"""Groups questions by conditioning set, into batches that fit in memory."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from acid_causal.errors import InputError, listed
from acid_causal.tables.inputs import Columns

# Batches of targets per round. The conditioning sets of a round are encoded together, since small
# regressions are mostly overhead.
_BATCHES_PER_ROUND = 4
# Memory of the regressions on a conditioning set: bytes for each of its values and for each pair of
# its variables, and the limit in bytes.
_BYTES_PER_VALUE, _BYTES_PER_PAIR = 40, 24
_MAX_BYTES = 2 * 2**30


@dataclass(frozen=True)
class Task:
    """A question about sets of columns.

    Attributes:
        index: its index among the questions asked.
        x: columns of X.
        y: columns of Y.
        cond: columns of Z.
    """

    index: int
    x: Columns
    y: Columns
    cond: Columns


def named(columns: Sequence[str], task: Task) -> str:
    """Formats a question with the names of its columns."""
    tested = ", ".join(columns[k] for k in (*task.x, *task.y))
    return f"({tested} | {listed([columns[k] for k in task.cond])})"


def require_room(task: Task, n: int, size: int) -> None:
    """Refuses a question whose conditioning set is too large for the memory of most machines.

    Args:
        task: the question.
        n: number of rows.
        size: input columns of the set.

    Raises:
        InputError: regressions on the set would take more than 2 GiB.
    """
    needed = _BYTES_PER_VALUE * n * size + _BYTES_PER_PAIR * size**2
    if needed > _MAX_BYTES:
        raise InputError(
            f"a conditioning set of {len(task.cond)} variables with {n} rows takes about "
            f"{needed / 2**30:.1f} GiB, more than the 2 GiB that a question may take: ask about "
            "fewer rows or a smaller set"
        )


def by_conditioning_set(
    tasks: Sequence[Task], n: int, batch_entries: int, width: Callable[[int], int] = lambda _: 1
) -> Iterator[list[Task]]:
    """Splits tasks into rounds with conditioning sets of equal size.

    All tasks with the same set are in one round. Sets with equally many targets are neighbours, so
    that these can be encoded in one batch.

    Args:
        tasks: questions on the same n rows.
        n: number of rows.
        batch_entries: bound on the scalars encoded at once. A round holds at most
            `_BATCHES_PER_ROUND` batches; one conditioning set may exceed this.
        width: input columns of a table column: 1 for a number, else its levels; see `Rows.width`.
    """
    sets = weigh(tasks, n, width)
    for _, of_size in groupby(sets, key=lambda weighed: len(weighed[0][0].cond)):
        batch: list[Task] = []
        entries = 0
        for of_set, weight in of_size:
            if batch and entries + weight > _BATCHES_PER_ROUND * batch_entries:
                yield batch
                batch, entries = [], 0
            batch.extend(of_set)
            entries += weight
        yield batch


def weigh(
    tasks: Sequence[Task], n: int, width: Callable[[int], int]
) -> list[tuple[list[Task], int]]:
    """Groups tasks by conditioning set.

    Args:
        tasks: questions on the same n rows.
        n: number of rows.
        width: input columns of a table column; see `by_conditioning_set`.

    Returns:
        The tasks of each set, and the scalars to encode for them, ordered by the size of the set
        and the number of input columns of its targets.
    """

    def total(columns: Columns) -> int:
        return sum(map(width, columns))

    of_set: dict[Columns, list[Task]] = defaultdict(list)
    for task in tasks:
        of_set[task.cond].append(task)
    columns = {
        cond: sum(map(total, {part for task in of_set[cond] for part in (task.x, task.y)}))
        for cond in of_set
    }
    order = sorted(of_set, key=lambda cond: (len(cond), columns[cond], cond))
    return [(of_set[cond], n * (total(cond) + columns[cond])) for cond in order]
