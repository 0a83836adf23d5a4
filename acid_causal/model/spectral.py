"""Eigenvectors of symmetric matrices, of whatever spectrum."""

import numpy as np
import torch
from jaxtyping import Float
from scipy import linalg
from torch import Tensor


def eigh(
    matrix: Float[Tensor, "batch m m"],
) -> tuple[Float[Tensor, "batch m"], Float[Tensor, "batch m m"]]:
    """Computes eigenvalues, in ascending order, and eigenvectors of symmetric matrices.

    Divide and conquer, which torch uses, now and then gives up on a matrix with many equal
    eigenvalues, as coarse columns make them; the QR iteration, which is slower, does not.
    """
    try:
        values, vectors = torch.linalg.eigh(matrix)
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
        solved = [linalg.eigh(one, driver="ev") for one in matrix.detach().cpu().numpy()]
        values, vectors = (
            torch.from_numpy(np.stack(part)).to(matrix) for part in zip(*solved, strict=True)
        )
    return values, vectors
