"""Tail maps: uniform p-values at each number of rows, and files with and without sizes."""

from itertools import product

import numpy as np
import pytest

from acid_causal.calibration.tail_maps import TailMaps


def draw(m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """-log p: of kind 0 too large in large tables, of kind 1 in small ones; kinds; rows."""
    kind_of, n = rng.integers(0, 2, m), np.exp(rng.uniform(np.log(50), np.log(1000), m))
    stretch = np.where(kind_of == 0, n / 200, 200 / n) ** 0.15
    return rng.exponential(size=m) * stretch, kind_of, n


def test_levels_hold_for_each_kind_at_each_number_of_rows() -> None:
    rng = np.random.default_rng(0)
    maps = TailMaps.fit_by_kind(*draw(40_000, rng), kinds=2)
    u, kind_of, n = draw(60_000, rng)
    p = np.exp(-maps.apply(u, kind_of, n, max_slope=1.0))
    for kind, low in product((0, 1), (50, 100, 200, 400)):
        some = (kind_of == kind) & (n >= low) & (n < 2 * low)
        for level in (0.05, 0.01):  # one map for all: .03 to .07 and .005 to .016
            assert (p[some] < level).mean() == pytest.approx(level, rel=0.3)


def test_a_p_value_falls_with_the_statistic_and_does_not_jump_with_the_rows() -> None:
    maps = TailMaps.fit_by_kind(*draw(40_000, np.random.default_rng(1)), kinds=2)
    u = np.linspace(0, 30, 301)
    for rows in (4.0, 100.0, 160.0, 1e6):
        mapped = maps.apply(u, np.ones(301, dtype=np.int64), np.full(301, rows), max_slope=1.0)
        assert (np.diff(mapped) > 0).all()
    many = np.geomspace(10, 20_000, 5000)
    of_five = maps.apply(np.full(5000, 5.0), np.zeros(5000, dtype=np.int64), many, max_slope=1.0)
    assert np.abs(np.diff(of_five)).max() < 0.02


def test_kinds_and_sizes_with_few_questions_use_a_common_map() -> None:
    u, kind_of, n = draw(3000, np.random.default_rng(2))
    kind_of[:] = 0
    kind_of[:300] = 1
    points = TailMaps.fit_by_kind(u, kind_of, n, kinds=2).points
    assert (points[1] == points[1, 0]).all()
    known = np.flatnonzero((points[0] != points[0, 0]).any(axis=(1, 2)))
    assert 0 < len(known) < points.shape[1]


@pytest.mark.parametrize(("kinds", "axes"), [(1, 2), (5, 3)])
def test_files_with_one_map_for_all_numbers_of_rows_are_read(kinds: int, axes: int) -> None:
    one = TailMaps.fit(np.random.default_rng(3).exponential(size=2000))
    maps = TailMaps(np.repeat(one.points, kinds, axis=0))
    kept = maps.to_list()
    assert np.ndim(kept) == axes
    read = TailMaps.from_list(kept, kinds)
    np.testing.assert_array_equal(read.points, maps.points)
    u, any_kind = np.array([0.1, 1.0, 50.0]), np.zeros(3, dtype=np.int64)
    few, many = (read.apply(u, any_kind, np.full(3, n), max_slope=np.inf) for n in (20.0, 2000.0))
    np.testing.assert_array_equal(few, many)
