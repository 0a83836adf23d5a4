"""Questions about real tables: what is real in them, and whether their labels hold."""

import numpy as np
import pytest
from scipy import stats

from acid_causal.errors import OptionError
from acid_causal.synthetic.datasets import LabelledDatasets
from benchmarks.data.matched_questions import NEIGHBOURS, table_questions
from benchmarks.data.real_tables import TABLES, real_table

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
    assert set(TABLES) == {"sachs", "diabetes", "wine", "breast-cancer"}
