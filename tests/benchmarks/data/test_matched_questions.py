"""Questions about real tables: what is real in them, and whether their labels hold."""

import numpy as np
import pytest
from scipy import stats

from acid_causal.errors import OptionError
from acid_causal.synthetic.datasets import LabelledDatasets
from benchmarks.data.matched_questions import NEIGHBOURS, table_questions
from benchmarks.data.real_tables import CATEGORIES, TABLES, real_table

GAUSSIAN = np.random.default_rng(5).multivariate_normal(np.zeros(4), 0.5 + 0.5 * np.eye(4), 1000)


def partial_correlation_pvalues(drawn: LabelledDatasets) -> np.ndarray:
    n, d_z = drawn.z.shape[1:]
    pvalues = []
    for x, y, z in zip(drawn.x.numpy(), drawn.y.numpy(), drawn.z.numpy(), strict=True):
        design = np.column_stack([np.ones(n), z])
        both = np.column_stack([x, y])
        left = both - design @ np.linalg.lstsq(design, both, rcond=None)[0]
        r = np.corrcoef(left.T)[0, 1]
        pvalues.append(2 * stats.norm.sf(abs(np.arctanh(r)) * np.sqrt(n - d_z - 3)))
    return np.array(pvalues)


def places(values: np.ndarray) -> tuple[list[int], list[int]]:
    """Finds the rows and the columns of the table that values come from."""
    found = np.array([np.argwhere(value == GAUSSIAN)[0] for value in values[:, 0]])
    return found[:, 0].tolist(), found[:, 1].tolist()


@pytest.mark.parametrize("d_z", [0, 1, 2])
def test_x_and_z_are_rows_of_the_table_and_y_holds_values_of_a_column(d_z: int) -> None:
    drawn = table_questions(GAUSSIAN, count=4, n=50, d_z=d_z, seed=0)
    assert drawn.x.shape == drawn.y.shape == (4, 50, 1)
    assert drawn.z.shape == (4, 50, d_z)
    assert drawn.label.tolist() == [0, 1, 0, 1]
    for x, y, z in zip(drawn.x.numpy(), drawn.y.numpy(), drawn.z.numpy(), strict=True):
        rows, columns = places(x)
        assert len(set(columns)) == 1
        assert len(set(rows)) == 50
        for k in range(d_z):
            assert (GAUSSIAN[rows] == z[:, [k]]).any(axis=1).all()
        sources, origin = places(y)
        assert len(set(origin)) == 1
        # Y comes from other rows than X: what is true of the column itself plays no part.
        assert not set(rows) & set(sources)


def test_labels_hold() -> None:
    """On a Gaussian table Fisher's z is exact, but for Y being drawn from neighbours."""
    drawn = table_questions(GAUSSIAN, count=800, n=60, d_z=1, seed=1)
    p = partial_correlation_pvalues(drawn)
    label = drawn.label.numpy()
    for level in (0.05, 0.2):
        bound = 4 * np.sqrt(level * (1 - level) / 400)
        assert abs((p[label == 0] < level).mean() - level) < bound
    # Fisher's z sees the monotone part of the dependent ones only.
    assert (p[label == 1] < 0.05).mean() > 0.25


def test_levels_are_drawn_from_neighbours_in_an_order_of_each_dataset() -> None:
    """Chi-square holds its level, and sees dependence in each direction of the codes."""
    rng = np.random.default_rng(6)
    causes = rng.integers(0, 3, 2000)
    table = np.column_stack(
        [causes, (causes + rng.integers(0, 2, 2000)) % 4, rng.normal(size=2000)]
    )
    drawn = table_questions(table, count=300, n=150, d_z=0, seed=2, categorical=(0, 1))
    assert drawn.categorical is not None
    p: dict[int, list[float]] = {0: [], 1: []}
    slopes = []
    for x, y, kinds, label in zip(
        drawn.x[..., 0].numpy(),
        drawn.y[..., 0].numpy(),
        drawn.categorical,
        drawn.label.tolist(),
        strict=True,
    ):
        if kinds[:2].all():
            assert set(y) <= {0.0, 1.0, 2.0, 3.0}
            counts = stats.contingency.crosstab(x, y).count
            p[label].append(stats.chi2_contingency(counts, correction=False).pvalue)
            if label:
                slopes.append(np.corrcoef(x, y)[0, 1])
    assert len(p[0]) > 40
    assert stats.binomtest(int(np.sum(np.array(p[0]) < 0.05)), len(p[0]), 0.05).pvalue > 0.001
    assert np.mean(np.array(p[1]) < 0.05) > 0.6
    assert min(np.mean(np.array(slopes) > 0.1), np.mean(np.array(slopes) < -0.1)) > 0.12
    given = table_questions(table, count=4, n=50, d_z=1, seed=3, categorical=(0, 1))
    assert given.categorical is not None
    assert given.categorical.shape == (4, 3)


def test_seeds() -> None:
    one, same, other = (
        table_questions(GAUSSIAN, count=2, n=20, d_z=1, seed=seed) for seed in (0, 0, 1)
    )
    assert (one.y == same.y).all()
    assert not (one.y == other.y).all()


def test_questions_that_a_table_cannot_hold() -> None:
    with pytest.raises(OptionError, match="n must be at most 500, half of the rows"):
        table_questions(GAUSSIAN, count=2, n=501, d_z=1, seed=0)
    with pytest.raises(OptionError, match="d_z must be at most 2"):
        table_questions(GAUSSIAN, count=2, n=50, d_z=3, seed=0)
    assert NEIGHBOURS < 20  # the smallest table here


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("sachs", (853, 11)),
        ("diabetes", (442, 11)),
        ("wine", (178, 14)),
        ("breast-cancer", (569, 31)),
    ],
)
def test_real_tables(name: str, shape: tuple[int, int]) -> None:
    plain, coarse = real_table(name), real_table(f"{name}-coarse")
    assert plain.shape == coarse.shape == shape
    assert np.isfinite(plain).all()
    assert (plain.min(axis=0) < plain.max(axis=0)).all()
    levels = [len(np.unique(column)) for column in coarse.T]
    assert max(levels[0::3]) == 2
    assert max(levels[1::3]) <= 5
    assert min(levels) == 2
    np.testing.assert_array_equal(plain[:, 2::3], coarse[:, 2::3])


def test_unknown_table() -> None:
    with pytest.raises(OptionError, match=r"unknown table 'whine'.*wine"):
        real_table("whine")
    assert set(TABLES) == {"sachs", "diabetes", "wine", "breast-cancer", "marriage"}


def test_the_mixed_table() -> None:
    table, codes = real_table("marriage"), list(CATEGORIES["marriage"])
    assert table.shape == (6366, 9)
    assert [sorted(set(table[:, k])) for k in codes] == [[0, 1, 2, 3, 4, 5]] * 2
