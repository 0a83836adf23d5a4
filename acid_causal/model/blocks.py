"""Rows in blocks: no second copy of a long table is needed, and a block stays in the cache."""

from collections.abc import Iterator

ROW_BLOCK = 4096


def row_blocks(n: int, block: int = ROW_BLOCK) -> Iterator[slice]:
    """Splits n rows."""
    for start in range(0, n, block):
        yield slice(start, min(n, start + block))
