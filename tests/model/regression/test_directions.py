"""Smoothers along learned directions: their parts by definition, and what they are for."""

import pytest
import torch

from acid_causal.model.regression import directions
from acid_causal.model.regression.directions import Knots, fit_directions
from acid_causal.model.regression.smoothers import (
    fit_fine_smoothers,
    fit_smoothers,
)
from acid_causal.model.transform import rank_normal


def sums(n: int = 200, d_z: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    """Squares and a wave of one weighted sum of Z, with noise of standard deviation .3."""
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(1, n, d_z, generator=generator)
    total = z.sum(2) / d_z**0.5
    functions = torch.stack([(total.square() - 1) / 2**0.5, 1.4 * torch.sin(2 * total)], dim=1)
    return z, functions + 0.3 * torch.randn(functions.shape, generator=generator)


def knots(z: torch.Tensor) -> Knots:
    ranks = rank_normal(z)
    return Knots(torch.cat([z, ranks], dim=2), fit_fine_smoothers(z, ranks, rank=64)[1])


def test_a_function_of_one_sum_needs_few_rows() -> None:
    z, v = sums()
    error = fit_directions(knots(z), v).residuals(v[0, :, None])[0].square().mean(2)
    joint = fit_fine_smoothers(z, rank_normal(z), rank=64)[0][-1]
    error_of_joint = joint.residuals(v)[0].square().mean(2)
    assert (error[:, 0] < 0.5 * error_of_joint[0]).all()
    assert error.max() < 2 * 0.3**2


def test_noise_is_not_explained() -> None:
    z, _ = sums()
    noise = torch.randn(1, 20, 200, generator=torch.Generator().manual_seed(1))
    error = fit_directions(knots(z), noise).residuals(noise[0, :, None])[0].square().mean(2)
    assert error.mean() > 0.9


def test_each_target_has_its_own_smoother_whatever_else_is_fitted() -> None:
    z, v = (part.double() for part in sums())
    together, alone = fit_directions(knots(z), v), fit_directions(knots(z), v[:, 1:])
    torch.testing.assert_close(together.u[1:].abs(), alone.u.abs(), atol=1e-5, rtol=0)
    assert not torch.allclose(together.leverage[0], together.leverage[1], atol=0.01)


def test_residuals_do_not_depend_on_the_order_of_rows_or_columns() -> None:
    z, v = sums()
    generator = torch.Generator().manual_seed(2)
    rows, columns = torch.randperm(200, generator=generator), torch.tensor([2, 0, 3, 1])
    residuals = fit_directions(knots(z), v).residuals(v[0, :, None])[0]
    moved = v[..., rows]
    other = fit_directions(knots(z[:, rows][..., columns]), moved).residuals(moved[0, :, None])[0]
    torch.testing.assert_close(other, residuals[..., rows], atol=1e-4, rtol=0)


def test_the_slope_is_the_derivative_of_the_kernel() -> None:
    squares = torch.linspace(0, 9, 40, dtype=torch.float64)[None, None].requires_grad_()
    value = directions._kernel(squares)
    assert value[0, 0, 0] == 1
    (slope,) = torch.autograd.grad(value.sum(), squares)
    torch.testing.assert_close(directions._slope(squares.detach()), slope)


def test_gradients_are_those_of_the_fit() -> None:
    z, v = (part.double() for part in sums(n=80))
    at = z[:, :20]
    smoother, to_knots = directions._smoother(z, at)
    residuals, best = smoother.residuals(v)
    weights, error = directions._weights(smoother, to_knots, v)
    torch.testing.assert_close(error, residuals.square().mean(2))
    rows = z.clone().requires_grad_()
    fit = (directions._kernel(directions._squares(rows, at)) @ weights.mT)[0].mT
    # The fit at a row is this sum of kernels, up to a constant.
    offset = smoother.smooth(v, best)[0] - fit.detach()
    torch.testing.assert_close(offset, offset[:, :1].expand_as(offset))
    products, _ = directions._products(z, at, v)
    for k in range(2):
        (gradients,) = torch.autograd.grad(fit[k].sum(), rows, retain_graph=True)
        torch.testing.assert_close(products[0, k], gradients[0].mT @ gradients[0])


def test_gradients_of_an_additive_fit_are_those_of_its_kernel() -> None:
    z, v = (part.double() for part in sums(n=80))
    at = z[:, :20]
    whitened = directions._whitening(directions._additive_kernel(at, at))
    fitted = directions._from_kernel(directions._additive_kernel(z, at), whitened)
    weights, error = directions._weights(*fitted, v)
    rows = z.clone().requires_grad_()
    apart = rows[0, :, None] - at[0]
    fit = directions._kernel(directions._NARROW * apart.square()).mean(2) @ weights[0].mT
    products, found = directions._additive_products(z, at, v)
    torch.testing.assert_close(found, error)
    for k in range(2):
        (gradients,) = torch.autograd.grad(fit[:, k].sum(), rows, retain_graph=True)
        torch.testing.assert_close(products[0, k], gradients[0].mT @ gradients[0])


def test_blocks_of_rows_and_targets_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    z, v = (part.double() for part in sums(n=100))
    expected = fit_directions(knots(z), v)
    for name in ("_AT_ONCE", "_MAX_ENTRIES", "_MAX_DIFFERENCES"):
        monkeypatch.setattr(directions, name, 1)
    found = fit_directions(knots(z), v)
    torch.testing.assert_close(found.leverage, expected.leverage)
    torch.testing.assert_close(found.u.abs(), expected.u.abs(), atol=1e-5, rtol=1e-4)


def test_a_wave_along_one_of_four_variables_is_found() -> None:
    z, _ = sums(n=600)
    z[..., 0] = torch.linspace(-1.7, 1.7, 600)
    wave = torch.sin(9 * z[..., 0]) + 0.3 * torch.randn(
        1, 600, generator=torch.Generator().manual_seed(4)
    )
    smoother = fit_directions(knots(z), wave[:, None])
    error = smoother.residuals(wave[:, None])[0].square().mean()
    joint = fit_fine_smoothers(z, rank_normal(z), rank=64)[0][-1]
    assert error < 0.25
    assert joint.residuals(wave[:, None])[0].square().mean() > 0.35


def test_a_constant_target_has_no_directions() -> None:
    z, v = sums(n=60)
    smoother = fit_directions(knots(z), torch.zeros_like(v))
    assert torch.isfinite(smoother.u).all()
    assert smoother.residuals(torch.zeros_like(v)[0, :, None])[0].abs().max() == 0


def test_a_smoother_for_each_target_is_that_of_its_set() -> None:
    z = torch.randn(2, 50, 2, generator=torch.Generator().manual_seed(3))
    smoother = fit_smoothers(z, rank=16)[2]
    repeated = smoother.for_each(3)
    assert repeated.u.shape[0] == 6
    torch.testing.assert_close(repeated.u[:3], smoother.u[:1].expand(3, -1, -1), atol=0, rtol=0)
    torch.testing.assert_close(repeated.shrink[5], smoother.shrink[1], atol=0, rtol=0)
