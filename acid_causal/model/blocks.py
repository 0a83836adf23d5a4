"""Row blocks: long tables are processed in blocks, to save memory and to fit the CPU cache."""

from collections.abc import Iterator

ROW_BLOCK = 4096


def row_blocks(n: int, block: int = ROW_BLOCK) -> Iterator[slice]:
    """Splits n rows into blocks of equal size; the last may be shorter."""
    for start in range(0, n, block):
        yield slice(start, min(n, start + block))
