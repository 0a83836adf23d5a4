"""Eigendecomposition of symmetric matrices, with a fallback if torch's does not converge."""

import numpy as np
import torch
from jaxtyping import Float
from scipy import linalg
from torch import Tensor


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
        solved = [linalg.eigh(one, driver="ev") for one in matrix.detach().cpu().numpy()]
        values, vectors = (
            torch.from_numpy(np.stack(part)).to(matrix) for part in zip(*solved, strict=True)
        )
    return values, vectors
