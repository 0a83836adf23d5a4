"""Rows and columns told apart by content: whatever moves, their hashes move along."""

import numpy as np
import pytest

from acid_causal.inference.rows.hashes import distinct_rows, mix, ranks, read_content


def table(seed: int, n: int = 40, d: int = 5, levels: int | None = None) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) if levels is None else rng.integers(0, levels, (n, d))
    return np.stack([ranks(column.astype(float)) for column in x.T], axis=1)


def test_ranks_are_whole_and_ties_share_them() -> None:
    assert ranks(np.array([0.5, -3.0, 0.5, 9.0])).tolist() == [4, 1, 4, 7]
    x = np.random.default_rng(0).normal(size=100)
    np.testing.assert_array_equal(ranks(x), ranks(np.exp(5 * x)))
    assert ranks(x).dtype == np.int64


@pytest.mark.parametrize("levels", [None, 3])
def test_content_moves_along_with_the_data(levels: int | None) -> None:
    r = table(1, levels=levels)
    rng = np.random.default_rng(2)
    expected = read_content(r[:, :1], r[:, 1:2], r[:, 2:])
    rows = rng.permutation(len(r))
    shuffled = read_content(r[rows, :1], r[rows, 1:2], r[rows, 2:])
    # Of equal rows it does not matter which one has which hash.
    np.testing.assert_array_equal(np.sort(shuffled.keys), np.sort(expected.keys))
    if levels is None:
        np.testing.assert_array_equal(shuffled.keys, expected.keys[rows])
    np.testing.assert_array_equal(shuffled.z, expected.z[rows])
    turned = read_content(r[:, :1], r[:, 1:2], r[:, [4, 2, 3]])
    np.testing.assert_array_equal(turned.keys, expected.keys)
    np.testing.assert_array_equal(turned.z, expected.z)
    other_way = read_content(r[:, 1:2], r[:, :1], r[:, 2:])
    assert other_way.swapped != expected.swapped
    np.testing.assert_array_equal(other_way.y, expected.y)
    np.testing.assert_array_equal(other_way.keys, expected.keys)


def test_either_variable_may_be_the_one_that_moves() -> None:
    swapped = [
        read_content(r[:, :1], r[:, 1:2], r[:, 2:]).swapped
        for r in (table(seed) for seed in range(40))
    ]
    assert 8 <= sum(swapped) <= 32  # beyond it by chance once in 10,000


def test_rows_have_keys_of_their_own() -> None:
    r = table(3, n=200, levels=3)[:, :4]
    assert len(np.unique(r, axis=0)) < 200
    assert len(np.unique(read_content(r[:, :1], r[:, 1:2], r[:, 2:]).keys)) == 200


def test_rows_differ_though_columns_look_alike() -> None:
    """Every pair of values as often as its mirror image: no hash tells X from Y."""
    pairs = np.array([[1, 2], [2, 1], [1, 3], [3, 1], [2, 3], [3, 2], [1, 1]], dtype=np.int64)
    content = read_content(pairs[:, :1], pairs[:, 1:], pairs[:, :0])
    assert len(np.unique(content.keys)) == 7
    z = read_content(np.arange(7)[:, None], np.arange(7)[:, None], pairs)
    assert len(np.unique(z.keys)) == 7


def test_components_and_empty_sets() -> None:
    r = table(4)
    none = read_content(r[:, :1], r[:, 1:2], r[:, :0])
    assert none.z.shape == (40, 0)
    assert len(np.unique(none.keys)) == 40
    wide = read_content(r[:, :2], r[:, 2:4], r[:, 4:])
    again = read_content(r[:, [1, 0]], r[:, [3, 2]], r[:, 4:])
    np.testing.assert_array_equal(wide.keys, again.keys)
    assert wide.swapped == again.swapped


def test_mixing_is_a_bijection_that_looks_random() -> None:
    keys = np.arange(10_000, dtype=np.uint64)
    mixed = mix(keys)
    assert len(np.unique(mixed)) == 10_000
    bits = (mixed[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert abs(bits.mean(axis=0) - 0.5).max() < 5 * 0.5 / 100
    assert not (mix(keys, 1) == mixed).any()


def test_distinct_rows() -> None:
    x = np.random.default_rng(5).normal(size=(50, 3))
    every = np.arange(50)
    np.testing.assert_array_equal(distinct_rows(x), every)
    np.testing.assert_array_equal(distinct_rows(np.vstack([x, x[:25]])), every)
    np.testing.assert_array_equal(distinct_rows(x[:, ::-1].copy(order="F")), every)
    np.testing.assert_array_equal(distinct_rows(np.array([[0.0, 1.0], [-0.0, 1.0]])), [0])


def test_equal_rows_have_hashes_of_their_own() -> None:
    """Else a permutation by hash would move them together, and a table of few values hardly."""
    x = np.array([[0], [1], [0], [0], [1]])
    z = np.empty((5, 0), dtype=np.int64)
    keys = read_content(x, x, z).keys
    assert len(set(keys.tolist())) == 5
    shuffled = np.array([3, 1, 0, 4, 2])
    assert set(read_content(x[shuffled], x[shuffled], z).keys.tolist()) == set(keys.tolist())
    alone = np.array([[0], [1], [2]])
    assert (read_content(alone, alone, z[:3]).keys == read_content(alone, alone, z[:3]).keys).all()
