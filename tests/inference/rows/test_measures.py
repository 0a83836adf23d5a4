"""Measures of columns, each against a value known by construction."""

import numpy as np
import pytest
from numpy.typing import ArrayLike

from acid_causal.inference.rows.measures import Measures


def measures(*columns: ArrayLike) -> Measures:
    values = np.array(columns, dtype=float).T
    return Measures(values, np.arange(len(values)))


def test_rows_that_do_not_count_are_not_measured() -> None:
    values = np.array([[1.0, 0.5], [1.0, 2.0], [3.0, np.nan], [1.0, 4.0]])
    kept = Measures(values, np.array([0, 1, 3]))
    assert kept.is_constant(0)
    assert kept.distinct_values(1) == 3
    assert not kept.is_whole(1)
    assert kept.is_whole(0)


def test_the_chance_of_a_tie_is_that_of_two_different_rows() -> None:
    four = measures([0, 0, 1, 1], [0, 1, 2, 3], [5, 5, 5, 5])
    assert [four.tie_chance(k) for k in range(3)] == pytest.approx([1 / 3, 0, 1])


def test_a_gap_is_measured_between_the_ends() -> None:
    low = np.linspace(0, 1, 50)
    of = measures(np.append(low, low + 3), np.append(low, np.full(50, 900.0)))
    # Without five rows at either end, values go from 5 / 49 to 3 + 44 / 49.
    assert of.widest_gap(0) == pytest.approx(2 / (3 + 39 / 49), rel=1e-9)
    assert of.widest_gap(1) == 0  # half of the rows are equal: there are gaps everywhere


def test_a_function_has_one_value_in_each_cell() -> None:
    z = np.repeat(np.arange(5), 4)
    other = np.tile([0, 1, 1, 0], 5)
    of = measures(z, z % 3, other, np.arange(20))
    assert of.is_function_of(1, (0,))
    assert not of.is_function_of(0, (1,))
    assert not of.is_function_of(2, (0,))
    assert of.is_function_of(1, (2, 0))
    assert not of.is_function_of(1, ())
    assert not of.is_function_of(2, (3,))  # each row has a cell of its own, which proves nothing


def test_serial_correlation_is_that_of_neighbouring_rows() -> None:
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=400))
    of = measures(walk, rng.normal(size=400), walk + 0.01 * rng.normal(size=400))
    assert of.serial_correlation(0) > 0.95
    assert abs(of.serial_correlation(1)) < 0.15
    assert of.serial_correlation(0, (2,)) < 0.3


def test_the_order_of_a_sorted_table_is_no_serial_correlation() -> None:
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(4), 100)
    of = measures(group, 3 * group + rng.normal(size=400))
    assert abs(of.serial_correlation(1)) < 0.15
    unsorted = measures(np.roll(group, 50), 3 * np.roll(group, 50) + rng.normal(size=400))
    assert unsorted.serial_correlation(1) > 0.8
