"""Cells of rows with similar conditioning variables, and permutations within cells."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float, Int64
from numpy.typing import NDArray

from acid_causal.inference.rows.hashes import Hashes, mix

# Smallest number of rows in a cell. In small cells a permutation preserves the dependence on Z
# better; between 3 and 10 the choice has little effect (benchmarks/LOG.md).
SMALLEST = 5
# Bits of a hash that order the rows of a cell.
_BITS = 44

Integers = NDArray[np.int64]
Gains = NDArray[np.float64]


def neighbourhoods(
    along: Int64[Integers, "n k"], tested: Int64[Integers, "n t"], smallest: int = SMALLEST
) -> Int64[Integers, " n"]:
    """Splits the rows into cells, as a regression tree does (Breiman et al. 1984).

    A cell is split near the median of one column, the one that explains most of X and Y. This
    matters if there are many columns: few rows allow few splits, and many columns are irrelevant.
    Rows with equal values are never separated by a split on that column. All cells are split at
    once, level by level.

    Args:
        along: ranks of the columns that cells are cut along; without any there is one cell.
        tested: ranks of X and Y.
        smallest: smallest number of rows in a cell.

    Returns:
        The index of each row's cell.
    """
    cells = np.zeros(len(along), dtype=np.int64)
    if not along.shape[1]:
        return cells
    rows, count = np.arange(len(along)), 1
    while len(rows):
        # The rows of a cell are next to each other in every order.
        rows = rows[np.argsort(cells[rows], kind="stable")]
        starts = np.flatnonzero(np.diff(cells[rows], prepend=-1))
        of_cell = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))
        gain, bound = _best_cuts(along[rows], tested[rows], of_cell, starts, smallest)
        column = gain.argmax(axis=0)  # of equal gains the first
        is_split = gain.max(axis=0) > 0
        new = np.cumsum(is_split) - 1 + count
        count += int(is_split.sum())
        rows, of_cell = rows[is_split[of_cell]], of_cell[is_split[of_cell]]
        of_column = column[of_cell]
        upper = along[rows, of_column] > bound[of_column, of_cell]
        cells[rows[upper]] = new[of_cell[upper]]
    return cells


def permutations(
    keys: Hashes, cells: Int64[Integers, " n"], indices: Iterable[int]
) -> Int64[Integers, "draws n"]:
    """Draws permutations of the rows within cells, one for each index.

    Args:
        keys: the hash of each row.
        cells: the cell of each row.
        indices: which of the permutations.

    Returns:
        For each permutation and row the row whose value it gets. Permutations are drawn by row
        hash, so the result is equivariant: shuffling the rows shuffles the permutations.
    """
    by_cell = cells.astype(np.uint64) << np.uint64(_BITS)
    hashes = np.stack([keys, *(mix(keys, index) for index in indices)])
    # One key of 64 bits sorts faster than two.
    order = np.argsort(by_cell | (hashes >> np.uint64(64 - _BITS)), axis=1)
    taken = np.empty((len(order) - 1, len(cells)), dtype=np.int64)
    taken[:, order[0]] = order[1:]
    return taken


def _best_cuts(
    along: Int64[Integers, "m k"],
    tested: Int64[Integers, "m t"],
    of_cell: Int64[Integers, " m"],
    starts: Int64[Integers, " cells"],
    smallest: int,
) -> tuple[Float[Gains, "k cells"], Int64[Integers, "k cells"]]:
    """Finds the middlemost cut of each cell along each column.

    Args:
        along: ranks of the columns, cell by cell.
        tested: ranks of X and Y.
        of_cell: the cell of each row.
        starts: the first row of each cell.
        smallest: rows that each side must keep.

    Returns:
        What the cut explains, 0 if there is none; and the largest value below it.
    """
    m, k = along.shape
    sizes = np.diff(starts, append=m)
    keys = of_cell[:, None] * (along.max() + 1) + along
    order = np.argsort(keys.T, axis=1, kind="stable")  # (k, m)
    ordered = np.take_along_axis(along.T, order, axis=1)
    # A cut before a row leaves `low` rows of its cell below it.
    low = np.arange(m) - starts[of_cell]
    high = sizes[of_cell] - low
    changes = np.diff(ordered, axis=1, prepend=-1) > 0
    allowed = changes & (low >= smallest) & (high >= smallest)
    distance = np.where(allowed, np.abs(low - high), 2 * m)
    # Of two equally good cuts the lower one.
    cut = np.minimum.reduceat(distance * (m + 1) + low, starts, axis=1)
    there, low = cut // (m + 1) < 2 * m, np.maximum(cut % (m + 1), 1)  # (k, cells)
    high = np.maximum(sizes - low, 1)
    # Integer sums are exact, whatever the order of rows.
    sums = np.zeros((k, m + 1, tested.shape[1]), dtype=np.int64)
    np.cumsum(tested[order], axis=1, out=sums[:, 1:])
    before = sums[:, starts]
    below = np.take_along_axis(sums, (starts + low)[..., None], axis=1) - before
    above = sums[:, starts + sizes] - before - below
    gap = below / low[..., None] - above / high[..., None]
    gain = np.where(there, (1 + np.square(gap).sum(axis=2)) * low * high, 0.0)
    return gain, np.take_along_axis(ordered, starts + low - 1, axis=1)
