"""Eigenvectors, also where torch's algorithm gives up."""

from typing import Any

import pytest
import torch

from acid_causal.model.numerics import eigh


@pytest.mark.parametrize("gives_up", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_eigenvectors(monkeypatch: pytest.MonkeyPatch, gives_up: bool, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    factor = torch.randn(3, 20, 5, generator=generator, dtype=dtype)
    matrix = factor @ factor.mT  # fifteen eigenvalues are equal: nil
    if gives_up:

        def fail(_: torch.Tensor) -> None:
            raise torch.linalg.LinAlgError("failed to converge")  # type: ignore[attr-defined]

        monkeypatch.setattr(torch.linalg, "eigh", fail)
    values, vectors = eigh(matrix)
    assert values.dtype == vectors.dtype == dtype
    assert (values.diff(dim=1) >= 0).all()
    tolerance: dict[str, Any] = {"atol": 1e-4, "rtol": 1e-4} if dtype == torch.float32 else {}
    torch.testing.assert_close(vectors @ (values[:, :, None] * vectors.mT), matrix, **tolerance)
    identity = torch.eye(20, dtype=dtype).expand(3, -1, -1)
    torch.testing.assert_close(vectors.mT @ vectors, identity, **tolerance)
