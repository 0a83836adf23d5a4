"""Questions from a user's table: real where they say so, and answered rightly by construction."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from acid_causal.model.transform import rank_normal
from acid_causal.synthetic.draws import seeded
from acid_causal.training.redrawing import classify
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
    for k in range(40):
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
    for k in range(24):
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
    assert len(p) > 160
    for level in (0.05, 0.2):
        # Fisher's z is about right only for residuals that are not normal, hence the margin.
        assert abs((p < level).mean() - level) < 4 * np.sqrt(level / len(p)) + 0.01


def test_dependence_shows_where_it_was_put_in(confounded: np.ndarray) -> None:
    stream = stream_of(confounded)
    inside, outside = [], []
    for k in range(15):
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


# ---- categories -------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed() -> tuple[np.ndarray, tuple[int, ...]]:
    """600 x 5: two numbers, and categories of 3, 4 and 3 levels that share much of their noise."""
    rng = np.random.default_rng(5)
    z, shared = rng.normal(size=(2, 600))
    kind = np.digitize(z + shared, [-0.8, 0.8])
    group = np.array([2, 0, 3, 1])[np.digitize(shared - z, [-1.0, 0.0, 1.2])]
    colour = np.array([1, 2, 0])[np.digitize(z, [-0.5, 0.5])]
    columns = [z, kind, z**2 + rng.normal(size=600), group, colour]
    return np.column_stack(columns).astype(float), (1, 3, 1, 4, 3)


def test_kinds_of_made_questions(mixed: tuple[np.ndarray, tuple[int, ...]]) -> None:
    data, levels = mixed
    stream = stream_of(data, entries=1000, targets=(3, 5), levels=levels)
    seen = set()
    for k in range(34):
        batch = stream.draw(seeded("kinds", k), n=60)
        assert batch.widths is not None
        assert list(batch.widths) == sorted(batch.widths, key=lambda width: width > 1)
        assert batch.z.shape[1:] == (60, sum(batch.widths))
        at = batch.widths.count(1)
        for width in batch.widths[at:]:
            indicators = batch.z[..., at : at + width]
            assert set(indicators.unique().tolist()) <= {0.0, 1.0}
            assert (indicators.sum(dim=2) == 1).all()
            at += width
        targets = batch.x.shape[1]
        assert batch.x.isfinite().all()
        if batch.categories is not None:
            assert (batch.categories.sum(dim=3) == 1).all()
            targets += batch.categories.shape[1]
        assert batch.dependent.shape[1:] == (targets, targets)
        assert 3 <= targets <= 5
        seen.add((batch.x.shape[1] > 0, batch.categories is not None, max(batch.widths, default=0)))
    assert {(True, True, 4), (True, True, 1), (True, True, 0)} <= seen
    assert {kinds[:2] for kinds in seen} == {(True, True), (True, False), (False, True)}


def test_a_real_category_comes_with_its_rows() -> None:
    """Three names of one category: the first target fits Z in every row, others mostly."""
    kind = np.random.default_rng(0).integers(0, 3, 200)
    table = np.column_stack([kind, (kind + 1) % 3, (kind + 2) % 3]).astype(float)
    stream = stream_of(table, levels=(3, 3, 3), entries=500)
    for k in range(5):
        batch = stream.draw(seeded("real", k), n=50, d_z=1)
        assert batch.categories is not None
        z, first = batch.z.argmax(dim=2), batch.categories[:, 0].argmax(dim=2)
        assert (first == (z + 1) % 3).all() or (first == (z + 2) % 3).all()
        assert not batch.dependent[:, 0, 1:].any()  # nothing of it is left given Z


def test_redrawn_levels_have_the_conditional_distribution() -> None:
    """P(level | z) is a softmax of curves; levels redrawn from 400 rows follow it in each bin."""
    generator = seeded("conditional")

    def true(z: torch.Tensor) -> torch.Tensor:
        return torch.cat([2 * torch.sin(2 * z), z, -z], dim=2).softmax(dim=2)

    z, at = (torch.randn(40, n, 1, generator=generator) for n in (400, 500))
    levels = torch.multinomial(true(z).flatten(0, 1), 1, generator=generator).view(40, 400)
    target = classify(z, levels, at, 3, generator)
    nothing = torch.zeros(40, 500, 0), torch.zeros(40, 0, dtype=torch.bool)
    drawn = target.redraw(nothing, torch.ones(40, 1), generator)
    for low, high in ((-2, -1), (-1, -0.3), (-0.3, 0.3), (0.3, 1), (1, 2)):
        inside = (at[..., 0] > low) & (at[..., 0] < high)
        share = torch.nn.functional.one_hot(drawn.latent[inside], 3).double().mean(dim=0)
        torch.testing.assert_close(share, true(at)[inside].double().mean(dim=0), atol=0.06, rtol=0)
    # With less noise of its own it follows Z more closely.
    p = target.log_p.exp()
    mode = p.argmax(dim=2)
    strong = target.redraw(nothing, torch.full((40, 1), 0.2), generator)
    usual, closer = ((each.latent == mode).double().mean() for each in (drawn, strong))
    assert closer > usual + 0.1
    # As a cause, what is left given Z is unrelated to Z.
    left = drawn.innovation
    assert abs(float((left * at[..., 0]).mean())) < 0.05
    assert float(left.square().mean()) == pytest.approx(1, abs=0.1)
    assert not target.is_barren(drawn.latent).any()
    assert target.is_barren(mode).all()


@pytest.mark.parametrize("d_z", [0, 1])
def test_labels_of_categories_are_right(
    mixed: tuple[np.ndarray, tuple[int, ...]], d_z: int
) -> None:
    """Chi-square given the levels of a category, where Z is one, or given nothing."""
    categories = [1, 3, 4]
    stream = stream_of(mixed[0][:, categories], entries=5000, targets=(3, 3), levels=(3, 4, 3))
    pvalues: dict[bool, list[float]] = {True: [], False: []}
    for k in range(40):
        batch = stream.draw(seeded("labels", k), n=200, d_z=d_z)
        assert batch.categories is not None
        codes = batch.categories.argmax(dim=3).numpy()
        given = batch.z.argmax(dim=2).numpy() if d_z else np.zeros((len(codes), 200))
        for dataset in range(len(codes)):
            dependent = bool(batch.dependent[dataset, 0, 1])
            pvalues[dependent].append(
                stratified(codes[dataset, 0], codes[dataset, 1], given[dataset])
            )
    free, bound = (np.array(pvalues[label]) for label in (False, True))
    assert len(free) > 20
    assert stats.binomtest(int((free < 0.05).sum()), len(free), 0.05).pvalue > 0.001
    assert (bound < 0.05).mean() > 0.4


def stratified(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> float:
    """Sums chi-square statistics over the levels of Z."""
    total, degrees = 0.0, 0
    for level in np.unique(z):
        counts = stats.contingency.crosstab(x[z == level], y[z == level]).count
        if min(counts.shape) > 1:
            found = stats.chi2_contingency(counts, correction=False)
            total, degrees = total + found.statistic, degrees + found.dof
    return float(stats.chi2.sf(total, degrees)) if degrees else 1.0
