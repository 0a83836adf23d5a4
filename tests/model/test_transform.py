"""Columns as the network reads them."""

import torch
from scipy.stats import norm, rankdata

from acid_causal.model.transform import rank_normal, standardise


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
