"""Columns as the network reads them."""

import torch
from scipy.stats import norm, rankdata

from acid_causal.model.transform import rank_normal, robust, standardise, tame, tie_chance


def test_rank_normal_is_the_normal_score_of_the_mean_rank() -> None:
    column = torch.tensor([3.0, 1.0, 2.0, 2.0, 9.0, -4.0, 2.0])
    scores = norm.ppf((rankdata(column.numpy()) - 0.5) / 7)
    scores = (scores - scores.mean()) / scores.std()
    got = rank_normal(column[None, :, None].double())[0, :, 0]
    torch.testing.assert_close(got, torch.from_numpy(scores))


def test_rank_normal_is_invariant_to_increasing_maps() -> None:
    x = torch.randn(2, 50, 3, generator=torch.Generator().manual_seed(0)).double()
    for same in (x.exp(), 1e12 * x, 1e-12 * x, x**3 - 7):
        torch.testing.assert_close(rank_normal(same), rank_normal(x))


def test_extremes_and_constants_stay_finite() -> None:
    rows = [[1e300, 1.0, 0.0], [-1e300, 1.0, 1e-300], [1e12, 1.0, 3e-300]]
    x = torch.tensor(rows, dtype=torch.float64)
    for transform in (rank_normal, standardise):
        got = transform(x[None])
        assert got.isfinite().all()
        assert (got[..., 1] == 0).all()
        torch.testing.assert_close(
            got[..., 2].square().mean(), torch.tensor(1.0, dtype=torch.float64)
        )


def test_robust_values_are_blind_to_shift_scale_and_sign() -> None:
    x = torch.randn(1, 101, 2, generator=torch.Generator().manual_seed(1)).double().exp()
    expected = robust(x)
    for same in (7 - x, -1e9 * x, 3e-12 * x + 1e-12):
        torch.testing.assert_close(robust(same), expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(
        robust(x[:, torch.randperm(101)]).sort(1).values, robust(x.sort(1).values)
    )


def test_robust_values_of_a_normal_column_have_variance_one_and_skew_to_the_right() -> None:
    x = torch.randn(1, 100_001, 1, generator=torch.Generator().manual_seed(2)).double()
    assert abs(robust(5 * x + 3).square().mean() - 1) < 0.02
    assert robust(-x.exp()).mean() > 0  # the median is at 0, the long tail above it


def test_the_order_of_rows_does_not_turn_a_symmetric_column() -> None:
    """Its skewness is 0, and rounding errors must not decide its sign."""
    generator = torch.Generator().manual_seed(0)
    x = torch.tensor([-1.1, 0.0, 1.1], dtype=torch.float64).repeat(20)[None, :, None]
    for _ in range(20):
        order = torch.randperm(60, generator=generator)
        assert torch.equal(robust(x[:, order]), robust(x)[:, order])


def test_units_do_not_turn_a_symmetric_column() -> None:
    month = torch.arange(60, dtype=torch.float64) % 12
    columns = torch.stack([month, (month * torch.pi / 6).cos(), month % 2], dim=1)[None]
    for factor, shift in ((3.7, -11.0), (0.1, 0.3), (1e5, 7.0), (1 / 3, -1 / 7)):
        torch.testing.assert_close(robust(factor * columns + shift), robust(columns))


def test_outliers_do_not_set_the_scale() -> None:
    x = torch.randn(1, 200, 1, generator=torch.Generator().manual_seed(2)).double()
    spoilt = x.clone()
    spoilt[0, :4, 0] *= 1e12
    middle = slice(4, None)
    torch.testing.assert_close(
        robust(spoilt)[:, middle].abs(), robust(x)[:, middle].abs(), rtol=0.1, atol=0.05
    )
    assert robust(spoilt).abs().max() == 1e3


def test_robust_scale_where_half_of_a_column_is_one_value() -> None:
    column = torch.zeros(1, 100, 1, dtype=torch.float64)
    column[0, :20, 0] = torch.arange(20)
    got = robust(column)
    assert 3 < got.max() < 30
    assert (robust(torch.full((1, 9, 1), 5.0)) == 0).all()


def test_taming_leaves_the_middle_alone_and_keeps_the_order() -> None:
    x = torch.linspace(-50, 50, 1001, dtype=torch.float64)
    assert (tame(x).diff() > 0).all()
    torch.testing.assert_close(tame(x[x.abs() <= 2]), x[x.abs() <= 2])
    torch.testing.assert_close(tame(-x), -tame(x))
    assert tame(torch.tensor(1e6)) < 20


def test_tie_chance_is_that_of_two_rows_drawn_with_replacement() -> None:
    columns = torch.tensor([[3.0, 1.0, 3.0, 2.0], [5.0, 5.0, 5.0, 5.0], [4.0, 3.0, 2.0, 1.0]])
    expected = (columns[:, :, None] == columns[:, None]).float().mean(dim=(1, 2))
    torch.testing.assert_close(tie_chance(columns[None])[0], expected)
    torch.testing.assert_close(tie_chance(columns[None, 2:])[0], expected[2:])


def test_ties_are_counted_in_any_order_of_memory() -> None:
    """Torch warns once in a process where it must copy: always, here."""
    columns = torch.tensor([[[0.0, 1.0], [0.0, 2.0], [1.0, 3.0]]]).mT
    torch.set_warn_always(True)
    try:
        chance = tie_chance(columns)
    finally:
        torch.set_warn_always(False)
    torch.testing.assert_close(chance, torch.tensor([[5 / 9, 3 / 9]]))
