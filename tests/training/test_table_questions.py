"""Questions from a user's table: real where they say so, and answered rightly by construction."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from acid_causal.model.transform import rank_normal
from acid_causal.synthetic.draws import seeded
from acid_causal.training.table_questions import TableStream


def stream_of(data: np.ndarray, **options: Any) -> TableStream:
    return TableStream(torch.from_numpy(data).float(), 0, **options)


@pytest.fixture(scope="module")
def confounded() -> np.ndarray:
    """300 x 4: the first column drives the others; two of them share nearly all of their noise."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=300)
    shared = rng.normal(size=300)
    x = z + shared
    y = shared - z + 0.2 * rng.normal(size=300)
    return np.column_stack([z, x, y, rng.poisson(1 + (z > 0))]).astype(float)


def test_shapes_and_sizes(confounded: np.ndarray) -> None:
    stream = stream_of(confounded, entries=4000, targets=(3, 5))
    assert stream.n == (50, 200)
    assert stream.d_z == (0, 2)
    seen = set()
    for k in range(60):
        batch = stream.draw(seeded("shapes", k))
        count, t, n, d_x = batch.x.shape
        assert batch.z.shape[:2] == (count, n)
        assert (d_x, batch.source) == (1, "table")
        assert 50 <= n <= 200
        assert 3 <= t <= 5
        assert count * n * (t + batch.z.shape[2]) < 4000 + n * (t + 2)
        assert torch.equal(batch.dependent, batch.dependent.mT)
        assert batch.dependent.diagonal(dim1=1, dim2=2).all()
        assert batch.x.isfinite().all()
        seen.add(batch.z.shape[2])
    assert seen == {0, 1, 2}
    sized = stream.draw(seeded("shapes"), n=80, d_z=1)
    assert sized.z.shape[1:] == (80, 1)


def test_equal_generators_draw_equal_batches(confounded: np.ndarray) -> None:
    stream = stream_of(confounded)
    one, two, other = (stream.draw(seeded("a", k)) for k in (0, 0, 1))
    assert torch.equal(one.x, two.x)
    assert torch.equal(one.z, two.z)
    assert one.x.shape != other.x.shape or not torch.equal(one.x, other.x)


def test_conditioning_set_and_first_target_are_rows_of_the_table(confounded: np.ndarray) -> None:
    stream = stream_of(confounded)
    table = torch.from_numpy(confounded).float()
    batch = stream.draw(seeded("rows"), n=60, d_z=2)
    for dataset in range(len(batch.z)):
        real = torch.cat([batch.z[dataset], batch.x[dataset, 0]], dim=1)
        # The columns come in any order; their rows are rows of the table, and none twice.
        columns = [int((table == real[:1, k]).any(dim=0).nonzero()[0]) for k in range(3)]
        places = (real[:, None] == table[:, columns]).all(dim=2)
        assert places.any(dim=1).all()
        assert len(set(places.float().argmax(dim=1).tolist())) > 55


def test_redrawn_targets_are_as_discrete_as_their_columns(confounded: np.ndarray) -> None:
    stream = stream_of(confounded)
    values = [set(column.tolist()) for column in torch.from_numpy(confounded).float().T]
    batch = stream.draw(seeded("discrete"), n=100)
    redrawn = batch.x[:, 1:].flatten(0, 1)[..., 0]
    origin = [[set(target.tolist()) <= known for known in values] for target in redrawn]
    assert all(any(row) for row in origin)
    counts = [row[3] for row in origin]
    assert 0 < sum(counts) < len(counts)


def test_independent_targets_keep_no_trace_of_what_their_columns_shared(
    confounded: np.ndarray,
) -> None:
    """X and a column that it depends on strongly, redrawn: the level of Fisher's z holds."""
    stream = stream_of(confounded[:, :3], entries=8000)
    pvalues = []
    for k in range(60):
        batch = stream.draw(seeded("level", k), n=100, d_z=1)
        z = rank_normal(batch.z)
        for dataset in range(len(batch.x)):
            free = (~batch.dependent[dataset, 0, 1:]).nonzero()[:, 0]
            if len(free):
                x = rank_normal(batch.x[dataset, [0, 1 + int(free[0])], :, 0].T[None])[0]
                design = torch.cat([torch.ones(100, 1), z[dataset]], dim=1)
                left = x - design @ torch.linalg.lstsq(design, x).solution
                r = float(torch.corrcoef(left.T)[0, 1])
                pvalues.append(2 * stats.norm.sf(abs(np.arctanh(r)) * np.sqrt(100 - 4)))
    p = np.array(pvalues)
    assert len(p) > 400
    for level in (0.05, 0.2):
        # Fisher's z is about right only for residuals that are not normal, hence the margin.
        assert abs((p < level).mean() - level) < 4 * np.sqrt(level / len(p)) + 0.01


def test_dependence_shows_where_it_was_put_in(confounded: np.ndarray) -> None:
    stream = stream_of(confounded)
    inside, outside = [], []
    for k in range(30):
        batch = stream.draw(seeded("power", k), n=200, d_z=0)
        ranks = rank_normal(batch.x[..., 0].mT)
        # Marginal dependence of any shape: of values or of their squares.
        both = torch.stack([ranks, ranks**2 - 1])
        strength = (both.mT[:, None] @ both[None] / 200).abs().amax(dim=(0, 1))
        off = ~torch.eye(ranks.shape[2], dtype=torch.bool)
        inside.append(strength[batch.dependent & off])
        outside.append(strength[~batch.dependent & off])
    assert torch.cat(inside).median() > 2 * torch.cat(outside).median()


def test_an_x_that_is_a_function_of_z_has_no_effects() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=200)
    stream = stream_of(np.column_stack([z, -3 * z, np.exp(z)]))
    for k in range(10):
        batch = stream.draw(seeded("function", k), n=60, d_z=1)
        assert not batch.dependent[:, 0, 1:].any()
