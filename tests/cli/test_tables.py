"""Names on the command line, and the columns that they choose."""

import pandas as pd
import pytest

from acid_causal.cli.tables import choose_columns, known_names, split_names
from acid_causal.errors import InputError, InputTypeError, OptionError

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


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({
        "n": [1, 2], "x": [0.5, None], "yes": [True, False], "kind": ["it's", "b"],
        "day": pd.to_datetime(["2020-01-01", "2020-01-02"]), "z": [1 + 2j, 0],
        "gap": pd.Series([None, None], dtype=object),
    })  # fmt: skip


def test_choosing(frame: pd.DataFrame) -> None:
    assert list(choose_columns(frame, ["yes,n"], [])) == ["yes", "n"]
    assert list(choose_columns(frame, [], ["kind,day", "z,gap"])) == ["n", "x", "yes"]
    assert list(choose_columns(frame, ["n,x"], ["n"])) == ["x"]
    with pytest.raises(InputError, match="no column is left"):
        choose_columns(frame, ["n"], ["n"])


def test_columns_that_are_not_numbers(frame: pd.DataFrame) -> None:
    with pytest.raises(InputTypeError) as caught:
        choose_columns(frame, [], [])
    message = str(caught.value)
    assert "'kind' (\"it's\")" in message
    assert "'day' ('2020-01-01 00:00:00')" in message
    assert "'gap' ('nothing but gaps')" in message
    assert message.endswith("--drop kind,day,z,gap")
    with pytest.raises(InputTypeError, match="--drop 'a kind,b'"):
        choose_columns(pd.DataFrame({"a kind": ["x"], "b": ["y"]}), [], [])


def test_decimal_commas() -> None:
    with pytest.raises(InputTypeError, match="--decimal ,"):
        choose_columns(pd.DataFrame({"a": ["1,5", "2"], "b": ["-0,25", "1"]}), [], [])


def test_many_columns_that_are_not_numbers() -> None:
    with pytest.raises(InputTypeError, match=r"'c9' \('x'\) and 2 more\."):
        choose_columns(pd.DataFrame({f"c{k}": ["x"] for k in range(12)}), [], [])
