"""Texts as numbers: one reading a column, and no guess where two would do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acid_causal.tables.number_marks import Marks, read_numbers

NOTHING = Marks()


@pytest.mark.parametrize(
    ("texts", "marks", "values"),
    [
        (["1,905", "326"], NOTHING, [1905, 326]),
        (["1,905,000", "2,310"], NOTHING, [1905000, 2310]),
        (["-1,905.5", "+3"], NOTHING, [-1905.5, 3]),
        (["1,905", "0,326"], NOTHING, [1.905, 0.326]),
        (["1,905", "12,5"], NOTHING, [1.905, 12.5]),
        (["1.234,5", "1"], NOTHING, [1234.5, 1]),
        (["1 905", "2 310,5"], NOTHING, [1905, 2310.5]),
        (["1'905", "1\u202f905", "1\xa0905"], NOTHING, [1905, 1905, 1905]),
        (["1e3", "-.5", "5."], NOTHING, [1000, -0.5, 5]),
        (["1,905", "326"], Marks(decimal=","), [1.905, 326]),
        (["1,905", "2,310"], Marks(thousands=","), [1905, 2310]),
        (["1,905", "2,310"], Marks(decimal="."), [1905, 2310]),
        (["1.905", "2.310"], Marks(decimal=","), [1905, 2310]),
        (["1.905", "2.310,5"], Marks(thousands="."), [1905, 2310.5]),
        (["9007199254740993", "-1"], NOTHING, [9007199254740993, -1]),
    ],
)
def test_readings(texts: list[str], marks: Marks, values: list[float]) -> None:
    found = read_numbers(texts, marks)
    assert (list(found.values), list(found.values.values())) == (texts, values)
    assert found.trouble == ""


@pytest.mark.parametrize(
    ("texts", "trouble"),
    [
        (["1,905", "2,310"], "holds '1,905', which may be 1905 or 1.905"),
        (["1,905", "1905"], "holds '1,905', which may be 1905 or 1.905"),
        (["1,905,000", "12,5"], "mixes '1,905,000' and '12,5'"),
        (["1.5", "1,5"], "mixes '1.5' and '1,5'"),
    ],
)
def test_two_readings_are_no_number(texts: list[str], trouble: str) -> None:
    found = read_numbers(texts, NOTHING)
    assert found.values == {}
    assert trouble in found.trouble


@pytest.mark.parametrize(
    ("texts", "marks", "culprits"),
    [
        (["1", "?", "2"], NOTHING, ["?"]),
        (["1,2,3", "4"], NOTHING, ["1,2,3"]),
        (["1,905", "12,5"], Marks(thousands=","), ["12,5"]),
        (["0.5", "1,5"], Marks(decimal=","), ["0.5"]),
        (
            ["", ".", "-", "e5", "1 2", "٣", "12%", "0,123,456"],
            NOTHING,
            ["", ".", "-", "e5", "1 2", "٣", "12%", "0,123,456"],
        ),
    ],
)
def test_what_is_no_number(texts: list[str], marks: Marks, culprits: list[str]) -> None:
    assert read_numbers(texts, marks).culprits == tuple(culprits)


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1), st.sampled_from(",'. "))
def test_groups_of_thousands(numbers: list[int], mark: str) -> None:
    texts = [f"{number:,}".replace(",", mark) for number in numbers]
    found = read_numbers(texts, Marks(thousands=mark))
    assert [found.values[text] for text in texts] == numbers


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_decimal_commas(numbers: list[float]) -> None:
    texts = [repr(number).replace(".", ",") for number in numbers]
    found = read_numbers(texts, Marks(decimal=","))
    assert [found.values[text] for text in texts] == numbers
