"""Rows whose conditioning variables are alike, and permutations that stay among them."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Int64
from numpy.typing import NDArray

from acid_causal.inference.row_hashes import Content, mix

# Cells are split while both parts keep so many rows. The smaller, the less of Z's influence is
# lost by a permutation; from 3 to 10 it hardly matters (benchmarks/LOG.md).
SMALLEST = 5

Integers = NDArray[np.int64]


def neighbourhoods(content: Content, smallest: int = SMALLEST) -> Int64[Integers, " n"]:
    """Splits the rows into cells of like Z, as a regression tree does (Breiman et al. 1984).

    A cell is halved at the median of one column of Z, of that which tells most of X and Y: few
    rows know only few cuts, and a large conditioning set has many columns that do not matter. Equal
    values are never parted, so the cells of discrete columns are their values.

    Args:
        content: the question's data; without Z there is one cell.
        smallest: fewest rows of a cell.

    Returns:
        The number of each row's cell.
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
    content: Content, cells: Int64[Integers, " n"], numbers: Iterable[int]
) -> Int64[Integers, "draws n"]:
    """Draws permutations of the rows within cells; each number stands for one.

    Returns:
        For each permutation and row the row whose value it gets. The draws move along with the
        data, in whatever order the rows come.
    """
    ordered = np.lexsort((content.keys, cells))
    drawn = [np.lexsort((mix(content.keys, number), cells)) for number in numbers]
    taken = np.empty((len(drawn), len(cells)), dtype=np.int64)
    taken[:, ordered] = drawn
    return taken


def _upper_part(
    z: Int64[Integers, "m d_z"], tested: Int64[Integers, "m t"], smallest: int
) -> NDArray[np.bool_] | None:
    """Says which rows of a cell go to its upper part; None if it stays whole."""
    m = len(z)
    if m < 2 * smallest:
        return None
    best, upper = 0.0, None
    whole = tested.sum(axis=0)
    for column in z.T:
        order = np.argsort(column)
        ordered = column[order]
        # Where the values change, with enough rows on both sides; the place nearest the middle.
        ends = np.flatnonzero(np.diff(ordered[smallest - 1 : m - smallest + 1])) + smallest
        if not len(ends):
            continue
        low = int(ends[np.abs(2 * ends - m).argmin()])
        # Sums of whole numbers are exact in any order.
        below = tested[order[:low]].sum(axis=0)
        gap = below / low - (whole - below) / (m - low)
        told = (1 + np.square(gap).sum()) * low * (m - low)
        if told > best:
            best, upper = told, column > ordered[low - 1]
    return upper
