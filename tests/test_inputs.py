"""Tables and questions as users bring them (inputs.md)."""

import numpy as np
import pandas as pd
import pytest

from acid_causal.errors import InputError, InputTypeError, OptionError
from acid_causal.inputs import normalise_question, read_table


def test_accepts_every_kind_of_real_numbers(table):
    expected = read_table(table).values
    whole = np.round(10 * table)
    for same, reference in (
        (table.astype(np.float32), table.astype(np.float32)),
        (np.asfortranarray(table), expected),
        (table[::-1][::-1], expected),
        (table.tolist(), expected),
        (pd.DataFrame(table), expected),
        (whole.astype(int), whole),
        (whole > 0, whole > 0),
        (pd.DataFrame(whole).astype("Int64"), whole),
        (pd.DataFrame(table).astype("Float64"), expected),
    ):
        np.testing.assert_array_equal(read_table(same).values, reference)


def test_keeps_names_and_copies(table):
    frame = pd.DataFrame(table, columns=list("abcdef"))
    read = read_table(frame)
    assert read.columns == tuple("abcdef")
    read.values[0, 0] = 99.0
    assert frame.iloc[0, 0] == table[0, 0] != 99.0
    locked = table.copy()
    locked.flags.writeable = False
    assert read_table(locked).columns[0] == "X1"


@pytest.mark.parametrize(
    "column",
    [
        np.array(["low", "high"] * 60),
        np.array([1, "x"] * 60, dtype=object),
        np.full(120, 1 + 2j),
        pd.date_range("2020-01-01", periods=120),
        pd.Series(["a", "b"] * 60, dtype="category"),
    ],
    ids=["strings", "objects", "complex", "dates", "categories"],
)
def test_names_the_columns_that_are_not_numbers(table, column):
    frame = pd.DataFrame(table, columns=list("abcdef"))
    frame["group"] = column
    with pytest.raises(InputTypeError, match=r"'group'.*[Ee]ncode"):
        read_table(frame)
    if isinstance(column, np.ndarray):
        with pytest.raises(InputTypeError, match="X1"):
            read_table(column[:, None])


def test_missing_and_infinite_values(table):
    holes = table.copy()
    holes[3, 1] = holes[9, 1] = holes[4, 5] = np.nan
    with pytest.raises(InputError, match=r"'X2': 2, 'X6': 1.*missing=\"drop\""):
        read_table(holes)
    read = read_table(holes, missing="drop")
    assert read.absent is not None
    assert read.absent.sum() == 3
    holes[0, 0] = np.inf
    for missing in ("raise", "drop"):
        with pytest.raises(InputError, match=r"infinite values in 'X1': 1"):
            read_table(holes, missing=missing)
    with pytest.raises(OptionError, match="drop"):
        read_table(table, missing="dorp")
    frame = pd.DataFrame(table).astype("Float64")
    frame.iloc[5, 2] = pd.NA
    with pytest.raises(InputError, match="'2': 1"):
        read_table(frame)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_too_few_rows(table, n):
    with pytest.raises(InputError, match=f"{n} rows.*at least 4"):
        read_table(table[:n])


@pytest.mark.parametrize("shape", [(120,), (3, 4, 5), ()])
def test_other_shapes(shape):
    with pytest.raises(InputError, match=r"shape \(n, d\)"):
        read_table(np.zeros(shape))


def test_no_columns():
    with pytest.raises(InputError, match="0 columns"):
        read_table(np.zeros((10, 0)))


@pytest.mark.parametrize(
    "cond", [(4, 2, 2), {2, 4}, np.array([4, 2]), [np.int64(2), np.int32(4)], iter([2, 4])]
)
def test_questions_have_one_form(cond):
    assert normalise_question(np.int64(5), 1, cond, 6) == (1, 5, (2, 4))


@pytest.mark.parametrize(
    ("i", "j", "cond", "message"),
    [
        (0, 0, (), "against itself"),
        (0, 1, (1, 2), "at once"),
        (0, 6, (), "out of range"),
        (0, 1, (-1,), "out of range"),
    ],
)
def test_questions_that_are_none(i, j, cond, message):
    with pytest.raises(InputError, match=message):
        normalise_question(i, j, cond, 6)


@pytest.mark.parametrize(("i", "cond"), [(0.5, ()), ("a", ()), (True, ()), (0, "12"), (0, 3)])
def test_indices_of_other_types(i, cond):
    with pytest.raises(InputTypeError, match=r"integer|sequence"):
        normalise_question(i, 1, cond, 6)


def test_no_conditioning_set():
    assert normalise_question(1, 0, None, 6) == (0, 1, ())
