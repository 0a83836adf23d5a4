"""What regressions leave of a target, and what they say of it."""

from functools import cache

import numpy as np
import pytest
import torch

from acid_causal.model import ACIDModel, ModelConfig
from acid_causal.model.regression.regressions import LeastSquares, Regressed, _even_scale
from acid_causal.model.regression.smoothers import fit_smoothers

LINEAR, ADDITIVE, JOINT, BEST, EVEN, CLOSE, DEVIATIONS = range(7)


@cache
def network(directions: bool) -> ACIDModel:
    """Returns the network whose regressions are asked; none of its weights matter."""
    return ACIDModel(ModelConfig(transform="values", learned_directions=directions)).eval()


def regress(v: torch.Tensor, z: torch.Tensor, *, directions: bool = False) -> Regressed:
    """Regresses columns (n, t) on Z (n, d_z), both in the user's units."""
    model = network(directions)
    with torch.no_grad():
        given = model.encode_conditioning(model.transform(z[None]))
        return model._regress(model.transform(v[None]).mT, given)[1]


def draw(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def correlation(regressed: Regressed, channel: int) -> float:
    return float(np.corrcoef(regressed.compared[0, channel].numpy())[0, 1])


@pytest.mark.parametrize("noise", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("margin", ["normal", "clusters", "heavy"])
def test_noise_of_two_linear_effects_is_laid_bare(margin: str, noise: float) -> None:
    z, e = draw(400, 1, seed=0), draw(400, 2, seed=1)
    if margin == "clusters":
        z = 2.2 * z.sign() + 0.3 * draw(400, 1, seed=2)
    elif margin == "heavy":
        z = z**3
    found = regress(z + noise * e, z)
    for k in range(2):
        left = found.compared[0, BEST, k].numpy()
        assert abs(np.corrcoef(left, e[:, k])[0, 1]) > 0.97
    assert abs(correlation(found, BEST)) < 0.15
    assert not found.determined.any()
    assert (found.nonlinear < 0.05).all()


def test_what_is_explained_is_a_share_of_variance() -> None:
    z, e = draw(1000, 1, seed=3), draw(1000, 2, seed=4)
    v = torch.cat([z + e[:, :1], torch.tanh(2 * z) + 0.3 * e[:, 1:]], dim=1)
    found = regress(v, z)
    assert found.explained[0, 0] == pytest.approx(0.5, abs=0.06)
    assert found.nonlinear[0, 0] < 0.05 < 0.2 < found.nonlinear[0, 1]


def test_one_function_of_four_causes_in_both_is_laid_bare_along_its_direction() -> None:
    """Squares of one sum, n = 200; the other smoothers leave the same remainder in X and in Y."""
    correlations = []
    for seed in range(20):
        z, e = draw(200, 4, seed=seed), draw(200, 2, seed=100 + seed)
        v = z.sum(dim=1, keepdim=True).square() / 4 + 0.5 * e
        found = [regress(v, z, directions=learned) for learned in (False, True)]
        correlations.append([correlation(one, BEST) for one in found])
        assert (found[1].explained > found[0].explained).all()
    plain, learned = np.abs(correlations).mean(axis=0)
    assert learned < 0.11  # that of independent normal columns is .06
    assert plain > 1.5 * learned


def test_one_variable_has_one_direction() -> None:
    z, e = draw(100, 1, seed=0), draw(100, 2, seed=1)
    assert regress(z + e, z, directions=True).own is None


def test_common_volatility_leaves_an_even_scale() -> None:
    z, e = draw(1000, 1, seed=5), draw(1000, 2, seed=6)
    found = regress(torch.exp(z) * e, z)
    size = found.compared[0, EVEN].abs().log()
    of_z = [float(np.corrcoef(row, z[:, 0])[0, 1]) for row in size.numpy()]
    assert max(map(abs, of_z)) < 0.15


def test_only_dust_is_determined() -> None:
    z, e = draw(300, 2, seed=7), draw(300, 1, seed=8)
    total, smooth = z.sum(1, keepdim=True), torch.sin(z[:, :1])
    assert regress(torch.cat([total, smooth], 1), z).determined.tolist() == [[True, True]]
    noisy = torch.cat([total + 0.01 * e, smooth + 0.01 * e], 1)
    assert regress(noisy, z).determined.tolist() == [[False, False]]


def test_few_values_in_a_sorted_table_determine_nothing() -> None:
    z = torch.arange(4, dtype=torch.float64).repeat_interleave(100)[:, None]
    v = (draw(400, 1, seed=9) > 0).double().sort(dim=0).values
    assert not regress(v, z).determined.any()


def test_without_conditioning_variables_ranks_are_compared() -> None:
    v = draw(50, 2, seed=10)
    found = regress(v, draw(50, 0, seed=11))
    assert found.compared.shape == (1, 7, 2, 50)
    assert (found.explained == 0).all()
    assert not found.determined.any()
    for k in range(2):
        order, places = found.compared[0, BEST, k].argsort(), v[:, k].argsort()
        # The sign is the one of positive skewness.
        assert torch.equal(order, places) or torch.equal(order, places.flip(0))


def test_residuals_on_an_even_scale_lose_what_z_says_of_their_spread() -> None:
    generator = torch.Generator().manual_seed(11)
    z = torch.randn(1, 600, 1, generator=generator)
    noise = torch.randn(1, 600, 1, generator=generator)
    smoothers = fit_smoothers(z, 64)
    even = _even_scale((noise * torch.exp(0.5 * z)).mT, smoothers[-1], 1.5, 0.05)
    correlation = np.corrcoef(z[0, :, 0], even[0, 0].abs())[0, 1]
    before = np.corrcoef(z[0, :, 0], (noise * torch.exp(0.5 * z))[0, :, 0].abs())[0, 1]
    assert before > 0.35
    assert abs(correlation) < before / 3


def test_a_linear_relation_is_removed_to_rounding_whatever_the_margins() -> None:
    z = draw(1, 200, 3, seed=0).pow(3)  # heavy tails
    v = (z @ torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64) + 5)[:, None]
    assert LeastSquares.fit(z).residuals(v).abs().max() < 1e-10 * v.abs().max()


def test_residuals_are_those_of_a_fit_without_the_row() -> None:
    z, v = draw(1, 40, 2, seed=0), draw(1, 1, 40, seed=1)
    weights = 1 / (1 + z[0].square().mean(1) / 9)
    expected = []
    for i in range(40):
        rest = torch.arange(40) != i
        design = torch.cat([torch.ones(40, 1, dtype=torch.float64), z[0]], dim=1)
        root = weights[rest].sqrt()[:, None]
        found = torch.linalg.lstsq(design[rest] * root, v[0, 0, rest, None] * root).solution
        expected.append(float(v[0, 0, i] - design[i] @ found[:, 0]))
    np.testing.assert_allclose(LeastSquares.fit(z).residuals(v)[0, 0], expected, atol=1e-10)


def test_collinear_columns_count_once() -> None:
    z, v = draw(1, 50, 1, seed=0), draw(1, 2, 50, seed=2)
    twice = torch.cat([z, z * 2, torch.zeros_like(z)], dim=2)
    found, expected = LeastSquares.fit(twice), LeastSquares.fit(z)
    # Rows weigh as the mean square of Z says, which differs: compare fits of the same rows' plane.
    assert found.basis.shape[2] == 4
    rank = found.basis.square().sum(1).round()
    assert rank.sum() == 2 == expected.basis.square().sum(1).round().sum()
    assert torch.isfinite(found.residuals(v)).all()


def test_closer_fit_holds_the_level_on_one_square_in_both() -> None:
    rejected = np.zeros(2)
    for seed in range(40):
        z, e = draw(200, 3, seed=seed), draw(200, 2, seed=1000 + seed)
        found = regress(z.sum(1, keepdim=True) ** 2 / 3 + 0.5 * e, z)
        size = [abs(correlation(found, channel)) for channel in (BEST, CLOSE)]
        rejected += np.array(size) > 1.96 / 200**0.5
    assert rejected[0] > 15  # what the best fit leaves, X and Y share
    assert rejected[1] < 10


def test_deviations_hold_the_level_on_one_jump_in_both() -> None:
    t = []
    for seed in range(40):
        z, e = draw(1000, 1, seed=seed), draw(1000, 2, seed=1000 + seed)
        jumps = torch.sign(z - 0.3) + torch.sign(z + 0.8)
        found = regress(jumps + 0.6 * e, z)
        best, less = (found.compared[0, channel].numpy() for channel in (BEST, DEVIATIONS))
        plain, corrected = best[0] @ best[1], 0.5 * (less[0] @ best[1] + less[1] @ best[0])
        t.append((plain / 1000**0.5, corrected / 1200**0.5))
    plain_t, corrected_t = np.abs(t).T
    assert (plain_t > 1.96).mean() > 0.2
    assert (corrected_t > 1.96).mean() < 0.1
