"""Cells of rows with similar conditioning variables, and permutations within cells."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Int64
from numpy.typing import NDArray

from acid_causal.inference.row_hashes import Content, mix

# Smallest number of rows in a cell. In small cells a permutation preserves the dependence on Z
# better; between 3 and 10 the choice has little effect (benchmarks/LOG.md).
SMALLEST = 5

Integers = NDArray[np.int64]


def neighbourhoods(content: Content, smallest: int = SMALLEST) -> Int64[Integers, " n"]:
    """Splits the rows into cells of similar Z, as a regression tree does (Breiman et al. 1984).

    A cell is split near the median of one column of Z, the one that explains most of X and Y. This
    matters if Z is large: few rows allow few splits, and many columns of Z are irrelevant. Rows
    with equal values are never separated by a split on that column.

    Args:
        content: the question's data; without Z there is one cell.
        smallest: smallest number of rows in a cell.

    Returns:
        The index of each row's cell.
    """
    z, tested = content.z, np.hstack([content.x, content.y])
    cells = np.zeros(len(z), dtype=np.int64)
    count = 1
    waiting = [np.arange(len(z))]
    while waiting:
        rows = waiting.pop()
        upper = _upper_part(z[rows], tested[rows], smallest)
        if upper is None:
            continue
        cells[rows[upper]] = count
        count += 1
        waiting += [rows[upper], rows[~upper]]
    return cells


def permutations(
    content: Content, cells: Int64[Integers, " n"], indices: Iterable[int]
) -> Int64[Integers, "draws n"]:
    """Draws permutations of the rows within cells, one for each index.

    Returns:
        For each permutation and row the row whose value it gets. Permutations are drawn by row
        hash, so the result is equivariant: shuffling the rows shuffles the permutations.
    """
    ordered = np.lexsort((content.keys, cells))
    drawn = [np.lexsort((mix(content.keys, index), cells)) for index in indices]
    taken = np.empty((len(drawn), len(cells)), dtype=np.int64)
    taken[:, ordered] = drawn
    return taken


def _upper_part(
    z: Int64[Integers, "m d_z"], tested: Int64[Integers, "m t"], smallest: int
) -> NDArray[np.bool_] | None:
    """Returns which rows of a cell form its upper part; None if it is not split."""
    m = len(z)
    if m < 2 * smallest:
        return None
    best, upper = 0.0, None
    whole = tested.sum(axis=0)
    for column in z.T:
        order = np.argsort(column)
        ordered = column[order]
        # Candidates: where the value changes, with enough rows on both sides. Take the middlemost.
        ends = np.flatnonzero(np.diff(ordered[smallest - 1 : m - smallest + 1])) + smallest
        if not len(ends):
            continue
        low = int(ends[np.abs(2 * ends - m).argmin()])
        # Integer sums are exact, whatever the order of rows.
        below = tested[order[:low]].sum(axis=0)
        gap = below / low - (whole - below) / (m - low)
        gain = (1 + np.square(gap).sum()) * low * (m - low)
        if gain > best:
            best, upper = gain, column > ordered[low - 1]
    return upper
