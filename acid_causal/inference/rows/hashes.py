"""Hashes of a question's rows and columns, which depend on their values and not on position.

If a permutation test drew permutations by row number, its p-value would change when the rows are
shuffled. So permutations are drawn by row hash. Columns are read as ranks, which are integers and
invariant to increasing maps. Rows and columns are hashed in turn, as the Weisfeiler-Lehman test
hashes the vertices of a graph.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int64, UInt64
from numpy.typing import NDArray

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
    """A question's data as ranks, in a canonical order of columns and of X and Y.

    Attributes:
        keys: hash of each row. Of equal rows each has its own, so that a permutation does not move
            them together; which of them has which does not matter, as their values are the same.
        x: ranks of the tested variable that is not permuted.
        y: ranks of the tested variable that is permuted.
        z: ranks of the conditioning set.
        swapped: whether x is the second variable given, and y the first.
    """

    keys: UInt64[Hashes, " n"]
    x: Int64[Ranks, "n d_x"]
    y: Int64[Ranks, "n d_y"]
    z: Int64[Ranks, "n d_z"]
    swapped: bool


def ranks(column: Float[NDArray[np.float64], " n"]) -> Int64[Ranks, " n"]:
    """Returns 2 r - 1 for mean ranks r from 1 on: integers, also for ties."""
    # scipy.stats.rankdata would load scipy.stats with the first answer.
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    return (2 * np.cumsum(counts) - counts)[place]


def read_content(
    x: Int64[Ranks, "n d_1"], y: Int64[Ranks, "n d_2"], z: Int64[Ranks, "n d_z"]
) -> Content:
    """Brings a question's data into canonical order.

    Args:
        x: ranks of one tested variable.
        y: ranks of the other.
        z: ranks of the conditioning set.
    """
    rows = mix(mix(_hash_rows(x) + _hash_rows(y)) + _hash_rows(z))
    (x, of_x), (y, of_y), (z, _) = (_in_order(part, rows) for part in (x, y, z))
    swapped = of_x > of_y
    if swapped:
        x, y = y, x
    # The order of columns with equal hashes does not matter: they are interchangeable.
    keys = _distinct(_chain(np.hstack([x, y, z]).astype(np.uint64)))
    return Content(keys, x, y, z, swapped)


def mix(bits: UInt64[Hashes, "*shape"], salt: int = 0) -> UInt64[Hashes, "*shape"]:
    """Hashes 64 bits to 64 bits; each salt gives another hash function."""
    bits = bits + np.full(1, salt + 1, dtype=np.uint64) * _GOLDEN
    for shift, factor in _STEPS:
        bits = (bits ^ (bits >> shift)) * factor
    return bits ^ (bits >> np.uint64(31))


def distinct_rows(values: Float[NDArray[np.float64], "n d"]) -> Int64[Ranks, " kept"]:
    """Returns the indices of rows that equal no earlier row, in increasing order."""
    # `+ 0.0` maps -0.0 to 0.0, so equal rows hash equal.
    keys = _chain((values + 0.0).view(np.uint64))
    return np.sort(np.unique(keys, return_index=True)[1])


def _distinct(keys: UInt64[Hashes, " n"]) -> UInt64[Hashes, " n"]:
    """Changes the second, third, ... of equal hashes."""
    order = np.argsort(keys, kind="stable")
    starts = np.diff(keys[order], prepend=keys[order[:1]] + np.uint64(1)) != 0
    first = np.maximum.accumulate(np.where(starts, np.arange(len(keys)), 0))
    repeats = np.empty_like(keys)
    repeats[order] = np.arange(len(keys)) - first
    return np.where(repeats > 0, keys ^ mix(repeats), keys)


def _in_order(
    part: Int64[Ranks, "n d"], rows: UInt64[Hashes, " n"]
) -> tuple[Int64[Ranks, "n d"], int]:
    """Sorts columns by their hashes; returns them and the sum of the hashes."""
    hashes = mix(mix(part.astype(np.uint64) ^ rows[:, None]).sum(axis=0, dtype=np.uint64))
    return part[:, np.argsort(hashes)], int(hashes.sum(dtype=np.uint64))


def _hash_rows(part: Int64[Ranks, "n d"]) -> UInt64[Hashes, " n"]:
    """Hashes rows, independent of the order of columns."""
    return mix(part.astype(np.uint64)).sum(axis=1, dtype=np.uint64)


def _chain(entries: UInt64[Hashes, "n d"]) -> UInt64[Hashes, " n"]:
    """Hashes rows, dependent on the order of columns."""
    keys = np.zeros(len(entries), dtype=np.uint64)
    for column in entries.T:
        keys = mix(keys ^ column)
    return keys
