"""What a table gives reason to look at twice, and what it does not."""

import numpy as np
import pandas as pd
import pytest

from acid_causal.tables.inputs import read_table
from acid_causal.tables.table_notes import looks_like_row_number, may_be_codes, notes_on


@pytest.fixture
def frame(table: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(table[:50, :3], columns=list("abc"))


def test_nothing_to_say(frame: pd.DataFrame) -> None:
    assert list(notes_on(read_table(frame))) == []


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("id", np.arange(50), True),
        ("anything", np.arange(50), True),
        ("anything", np.arange(1, 51), True),
        ("Unnamed: 0", np.arange(50)[::-1], True),
        ("Index", np.random.default_rng(0).permutation(50), True),
        ("ID", np.arange(1000, 1050), True),
        ("year", np.arange(1970, 2020), False),
        ("rank", np.random.default_rng(0).permutation(50), False),
        ("id", np.arange(50) // 2, False),
        ("count", np.arange(50) * 2, False),
        ("id", np.r_[np.nan, np.arange(1, 50)], False),
    ],
)
def test_row_numbers(frame: pd.DataFrame, name: str, values: np.ndarray, expected: bool) -> None:
    frame = frame.assign(**{name: values})
    table = read_table(frame, missing="drop")
    assert looks_like_row_number(table, 3) is expected
    told = [note for note in notes_on(table) if "row number" in note]
    assert told == (
        [f"the column {name!r} looks like a row number, not like a variable; leave it out"]
        if expected
        else []
    )


def test_gaps(frame: pd.DataFrame) -> None:
    frame["sex"] = [0, 1] * 25
    frame.loc[[1, 4], "b"] = np.nan
    frame.loc[7, "sex"] = np.nan
    (gaps,) = notes_on(read_table(frame, missing="drop"))
    assert gaps.startswith("missing values in b (2), sex (1): ")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.arange(50) % 3, True),
        (np.arange(50) % 5, True),
        (np.arange(50) % 6, False),  # fewer than ten rows each
        (np.arange(50) % 2, False),
        (np.arange(50) % 3 / 2, False),
        (np.where(np.arange(50) % 3, np.nan, 1.0), False),
        (np.r_[np.nan, np.arange(49) % 3], True),
    ],
)
def test_codes(frame: pd.DataFrame, values: np.ndarray, expected: bool) -> None:
    frame = frame.assign(region=values)
    table = read_table(frame, missing="drop")
    assert may_be_codes(table, 3) is expected
    told = [note for note in notes_on(table) if "whole numbers" in note]
    assert len(told) == expected
    assert all("in region are taken" in note for note in told)
    assert all('categorical=["region"]' in note for note in told)
    if np.isfinite(values).all():
        for told_of in (
            read_table(frame, categorical=["region"]),
            read_table(frame, ordered=["region"]),
        ):
            assert not may_be_codes(told_of, 3)
    many = read_table(frame.assign(**{f"c{k}": values for k in range(12)}), missing="drop")
    told = [note for note in notes_on(many) if "whole numbers" in note]
    assert all(note.endswith(', "c8", ...]') for note in told)


def test_codes_of_categories_are_no_row_numbers(frame: pd.DataFrame) -> None:
    table = read_table(frame.assign(id=["a"] * 10 + ["b"] * 10 + ["c"] * 30))
    assert not looks_like_row_number(table, 3)
    assert list(notes_on(table)) == []


def test_amounts_taken_for_categories(frame: pd.DataFrame) -> None:
    frame = frame.assign(share=["5%", "10%", "20%", "5%", "10%"] * 10, word=list("xyzxy") * 10)
    (note,) = notes_on(read_table(frame))
    assert note.startswith(
        "the texts of 'share' are numbers with '%', such as '10%', and are taken"
    )
