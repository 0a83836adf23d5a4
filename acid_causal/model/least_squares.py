"""Least squares in the user's scale: a linear relation is removed exactly, whatever the margins."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

# Rows with Z this many standard deviations out count half.
_FAR = 3.0
# Directions of Z with less than this share of its largest singular value are rounding.
_NEGLIGIBLE = 1e-11


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Weighted least squares on a conditioning set, an intercept included, in double precision.

    Attributes:
        basis: orthonormal columns that span the weighted design.
        root: square roots of the rows' weights.
        left: one minus the leverage of each row.
    """

    basis: Float[Tensor, "batch n k"]
    root: Float[Tensor, "batch n"]
    left: Float[Tensor, "batch n"]

    @classmethod
    def fit(cls, z: Float[Tensor, "batch n d_z"]) -> "LeastSquares":
        """Prepares the regression on Z.

        Args:
            z: robustly scaled values. Rows far out weigh less, as one of them alone could turn
                the plane; an exact relation is found under any weights.
        """
        root = (1 + z.square().mean(dim=2) / _FAR**2).rsqrt()
        design = torch.cat([torch.ones_like(z[..., :1]), z], dim=2) * root[..., None]
        # Columns of one size, so that the cut-off below means the same for all.
        design = design / design.norm(dim=1, keepdim=True).clamp(min=1e-300)
        q, r = torch.linalg.qr(design)
        u, s, _ = torch.linalg.svd(r)
        basis = (q @ u) * (s > _NEGLIGIBLE * s[:, :1])[:, None, :]
        left = (1 - basis.square().sum(dim=2)).clamp(min=1e-3)
        return cls(basis, root, left)

    def __getitem__(self, sets: slice) -> "LeastSquares":
        """Selects some of a batch of sets, without a copy."""
        return LeastSquares(self.basis[sets], self.root[sets], self.left[sets])

    def residuals(self, v: Float[Tensor, "batch t n"]) -> Float[Tensor, "batch t n"]:
        """Computes leave-one-out residuals."""
        weighted = v * self.root[:, None]
        rest = weighted - (weighted @ self.basis) @ self.basis.mT
        return rest / (self.root * self.left)[:, None]
