"""The numbers behind the pictures of pairs."""

import base64
from typing import Any

import numpy as np
import pytest

from acid_causal.discovery.report.pair_pictures import pair_pictures
from acid_causal.tables.inputs import Table


def decoded(series: dict[str, Any]) -> np.ndarray:
    codes = np.frombuffer(base64.b64decode(series["codes"]), dtype=np.uint8).astype(float)
    codes[codes == 255] = np.nan
    if "levels" in series:
        return codes
    return series["low"] + codes / 250 * (series["high"] - series["low"])


def table(*columns: np.ndarray, **types: Any) -> Table:
    values = np.column_stack(columns)
    absent = np.isnan(values)
    return Table(
        values, tuple("abcdefgh"[: len(columns)]), absent if absent.any() else None, **types
    )


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_values_keep_two_digits(rng: np.random.Generator) -> None:
    x, y = rng.uniform(size=(2, 100))
    y[3] = np.nan
    made = pair_pictures(table(x, y), [(0, 1, ())])
    assert made["rows"] == 100
    assert made["after"] == [None]
    first, second = map(decoded, made["series"])
    np.testing.assert_allclose(first, x, atol=0.005)
    np.testing.assert_allclose(second, y, atol=0.005)  # NaN in the same place
    assert not made["series"][0]["cut"]


def test_values_far_out_lie_on_the_frame(rng: np.random.Generator) -> None:
    x = np.append(rng.normal(size=99), 1e9)
    first = pair_pictures(table(x, x), [])["series"][0]
    assert first["cut"]
    assert 2 < first["high"] < 6
    assert decoded(first)[-1] == first["high"]


def test_a_regression_leaves_what_the_set_does_not_explain(rng: np.random.Generator) -> None:
    z, e, f = rng.normal(size=(3, 400))
    x, y = np.sin(2 * z) + 0.2 * e, z**2 + 0.2 * f
    made = pair_pictures(table(x, y, z), [(0, 1, (2,)), (0, 2, ()), (1, 0, (2,))])
    assert made["after"] == [[3, 4], None, [4, 3]]  # both are computed once
    for left, noise in zip(made["series"][3:], (e, f), strict=True):
        assert np.corrcoef(decoded(left), noise)[0, 1] > 0.9
    assert abs(np.corrcoef(decoded(made["series"][3]), z)[0, 1]) < 0.1


def test_incomplete_rows_are_left_out_where_they_matter(rng: np.random.Generator) -> None:
    x, y, z = rng.normal(size=(3, 50))
    x[0] = z[1] = np.nan
    made = pair_pictures(table(x, y, z), [(0, 1, (2,))])
    of_x, of_y = map(decoded, made["series"][3:])
    assert np.flatnonzero(np.isnan(of_x)).tolist() == [0, 1]
    assert np.flatnonzero(np.isnan(of_y)).tolist() == [1]
    few = pair_pictures(table(x[:8], y[:8], z[:8]), [(0, 1, (2,))])
    assert np.isnan(decoded(few["series"][3])).all()


def test_a_category_in_the_set_explains_the_means_of_its_levels(rng: np.random.Generator) -> None:
    z = rng.integers(3, size=300).astype(float)
    x, y = np.array([5.0, -3, 0])[z.astype(int)] + rng.normal(size=300), rng.normal(size=300)
    made = pair_pictures(table(x, y, z, categories={2: ("r", "s", "t")}), [(0, 1, (2,))])
    left = decoded(made["series"][3])
    assert max(abs(left[z == level].mean()) for level in range(3)) < 0.1


def test_two_categories_are_compared_with_what_the_set_explains(rng: np.random.Generator) -> None:
    z = rng.integers(2, size=500).astype(float)
    x, y = (np.where(rng.uniform(size=500) < 0.9, z, 1 - z) for _ in range(2))
    kinds = {0: ("r", "s"), 1: ("t", "u")}
    made = pair_pictures(table(x, y, z, categories=kinds), [(0, 1, (2,))])
    (a, b, expected), counts = made["after"][0], np.zeros((2, 2))
    assert (a, b) == (0, 1)
    np.add.at(counts, (x.astype(int), y.astype(int)), 1)
    np.testing.assert_allclose(expected, counts, atol=12)  # independent given z ...
    alone = counts.sum(1)[:, None] * counts.sum(0) / 500
    assert np.abs(alone - counts).min() > 60  # ... and not without


def test_a_number_is_drawn_by_the_levels_of_a_category(rng: np.random.Generator) -> None:
    values = rng.normal(size=100), (np.arange(100) % 2).astype(float), rng.normal(size=100)
    made = pair_pictures(table(*values, categories={1: ("r", "s")}), [(0, 1, (2,))])
    assert made["after"] == [[3, 1]]
    assert made["series"][1]["levels"] == ["r", "s"]


def test_rare_levels_are_drawn_together() -> None:
    codes = np.repeat(np.arange(12), np.arange(12)).astype(float)  # level 0 has no rows
    codes[0] = np.nan
    made = pair_pictures(table(codes, codes, categories={0: tuple("abcdefghijkl")}), [])
    assert made["series"][0]["levels"] == ["f", "g", "h", "i", "j", "k", "l", "3 others"]
    shown = decoded(made["series"][0])
    assert np.isnan(shown[0])
    np.testing.assert_array_equal(shown[1:], np.where(codes[1:] < 5, 7, codes[1:] - 5))


def test_a_page_has_a_bounded_number_of_regressions(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr("acid_causal.discovery.report.pair_pictures._MOST_REGRESSIONS", 2)
    made = pair_pictures(
        table(*rng.normal(size=(4, 30))), [(0, 1, (2,)), (0, 3, (1,)), (0, 1, (2,))]
    )
    assert [after is None for after in made["after"]] == [False, True, False]
    assert len(made["series"]) == 4 + 2
