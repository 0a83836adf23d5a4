"""Neighbours in the conditioning set, and the covariance that they correct."""

import numpy as np
import pytest
import torch
from scipy.spatial import cKDTree

from acid_causal.model.regression.neighbours import NEAREST, Neighbours


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def find(z: torch.Tensor) -> Neighbours:
    return Neighbours.find(z, z.float())


def test_neighbours_of_one_column_are_adjacent_in_its_order() -> None:
    z = torch.tensor([[5.0], [1.0], [2.0], [9.0], [4.0], [7.0], [0.0]], dtype=torch.float64)[None]
    v = torch.tensor([[[10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0]]])
    found = find(z)
    # Of z = 4 all six others are in the window, and the five nearest are those but z = 9.
    expected = 50 - np.mean([10, 20, 30, 60, 70])
    assert float(found.deviations(v)[0, 0, 4]) == pytest.approx(expected)


@pytest.mark.parametrize("d_z", [2, 3])
def test_neighbours_are_nearly_the_nearest(d_z: int) -> None:
    z = draw(1, 400, d_z)
    found = find(z).kept
    assert found is not None
    distance, _ = cKDTree(z[0]).query(z[0], k=NEAREST + 1)
    taken = found.weight[0] > 0
    ours = (z[0][found.rows[0]] - z[0][:, None]).norm(dim=2)
    assert torch.allclose(found.weight.sum(2), torch.tensor(1.0))
    mean = float((ours * taken).sum() / taken.sum())
    assert mean < 1.5 * distance[:, 1:].mean()


def test_rows_with_equal_z_are_their_own_neighbours() -> None:
    z = torch.tensor([[0.0, 1.0], [0.0, 1.0], [2.0, 3.0], [0.0, 1.0]], dtype=torch.float64)[None]
    v = torch.tensor([[[1.0, 4.0, 0.0, 7.0]]])
    deviations = find(z).deviations(v)[0, 0]
    assert deviations[0] == pytest.approx(1 - (4 + 7) / 2)
    # The third row is alone: its neighbour is the group of the others, by its mean.
    assert deviations[2] == pytest.approx(0 - 4)


def test_a_constant_has_no_neighbours_but_itself() -> None:
    v = draw(1, 2, 30).float()
    deviations = find(torch.zeros(1, 30, 1, dtype=torch.float64)).deviations(v)
    torch.testing.assert_close(deviations, (v - v.mean(2, keepdim=True)) * 30 / 29)


@pytest.mark.parametrize("levels", [None, 3])
def test_order_of_rows_and_columns_does_not_matter(levels: int | None) -> None:
    z, v = draw(1, 300, 3), draw(1, 2, 300, seed=1).float()
    if levels:
        z[..., 1] = (z[..., 1] * levels / 2).round()
        z[..., 2] = (z[..., 2] > 0.4).double()
    rows = torch.randperm(300, generator=torch.Generator().manual_seed(2))
    there = find(z[:, rows][..., [2, 0, 1]]).deviations(v[..., rows])
    torch.testing.assert_close(there, find(z).deviations(v)[..., rows])


def test_rows_of_few_values_are_told_apart() -> None:
    z = torch.cartesian_prod(*[torch.arange(3, dtype=torch.float64)] * 5)[None]
    group = find(0.6744897501960817 * z).group
    assert len(group.unique()) == 3**5


def test_selecting_sets() -> None:
    z, v = draw(3, 50, 2), draw(3, 2, 50, seed=1).float()
    found = find(z)
    torch.testing.assert_close(found[1:2].deviations(v[1:2]), found.deviations(v)[1:2])


def test_blocks_of_rows_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    z, v = draw(2, 60, 2), draw(2, 2, 60, seed=1).float()
    expected = find(z).deviations(v)
    monkeypatch.setattr("acid_causal.model.numerics.ROW_BLOCK", 7)
    torch.testing.assert_close(find(z).deviations(v), expected)


def test_a_common_remainder_cancels() -> None:
    """Residuals that share a rough function of Z are correlated, less their neighbours' not."""
    z = draw(200, 300, 1).float()
    remainder = 0.5 * torch.sign(torch.sin(9 * z[..., 0]))
    x, y = (remainder + draw(200, 300, seed=seed).float() for seed in (1, 2))
    of = find(z.double())
    plain = (x * y).mean(1)
    x_less, y_less = (of.deviations(v[:, None])[:, 0] for v in (x, y))
    corrected = 0.5 * (x_less * y + x * y_less).mean(1)
    assert plain.mean() > 0.2
    assert abs(corrected.mean()) < 0.05
    # The variance is 1 + 1/k times as large (without the remainder).
    free = [draw(200, 300, seed=seed).float() for seed in (3, 4)]
    less = [of.deviations(v[:, None])[:, 0] for v in free]
    variance = (0.5 * (less[0] * free[1] + free[0] * less[1]).mean(1)).var()
    assert float(variance * 300) == pytest.approx(1 + 1 / NEAREST, rel=0.25)
