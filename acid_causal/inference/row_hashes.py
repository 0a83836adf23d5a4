"""What a question's rows and columns hold, told apart by content and by no position.

A permutation test that drew its permutations by row number would answer differently once the rows
are shuffled. Here columns are read as ranks, whole numbers that are exact and stay the same under
increasing maps, and rows and columns are hashed in turn, as the Weisfeiler-Lehman test hashes the
vertices of a graph: whatever is ordered by these hashes moves along with the data.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int64, UInt64
from numpy.typing import NDArray
from scipy.stats import rankdata

Ranks = NDArray[np.int64]
Hashes = NDArray[np.uint64]

# Constants of the generator SplitMix64 (Steele, Lea, Flood 2014).
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STEPS = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)


@dataclass(frozen=True)
class Content:
    """A question's data in an order of X and Y, and of Z's columns, that only the data decide.

    Attributes:
        keys: one of each row; equal where rows are.
        x: ranks of the tested variable that stays.
        y: ranks of the tested variable that is to be permuted.
        z: ranks of the conditioning set.
        swapped: whether x holds the ranks of the second variable given, and y those of the first.
    """

    keys: UInt64[Hashes, " n"]
    x: Int64[Ranks, "n d_x"]
    y: Int64[Ranks, "n d_y"]
    z: Int64[Ranks, "n d_z"]
    swapped: bool


def ranks(column: Float[NDArray[np.float64], " n"]) -> Int64[Ranks, " n"]:
    """Returns twice the mean rank of each value, from 1/2 on: a whole number, which ties share."""
    return (2 * rankdata(column) - 1).astype(np.int64)


def read_content(
    x: Int64[Ranks, "n d_1"], y: Int64[Ranks, "n d_2"], z: Int64[Ranks, "n d_z"]
) -> Content:
    """Finds the order of a question's rows and columns.

    Args:
        x: ranks of the one tested variable.
        y: ranks of the other.
        z: ranks of the conditioning set.
    """
    rows = mix(mix(_hash_rows(x) + _hash_rows(y)) + _hash_rows(z))
    (x, of_x), (y, of_y), (z, _) = (_in_order(part, rows) for part in (x, y, z))
    swapped = of_x > of_y
    if swapped:
        x, y = y, x
    # Columns of one hash look the same from anywhere in the table: whichever comes first, the
    # answer is one. Rows are told apart all the same.
    return Content(_chain(np.hstack([x, y, z]).astype(np.uint64)), x, y, z, swapped)


def mix(bits: UInt64[Hashes, "*shape"], number: int = 0) -> UInt64[Hashes, "*shape"]:
    """Scrambles 64 bits, each number in a way of its own."""
    bits = bits + np.full(1, number + 1, dtype=np.uint64) * _GOLDEN
    for shift, factor in _STEPS:
        bits = (bits ^ (bits >> shift)) * factor
    return bits ^ (bits >> np.uint64(31))


def distinct_rows(values: Float[NDArray[np.float64], "n d"]) -> Int64[Ranks, " kept"]:
    """Returns, in order, the rows that equal no earlier one."""
    # Adding nought makes one number of the two noughts.
    keys = _chain((values + 0.0).view(np.uint64))
    return np.sort(np.unique(keys, return_index=True)[1])


def _in_order(
    part: Int64[Ranks, "n d"], rows: UInt64[Hashes, " n"]
) -> tuple[Int64[Ranks, "n d"], int]:
    """Orders columns by their hashes, and returns the sum of these."""
    hashes = mix(mix(part.astype(np.uint64) ^ rows[:, None]).sum(axis=0, dtype=np.uint64))
    return part[:, np.argsort(hashes)], int(hashes.sum(dtype=np.uint64))


def _hash_rows(part: Int64[Ranks, "n d"]) -> UInt64[Hashes, " n"]:
    """Hashes rows, whatever the order of the columns."""
    return mix(part.astype(np.uint64)).sum(axis=1, dtype=np.uint64)


def _chain(entries: UInt64[Hashes, "n d"]) -> UInt64[Hashes, " n"]:
    """Hashes rows, column after column."""
    keys = np.zeros(len(entries), dtype=np.uint64)
    for column in entries.T:
        keys = mix(keys ^ column)
    return keys
