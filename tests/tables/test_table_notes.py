"""What a table gives reason to look at twice, and what it does not."""

import numpy as np
import pandas as pd
import pytest

from acid_causal.tables.inputs import read_table
from acid_causal.tables.table_notes import looks_like_row_number, notes_on


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
