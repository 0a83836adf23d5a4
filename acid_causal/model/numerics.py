"""Numerical helpers: row blocks, and an eigendecomposition with a fallback."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

# Long tables are processed in blocks of rows, to save memory and to fit the CPU cache.
ROW_BLOCK = 4096


def row_blocks(n: int, block: int | None = None) -> Iterator[slice]:
    """Splits n rows into blocks of `ROW_BLOCK` or of another size; the last may be shorter."""
    step = ROW_BLOCK if block is None else block
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))


def eigh(
    matrix: Float[Tensor, "batch m m"],
) -> tuple[Float[Tensor, "batch m"], Float[Tensor, "batch m m"]]:
    """Computes eigenvalues, in ascending order, and eigenvectors of symmetric matrices.

    torch uses divide and conquer, which sometimes fails to converge for matrices with many equal
    eigenvalues, as discrete columns give them. Then the slower QR iteration is used.
    """
    try:
        values, vectors = torch.linalg.eigh(matrix)
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
        from scipy import linalg  # slow to import, and hardly ever needed

        solved = [linalg.eigh(one, driver="ev") for one in matrix.detach().cpu().numpy()]
        values, vectors = (
            torch.from_numpy(np.stack(part)).to(matrix) for part in zip(*solved, strict=True)
        )
    return values, vectors
