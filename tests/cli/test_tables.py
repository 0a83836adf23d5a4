"""Names on the command line, and the columns that they choose."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from acid_causal.cli.tables import (
    choose_columns,
    known_names,
    read_columns,
    read_format,
    split_names,
)
from acid_causal.errors import InputError, InputTypeError, OptionError
from acid_causal.tables.inputs import Table
from acid_causal.tables.number_marks import Marks

COLUMNS = ["a", "b", "income, net", "x,y", "income"]


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        ([], []),
        (["a"], ["a"]),
        (["a, b,,a"], ["a", "b"]),
        (["a", "b"], ["a", "b"]),
        (["income, net"], ["income, net"]),
        (["a,income, net,b"], ["a", "income, net", "b"]),
        (["x,y"], ["x,y"]),
        (["x,a"], ["x", "a"]),
        (["income,a"], ["income", "a"]),
        ([" "], []),
    ],
)
def test_splitting(texts: list[str], names: list[str]) -> None:
    assert split_names(texts, COLUMNS) == names


def test_unknown_names() -> None:
    assert known_names(["b,a"], COLUMNS) == ["b", "a"]
    with pytest.raises(OptionError, match=r"unknown column 'incme'\. Did you mean 'income'"):
        known_names(["a,incme"], COLUMNS)


N = 12


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "n": np.arange(N),
            "x": [0.5, None] * (N // 2),
            "yes": [True, False] * (N // 2),
            "kind": ["it's", "b"] * (N // 2),
            "day": pd.date_range("2020-01-01", periods=N),
            "z": [1 + 2j, 0] * (N // 2),
            "size": ["S", "L", "S", "L"] * (N // 4),
            "code": [3, 1, 3, 1] * (N // 4),
        }
    )


def read(frame: pd.DataFrame, *chosen: str, **options: Any) -> Table:
    names = chosen or list(frame.columns)
    return read_columns(frame, names, marks=Marks(), missing="drop", **options)


def test_choosing() -> None:
    columns = ["n", "x", "yes", "kind"]
    assert choose_columns(columns, ["yes,n"], []) == ["yes", "n"]
    assert choose_columns(columns, [], ["kind", "x,n"]) == ["yes"]
    assert choose_columns(columns, ["n,x"], ["n"]) == ["x"]
    with pytest.raises(InputError, match="no column is left"):
        choose_columns(columns, ["n"], ["n"])


def test_types_of_columns(frame: pd.DataFrame) -> None:
    table = read(frame, "n", "x", "yes", "kind")
    assert table.columns == ("n", "x", "yes", "kind")
    assert table.categories == {3: ("b", "it's")}
    assert table.absent is not None
    table = read(frame, "size", "n", "code", categorical=["code,day"], ordered=["size=S,M,L"])
    assert table.categories == {2: ("1", "3")}
    assert table.ordered == {0: ("S", "M", "L")}
    np.testing.assert_array_equal(table.values[:4, 0], [0, 2, 0, 2])
    assert read(frame, "code", ordered=["code"]).ordered == {0: ("1", "3")}
    # A spreadsheet may have numbers among its names.
    assert read(frame.assign(mixed=["a", 2, "a"] * (N // 3)), "mixed").categories == {0: ("2", "a")}
    renamed = frame.rename(columns={"size": "a=b"})
    assert read(renamed, "a=b", ordered=["a=b=S, M, L"]).ordered == {0: ("S", "M", "L")}


def test_unknown_types(frame: pd.DataFrame) -> None:
    with pytest.raises(OptionError, match="unknown column 'cod'"):
        read(frame, "n", categorical=["cod"])
    with pytest.raises(OptionError, match=r"unknown column 'sise'.*'size'"):
        read(frame, "n", ordered=["sise=S,M"])
    with pytest.raises(InputError, match=r"'size' of data has levels that its order lacks: 'L'"):
        read(frame, "size", ordered=["size=S,M"])
    with pytest.raises(InputError, match=r"'size' of data has no order of its own"):
        read(frame, "size", ordered=["size"])


def test_too_many_levels(frame: pd.DataFrame) -> None:
    frame["who"] = [f"person {k}" for k in range(N)]
    with pytest.raises(InputError, match=r"'who' \(an identifier.*leave them out: --drop who$"):
        read(frame, "n", "who")
    with pytest.raises(InputError, match=r"Group rare levels$"):
        read(frame, "n", "who", droppable=False)


def test_columns_that_are_neither_numbers_nor_texts(frame: pd.DataFrame) -> None:
    with pytest.raises(InputTypeError) as caught:
        read(frame)
    message = str(caught.value)
    assert "'day' ('2020-01-01 00:00:00')" in message
    assert "'kind'" not in message
    assert message.endswith("--drop day,z")
    days = frame[["day"]].rename(columns={"day": "a day"})
    with pytest.raises(InputTypeError, match="--drop 'a day'"):
        read(days)
    with pytest.raises(InputTypeError, match=r"Turn them into numbers$"):
        read(days, droppable=False)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1,905", "2,310"], "'a' holds '1,905', which may be 1905 or 1.905; say --decimal or"),
        (["1,905,000", "12,5"], "'a' mixes '1,905,000' and '12,5', which read as numbers in"),
        (
            ["1", "?", "2.5", "?"],
            r"'a' holds '\?' in row 2 and 1 more, and numbers elsewhere; if it stands for a "
            r"missing value, pass --na '\?', or, if all are names of categories, pass "
            "--categorical a",
        ),
        (["1", "2", "Total"], "'a' holds 'Total' in the last row, and numbers elsewhere; mend or"),
        ([1, 2.5, "x", 3], "'a' holds 'x' in row 3, and numbers elsewhere; if it stands"),
    ],
)
def test_the_culprit_is_shown(values: list[object], message: str) -> None:
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object), "kind": "text"})
    with pytest.raises(InputTypeError, match=f"columns that cannot be read as numbers: {message}"):
        read(frame)


def test_whole_numbers_beyond_64_bits_are_numbers() -> None:
    frame = pd.DataFrame({"a": pd.Series([2**70, None, 1, 5], dtype=object)})
    assert not read(frame).categories


def test_many_columns_that_are_not_numbers() -> None:
    days = pd.date_range("2020-01-01", periods=5)
    with pytest.raises(InputTypeError, match=r"'c9' \('2020.*'\) and 2 more\."):
        read(pd.DataFrame({f"c{k}": days for k in range(12)}))


def test_a_level_that_reads_like_a_missing_value() -> None:
    assert "none" not in read_format(not_na=["none"]).absent
    with pytest.raises(OptionError, match=r"unknown text for missing values 'nine'.*'none'"):
        read_format(not_na=["nine"])
