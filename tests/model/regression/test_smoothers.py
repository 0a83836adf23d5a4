"""Smoothers against the textbook: leave-one-out by leaving out, and kernel ridge by its formula."""

from dataclasses import replace

import pytest
import torch

from acid_causal.model.regression.smoothers import RIDGES, fit_smoothers, residualise, residualise_
from acid_causal.model.transform import rank_normal


def data(n: int = 60, d_z: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(1, n, d_z, generator=generator)
    v = torch.sin(2 * z[..., 0]) + 0.3 * torch.randn(1, n, generator=generator)
    return z, v[:, None]


def additive_kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.exp(-0.5 * (a[:, None] - b[None]).square()).mean(-1)


def test_fit_is_kernel_ridge_regression() -> None:
    z, v = data()
    z, v = z.double(), v.double()
    smoother = fit_smoothers(z, rank=60)[1]
    centre = torch.eye(60, dtype=z.dtype) - 1 / 60
    kernel = centre @ additive_kernel(z[0], z[0]) @ centre
    centred = v[0, 0] - v.mean()
    for k, ridge in enumerate(RIDGES):
        expected = v.mean() + kernel @ torch.linalg.solve(
            kernel + ridge * torch.eye(60, dtype=z.dtype), centred
        )
        torch.testing.assert_close(
            smoother.smooth(v, torch.tensor([[k]]))[0, 0], expected, atol=5e-3, rtol=0
        )


def test_residual_is_what_a_fit_without_the_row_leaves() -> None:
    z, v = data()
    z, v = z.double(), v.double()
    smoother = fit_smoothers(z, rank=60)[0]  # linear: (K + ridge)^-1 is easy to refit
    residual, best = smoother.residuals(v)
    ridge = RIDGES[int(best)]
    design = z[0] / 2**0.5
    for row in (0, 7, 33):
        keep = torch.arange(60) != row
        # The intercept is not penalised, the slopes are.
        a = torch.cat([torch.ones(59, 1, dtype=z.dtype), design[keep]], dim=1)
        penalty = ridge * torch.diag(torch.tensor([0.0, 1.0, 1.0], dtype=z.dtype))
        beta = torch.linalg.solve(a.T @ a + penalty, a.T @ v[0, 0, keep])
        predicted = beta[0] + design[row] @ beta[1:]
        assert abs(v[0, 0, row] - predicted - residual[0, 0, row]) < 2e-3


def test_closer_ridges_are_two_steps_smaller_within_their_leverage() -> None:
    z, _ = data(n=60, d_z=2)
    smoother = fit_smoothers(z, rank=60)[2]
    closer = smoother.closer()[0]
    leverage = smoother.leverage[0].mean(1)
    for ridge in range(len(RIDGES)):
        chosen = int(closer[ridge])
        # As small as allowed, and never larger than the ridge itself.
        assert ridge - 2 <= chosen <= ridge
        assert leverage[chosen] <= 1 / 3 or chosen == ridge
        assert chosen <= max(0, ridge - 2) or leverage[chosen - 1] > 1 / 3


def test_closer_fit_leaves_less_of_the_function() -> None:
    generator = torch.Generator().manual_seed(1)
    z = torch.randn(40, 200, 2, generator=generator)
    signal = (z[..., 0] * z[..., 1])[:, None]
    noise = 0.3 * torch.randn(40, 1, 200, generator=generator)
    left, close = fit_smoothers(z, rank=64)[2].two_residuals(signal + noise)
    torch.testing.assert_close(left, fit_smoothers(z, rank=64)[2].residuals(signal + noise)[0])
    bias = [float(((r - noise) * signal).mean().abs()) for r in (left, close)]
    assert bias[1] < 0.6 * bias[0]


@pytest.mark.parametrize("d_z", [1, 3])
def test_nonlinear_dependence_is_explained(d_z: int) -> None:
    z, v = data(n=300, d_z=d_z)
    linear, additive, joint = (s.residuals(v)[0].var() for s in fit_smoothers(z, rank=48))
    noise = 0.09
    assert linear > 2 * noise
    assert additive < 1.4 * noise
    assert joint < 1.8 * noise


def test_no_row_order_and_no_column_order() -> None:
    z, v = data(n=80, d_z=3)
    rows = torch.randperm(80, generator=torch.Generator().manual_seed(3))
    for a, b in zip(fit_smoothers(z, 32), fit_smoothers(z[:, rows].flip(2), 32), strict=True):
        torch.testing.assert_close(
            a.residuals(v)[0][..., rows], b.residuals(v[..., rows])[0], atol=1e-3, rtol=0
        )


def test_only_the_joint_smoother_sees_an_interaction() -> None:
    generator = torch.Generator().manual_seed(1)
    z = torch.randn(1, 400, 2, generator=generator)
    v = (z[..., 0] * z[..., 1] + 0.2 * torch.randn(1, 400, generator=generator))[:, None]
    linear, additive, joint = (s.residuals(v)[0].var() for s in fit_smoothers(z, rank=64))
    assert min(linear, additive) > 0.7 * v.var()
    assert joint < 0.4 * v.var()


def test_each_target_gets_the_ridge_of_least_leave_one_out_error() -> None:
    z, v = data(n=100, d_z=1)
    targets = torch.cat([v, torch.randn(v.shape, generator=torch.Generator().manual_seed(9))], 1)
    smoother = fit_smoothers(z, rank=40)[1]
    _, best = smoother.residuals(targets)
    errors = torch.stack(
        [
            (
                (targets - smoother.smooth(targets, torch.full_like(best, k)))
                / (1 - smoother.leverage[:, k, None])
            )
            .square()
            .mean(2)
            for k in range(len(RIDGES))
        ]
    )
    assert torch.equal(errors.argmin(0), best)
    assert best[0, 0] < best[0, 1]  # a signal is smoothed less than noise


@pytest.mark.parametrize("kind", ["integers", "binary", "grid", "normal"])
@pytest.mark.parametrize("d_z", [1, 4])
def test_pivots_do_not_know_the_order_of_rows_or_columns(kind: str, d_z: int) -> None:
    generator = torch.Generator().manual_seed(4)
    z = torch.randn(1, 300, d_z, generator=generator)
    if kind == "integers":
        z = (2 * z).round()
    elif kind == "binary":
        z = torch.sign(z)
    elif kind == "grid":
        z = torch.linspace(-2, 2, 300)[None, :, None].expand(1, 300, d_z).clone()
        z = torch.stack([z[0, torch.randperm(300, generator=generator), k] for k in range(d_z)], 1)
        z = z[None]
    v = z.sum(2)[:, None].tanh() + torch.randn(1, 1, 300, generator=generator)
    rows = torch.randperm(300, generator=generator)
    for a, b in zip(
        fit_smoothers(rank_normal(z), 24),
        fit_smoothers(rank_normal(z[:, rows].flip(2)), 24),
        strict=True,
    ):
        torch.testing.assert_close(
            a.residuals(v)[0][..., rows], b.residuals(v[..., rows])[0], atol=2e-3, rtol=0
        )


@pytest.mark.parametrize("kind", ["copies", "constant", "few values"])
def test_degenerate_conditioning_sets_stay_finite(kind: str) -> None:
    z, v = data()
    if kind == "copies":
        z = torch.cat([z, z, z + 1e-8], dim=2)
    elif kind == "constant":
        z = torch.zeros_like(z)
    else:
        z = torch.sign(z)
    for smoother in fit_smoothers(z, 48):
        residual, _ = smoother.residuals(v)
        assert residual.isfinite().all()
        assert residual.abs().max() < 20


def test_residualising_takes_for_each_column_what_suits_it() -> None:
    generator = torch.Generator().manual_seed(12)
    z = torch.randn(1, 400, 2, generator=generator)
    noise = torch.randn(1, 4, 400, generator=generator)
    signal = torch.stack(
        [z[..., 0], torch.cos(2 * z[..., 0]), z[..., 0] * z[..., 1], 0 * z[..., 0]], dim=1
    )
    left = residualise(signal + 0.3 * noise, fit_smoothers(z, 64))
    centred = 0.3 * (noise - noise.mean(2, keepdim=True))
    excess = (left - centred).square().mean(2)[0] / 0.09
    # A line and nothing at all are learned almost for free; a wave and a product at a price.
    assert excess[0] < 0.05
    assert excess[1] < 0.2
    assert excess[2] < 0.5
    assert excess[3] < 0.05


def test_residualising_without_smoothers_takes_the_mean() -> None:
    _, v = data()
    torch.testing.assert_close(residualise(v, ()), v - v.mean(2, keepdim=True))


@pytest.mark.parametrize("count", [0, 3])
def test_residualising_in_place(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr("acid_causal.model.numerics.ROW_BLOCK", 7)
    z, v = data()
    smoothers = fit_smoothers(z, 16)[:count]
    expected = residualise(v, smoothers)
    residualise_(v, smoothers)
    torch.testing.assert_close(v, expected)


def test_a_smoother_that_is_there_twice_counts_twice() -> None:
    z, v = data(d_z=1)
    linear, of_each, joint = fit_smoothers(z, 16)
    assert of_each is joint  # on a line the two kernels are one
    again = replace(joint)
    assert again != joint
    torch.testing.assert_close(
        residualise(v, (linear, joint, joint)), residualise(v, (linear, joint, again))
    )


def test_a_line_needs_few_basis_functions() -> None:
    """The basis ends where nothing is left of the kernel: it stands for all of it."""
    z = torch.linspace(-2, 2, 300, dtype=torch.float64)[None, :, None]
    smoother = fit_smoothers(z, 64)[2]
    assert smoother.u.shape[2] < 25
    ridge = RIDGES.index(0.1)
    squares = (z - z.mT).square()[0]
    kernel = 0.5 * torch.exp(-0.5 * squares) + 0.5 * torch.exp(-0.5 * squares)
    centre = torch.eye(300, dtype=z.dtype) - 1 / 300
    kernel = centre @ kernel @ centre
    v = torch.sin(3 * z.mT)
    ridged = kernel + 0.1 * torch.eye(300, dtype=z.dtype)
    exact = kernel @ torch.linalg.solve(ridged, centre @ v[0, 0])
    fit = smoother.smooth(v, torch.full((1, 1), ridge))[0, 0] - v.mean()
    torch.testing.assert_close(fit, exact, atol=0.01, rtol=0)
