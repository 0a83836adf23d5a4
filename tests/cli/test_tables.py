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
    return pd.DataFrame(
        {
            "n": [1, 2],
            "x": [0.5, None],
            "yes": [True, False],
            "kind": ["it's", "b"],
            "day": pd.to_datetime(["2020-01-01", "2020-01-02"]),
            "z": [1 + 2j, 0],
            "gap": pd.Series([None, None], dtype=object),
        }
    )


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


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1,905", "2,310"], "'a' holds '1,905', which may be 1905 or 1.905; say --decimal or"),
        (["1,905,000", "12,5"], "'a' mixes '1,905,000' and '12,5', which read as numbers in"),
        (
            ["1", "?", "2.5", "?"],
            r"'a' holds '\?' in row 2 and 1 more, and numbers "
            r"elsewhere; if it stands for a missing value, pass --na '\?'",
        ),
        (["1", "2", "Total"], "'a' holds 'Total' in the last row, and numbers elsewhere; mend or"),
        ([1, 2.5, "x", 3], "'a' holds 'x' in row 3, and numbers elsewhere; if it stands"),
    ],
)
def test_the_culprit_is_shown(values: list[object], message: str) -> None:
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object), "kind": "text"})
    with pytest.raises(InputTypeError, match=f"columns that cannot be read as numbers: {message}"):
        choose_columns(frame, [], [])


def test_whole_numbers_beyond_64_bits_are_numbers() -> None:
    frame = pd.DataFrame({"a": pd.Series([2**70, None, 1], dtype=object)})
    assert list(choose_columns(frame, [], [])) == ["a"]


def test_many_columns_that_are_not_numbers() -> None:
    with pytest.raises(InputTypeError, match=r"'c9' \('x'\) and 2 more\."):
        choose_columns(pd.DataFrame({f"c{k}": ["x"] for k in range(12)}), [], [])
