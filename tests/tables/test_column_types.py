"""What users say of the types of columns, and the bounds of levels."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from acid_causal.errors import OptionError
from acid_causal.tables.column_types import LevelsError, declare, selected
from acid_causal.tables.inputs import as_table, join_tables, read_table

LETTERS = ["b", "a", "c", "a"] * 30


@pytest.mark.parametrize("n", [5, 20, 100, 1000])
def test_bounds_of_the_number_of_levels(n: int) -> None:
    most = min(50, max(2, n // 5))
    rng = np.random.default_rng(0)
    for levels in (1, 2, most):
        column = np.array([f"level {k}" for k in rng.permutation(np.arange(n) % levels)])
        assert len(read_table(column[:, None]).categories[0]) == levels
    column = np.array([f"level {k}" for k in np.arange(n) % (most + 1)])
    with pytest.raises(LevelsError, match=rf"'X1' \({most + 1} in {n} rows, .*{most} can") as told:
        read_table(column[:, None])
    assert told.value.columns == ("X1",)
    with pytest.raises(LevelsError, match="all of them numbers"):
        read_table((np.arange(n) % (most + 1))[:, None].astype(str))
    # An order has as many levels as it likes.
    assert len(read_table(np.arange(n)[:, None], ordered=[0]).ordered[0]) == n


def test_identifiers() -> None:
    frame = pd.DataFrame({"who": [f"person {k}" for k in range(30)], "n": np.arange(30)})
    with pytest.raises(LevelsError, match=r"'who' \(an identifier, it seems.*30 values is diff"):
        read_table(frame)


def test_amounts_and_dates_are_no_identifiers() -> None:
    days = pd.date_range("2024-01-31", periods=30).strftime("%Y-%m-%d")
    frame = pd.DataFrame({"price": [f"${k + 0.5}" for k in range(30)], "day": days})
    with pytest.raises(LevelsError, match=r"'price' \(numbers with '\$', .*'day' \(dates, such as"):
        read_table(frame)


def test_selections() -> None:
    assert selected("ab") == ["ab"]
    assert selected(3) == [3]
    assert selected(["a", 3]) == ["a", 3]
    assert not selected(())
    assert not selected(None)
    names = [("a", "x"), ("b", "x"), ("1", "z")]
    assert declare(names, ["x"], ()) == {0: None, 1: None}
    assert declare(names, 1, ["a", "1"]) == {1: None, 0: (), 2: ()}
    assert declare(names, (), {"b": ["u", "v"]}) == {1: ["u", "v"]}


def test_names_come_before_indices() -> None:
    codes = np.repeat([[10, 2, 7, 2]], 30, axis=0).reshape(-1, 1)
    wide = pd.DataFrame(np.repeat(codes, 3, axis=1), columns=[2, 1, 0])
    assert list(read_table(wide, categorical=[2]).categories) == [0]
    assert list(read_table(wide, categorical=["0"]).categories) == [2]
    assert list(read_table(wide.to_numpy(), categorical=[2]).categories) == [2]


@pytest.mark.parametrize(
    ("labels", "given", "found"),
    [
        ([1, 2, 3], [1, 2], [0, 1]),
        ([10, 20, 30], [np.int64(30), "20"], [1, 2]),
        ([1.0, 2.0, 3.0], [2], [1]),
        (["a", "b", "c"], [0, "b"], [0, 1]),
        ([("a", 1), ("b", 1), ("b", 2)], [np.int64(1)], [1]),
        ([True, False, "c"], [0], [0]),  # though False is equal to 0
        ([1, 2, 3], None, []),
    ],
)
def test_integers_are_either_labels_or_indices(
    labels: list[Any], given: Any, found: list[int]
) -> None:
    frame = pd.DataFrame(np.arange(90).reshape(30, 3) // 3 % 3, columns=labels)
    assert sorted(read_table(frame, categorical=given).categories) == found
    assert sorted(read_table(frame, ordered=given).ordered) == found


def test_a_column_without_a_name_has_no_number_for_a_label() -> None:
    frame = pd.DataFrame(np.arange(90).reshape(30, 3) // 3 % 3, columns=[np.nan, "a", "b"])
    assert list(read_table(frame, categorical=[1]).categories) == [1]


@pytest.mark.parametrize(
    ("labels", "given", "key", "known"),
    [
        ([1, 2, 3], [0, 1, 2], 0, "1, 2, 3"),
        ([10, 20, 30], [20, 0], 0, "10, 20, 30"),
        ([1.0, 2.0, 3.0], 0, 0, "1.0, 2.0, 3.0"),
        (["a", "b", 7], ["a", 1], 1, "a, b, 7"),
        ([1, 2, 3], [-1], -1, "1, 2, 3"),
    ],
)
def test_no_integer_is_an_index_where_labels_are_numbers(
    labels: list[Any], given: Any, key: int, known: str
) -> None:
    frame = pd.DataFrame(np.arange(90).reshape(30, 3) // 3 % 3, columns=labels)
    message = rf"in categorical: {key}\. .* is a label, and no index\. Known: {known}$"
    with pytest.raises(OptionError, match=message):
        read_table(frame, categorical=given)
    with pytest.raises(OptionError, match="in ordered: "):
        read_table(frame, ordered=given)


def test_unknown_names_of_columns() -> None:
    frame = pd.DataFrame({"word": LETTERS, "n": range(120)})
    with pytest.raises(OptionError, match=r"unknown column in categorical: 'wrod'.*'word'"):
        read_table(frame, categorical=["wrod"])
    odd: list[Any] = [2, -1, True, 1.5, None]
    for key in odd:
        with pytest.raises(OptionError, match=f"unknown column in ordered: {key!r}"):
            read_table(frame, ordered=[key])
    with pytest.raises(OptionError, match="'word' is named as both categorical and ordered"):
        read_table(frame, categorical=["word"], ordered={"word": ["a", "b", "c"]})


def test_categories_of_a_joined_table() -> None:
    frame = pd.DataFrame({"x": LETTERS, "code": [1, 2, 3, 1] * 30, "n": np.arange(120) % 7})
    z = np.array([[0, 1, 2, 0] * 30, np.arange(120) % 3]).T
    cases: list[tuple[Any, list[int]]] = [
        (["code"], [0, 1]),
        ("y", [0, 1]),
        ("z", [0, 2, 3]),
        ("z[X1]", [0, 2]),
        ([2], [0, 2]),
        ("x", [0]),
    ]
    for categorical, found in cases:
        read, groups = join_tables(
            frame["x"], frame["code"], z, missing="raise", categorical=categorical
        )
        assert groups == ((0,), (1,), (2, 3))
        assert list(read.categories) == found
    for numbered in (frame.set_axis([7, 2, 0], axis=1), frame):
        read, _ = join_tables(numbered, [*range(120)], None, missing="raise", categorical=[2])
        assert list(read.categories) == [0, 2]
    with pytest.raises(OptionError, match="unknown column in categorical: None"):
        join_tables(frame["n"], z, None, missing="raise", categorical=[None])
    z[:, 1] = range(120)
    with pytest.raises(LevelsError, match=r"z has .*'X2' \(120 in 120 rows, all of them numbers"):
        join_tables(frame["x"], frame["code"], z, missing="raise", categorical="z")
    read, _ = join_tables(frame["n"], frame["x"], None, missing="raise", ordered="n")
    assert read.ordered == {0: tuple("0123456")}
    with pytest.raises(OptionError, match="unknown column in categorical: 'w'"):
        join_tables(frame["n"], frame["x"], None, missing="raise", categorical="w")


def test_description_of_columns_and_rows_of_a_table() -> None:
    frame = pd.DataFrame({"word": LETTERS, "n": range(120), "rank": [1, 2, 3, 1] * 30})
    read = read_table(frame, ordered=["rank"])
    assert read.describe_columns() == [
        {"name": "word", "type": "categorical", "levels": ["a", "b", "c"]},
        {"name": "n", "type": "numeric", "levels": None},
        {"name": "rank", "type": "ordered", "levels": ["1", "2", "3"]},
    ]
    some = read.take(np.array([1, 3]))
    np.testing.assert_array_equal(some.values, read.values[[1, 3]])
    assert some.describe_columns() == read.describe_columns()
    assert as_table(read) is read
    assert as_table(read, categorical=None, ordered=None) is read
    with pytest.raises(OptionError, match="not read yet"):
        as_table(read, categorical=["n"])
