"""Cells of like rows, and permutations within them."""

import numpy as np
import pytest

from acid_causal.inference.nulls.neighbourhoods import SMALLEST, neighbourhoods, permutations
from acid_causal.inference.rows.hashes import Content, ranks, read_content


def content(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Content:
    one, other = (
        np.stack([ranks(column) for column in part.reshape(len(x), -1).T], axis=1)
        for part in (x, y)
    )
    given = [ranks(column) for column in z.T]
    return read_content(
        one, other, np.stack(given, axis=1) if given else np.empty((len(x), 0), int)
    )


def cells_of(c: Content) -> np.ndarray:
    return neighbourhoods(c.z, np.hstack([c.x, c.y]))


def draw(n: int, d_z: int, seed: int = 0) -> Content:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d_z))
    cause = z[:, 0] if d_z else 0
    return content(cause + rng.normal(size=n), cause + rng.normal(size=n), z)


@pytest.mark.parametrize(("n", "d_z"), [(4, 1), (9, 1), (57, 1), (200, 3), (120, 40)])
def test_cells_are_small_but_not_too_small(n: int, d_z: int) -> None:
    sizes = np.bincount(cells_of(draw(n, d_z)))
    assert sizes.sum() == n
    assert sizes.min() >= min(n, SMALLEST)
    assert sizes.max() < 2 * SMALLEST


def test_without_z_all_rows_are_neighbours() -> None:
    assert set(cells_of(draw(50, 0))) == {0}


def test_cells_of_a_single_variable_are_intervals() -> None:
    c = draw(100, 1)
    by_z = cells_of(c)[np.argsort(c.z[:, 0])]
    assert (np.diff(by_z) != 0).sum() == len(set(by_z)) - 1


def test_cells_of_discrete_variables_are_their_values() -> None:
    rng = np.random.default_rng(1)
    z = rng.integers(0, 2, (300, 2)).astype(float)
    cells = cells_of(content(z[:, 0] + rng.normal(size=300), z[:, 1] * rng.normal(size=300), z))
    values = z @ [1, 2]
    assert all(len(set(cells[values == v])) == 1 for v in range(4))
    assert len(set(cells)) == 4


def test_columns_that_do_not_matter_are_hardly_cut() -> None:
    """One cause among ten columns: cells are about as short along it as if it were alone."""
    rng = np.random.default_rng(2)
    z = rng.normal(size=(400, 10))
    c = content(z[:, 3] + 0.2 * rng.normal(size=400), z[:, 3] + 0.2 * rng.normal(size=400), z)
    cells = cells_of(c)

    def length(column: np.ndarray) -> float:
        return float(np.mean([column[cells == cell].std() for cell in set(cells)]))

    assert length(z[:, 3]) < 0.15
    assert min(length(z[:, k]) for k in range(10) if k != 3) > 0.6


def test_permutations_stay_in_their_cells_and_reach_all_of_them() -> None:
    c = draw(90, 2)
    cells = cells_of(c)
    drawn = permutations(c.keys, cells, range(500))
    assert (np.sort(drawn, axis=1) == np.arange(90)).all()
    assert (cells[drawn] == cells).all()
    # Each row of a cell of m comes to a given place m times as seldom as not: chi squared.
    members = np.flatnonzero(cells == cells[0])
    counts = np.array([[(drawn[:, a] == b).sum() for b in members] for a in members])
    m = len(members)
    squares = (counts - 500 / m) ** 2 / (500 / m)
    assert squares.sum() < (m - 1) ** 2 + 5 * np.sqrt(2) * (m - 1)
    assert len(np.unique(drawn, axis=0)) == 500


def test_permutations_move_along_with_the_rows() -> None:
    rng = np.random.default_rng(3)
    x, y, z = rng.normal(size=60), rng.normal(size=60), rng.normal(size=(60, 2))
    rows = rng.permutation(60)
    before, after = content(x, y, z), content(x[rows], y[rows], z[rows])
    drawn = permutations(before.keys, cells_of(before), range(5))
    moved = permutations(after.keys, cells_of(after), range(5))
    np.testing.assert_array_equal(y[drawn][:, rows], y[rows][moved])
    np.testing.assert_array_equal(
        drawn[3:], permutations(before.keys, cells_of(before), range(3, 5))
    )


def one_by_one(along: np.ndarray, tested: np.ndarray, smallest: int) -> np.ndarray:
    """The same cells, split one after another."""
    cells, waiting = np.zeros(len(along), dtype=np.int64), [np.arange(len(along))]
    while waiting:
        rows = waiting.pop()
        best, upper = 0.0, None
        for column in along[rows].T:
            ordered = np.sort(column)
            cuts = [
                low
                for low in range(smallest, len(rows) - smallest + 1)
                if ordered[low - 1] < ordered[low]
            ]
            if not cuts:
                continue
            low = min(cuts, key=lambda low: (abs(2 * low - len(rows)), low))
            above = column > ordered[low - 1]
            gap = tested[rows][~above].mean(axis=0) - tested[rows][above].mean(axis=0)
            gain = (1 + np.square(gap).sum()) * low * (len(rows) - low)
            if gain > best:
                best, upper = gain, above
        if upper is not None:
            cells[rows[upper]] = cells.max() + 1
            waiting += [rows[upper], rows[~upper]]
    return cells


@pytest.mark.parametrize(("n", "k", "levels"), [(9, 1, 0), (60, 2, 0), (157, 4, 0), (150, 3, 4)])
def test_cells_are_those_of_one_cut_after_another(n: int, k: int, levels: int) -> None:
    rng = np.random.default_rng(n)
    along = rng.integers(0, levels or 10**6, size=(n, k))
    tested = along[:, :1] + rng.integers(0, 100, size=(n, 2))
    for smallest in (2, 5):
        cells = neighbourhoods(along, tested, smallest)
        expected = one_by_one(along, tested, smallest)
        pairs = set(zip(cells.tolist(), expected.tolist(), strict=True))
        assert len(pairs) == len(set(cells)) == len(set(expected))
