"""Tables and questions as users bring them."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from acid_causal.errors import AcidWarning, InputError, InputTypeError, OptionError
from acid_causal.inference.tester import ci_test
from acid_causal.tables.inputs import (
    Table,
    join_tables,
    normalise_question,
    read_question,
    read_table,
)
from acid_causal.weights.checkpoint import TrainedModel


def test_accepts_every_kind_of_real_numbers(table: np.ndarray) -> None:
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
        (pd.DataFrame(whole > 0).astype("boolean"), whole > 0),
        (np.ma.array(table), expected),
        (torch.from_numpy(table), expected),
    ):
        np.testing.assert_array_equal(read_table(same).values, reference)


def test_one_hash_of_shape_and_values(table: np.ndarray) -> None:
    frame = pd.DataFrame(table, columns=list("abcdef"))
    same = read_table(table).sha256
    for other in (frame, np.asfortranarray(table), np.where(table == 0, -0.0, table)):
        assert read_table(other).sha256 == same
    changed = table.copy()
    changed[5, 2] += 1e-9
    for other in (changed, table[:, ::-1], table[:-1], table.reshape(-1, 3)):
        assert read_table(other).sha256 != same


def test_the_hash_tells_categories_from_numbers() -> None:
    codes = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.0, 0.0]])
    table = Table(codes, ("a", "b"), None)
    kinds: list[dict[int, tuple[str, ...]]] = [
        {},
        {0: ("p", "q", "r")},
        {1: ("no", "yes")},
        {0: ("p", "q", "r"), 1: ("no", "yes")},
    ]
    hashes = [replace(table, categories=kind).sha256 for kind in kinds]
    assert hashes[0] == table.sha256
    assert len(set(hashes)) == len(kinds)
    renamed = replace(table, categories={0: ("u", "v", "w")})
    assert renamed.sha256 == hashes[1]


def test_keeps_names_and_copies(table: np.ndarray) -> None:
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
        np.array([1, "x"] * 60, dtype=object),
        np.array([b"a", b"b"] * 60),
        np.full(120, 1 + 2j),
        pd.date_range("2020-01-01", periods=120),
    ],
    ids=["objects", "bytes", "complex", "dates"],
)
def test_names_columns_of_neither_numbers_nor_texts(table: np.ndarray, column: object) -> None:
    frame = pd.DataFrame(table, columns=list("abcdef"))
    frame["group"] = column
    with pytest.raises(InputTypeError, match=r"'group'.*[Ee]ncode"):
        read_table(frame)
    if isinstance(column, np.ndarray):
        with pytest.raises(InputTypeError, match="X1"):
            read_table(column[:, None])


def test_missing_and_infinite_values(table: np.ndarray) -> None:
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


@pytest.mark.parametrize("dtype", [float, np.float32, int, bool])
def test_masked_values_are_missing(table: np.ndarray, dtype: type) -> None:
    mask = np.zeros(table.shape, dtype=bool)
    mask[[3, 9], 1] = mask[4, 5] = True
    masked: np.ma.MaskedArray = np.ma.array((10 * table).astype(dtype), mask=mask)
    if dtype is float:
        masked.data[3, 1] = np.inf  # what lies under a mask is not there
    expected = np.where(mask, np.nan, masked.data.astype(float))
    forms = [masked, list(masked), tuple(masked)]
    if dtype is not bool:  # of these pandas makes objects
        forms.append(pd.DataFrame(masked))
    for form in forms:
        with pytest.raises(InputError, match=r"missing values \(NaN\) in '.*: 2, '.*: 1"):
            read_table(form)
        read = read_table(form, missing="drop")
        np.testing.assert_array_equal(read.values, expected)
        assert read.absent is not None
        np.testing.assert_array_equal(read.absent, mask)
    joined, _ = join_tables(masked[:, 1], masked[:, 5], masked[:, :1], missing="drop")
    np.testing.assert_array_equal(joined.values, expected[:, [1, 5, 0]])
    assert masked.mask.sum() == 3


def test_missing_booleans_of_pandas(table: np.ndarray) -> None:
    frame = pd.DataFrame(table > 0).astype("boolean")
    frame.iloc[5, 2] = pd.NA
    with pytest.raises(InputError, match="'2': 1"):
        read_table(frame)
    read = read_table(frame, missing="drop")
    assert np.isnan(read.values[5, 2])
    assert np.isnan(read.values).sum() == 1


DECIMAL = pd.ArrowDtype(pa.decimal128(12, 2))
OBJECTS: dict[str, Callable[[np.ndarray], Any]] = {
    "floats and booleans of a frame": lambda x: pd.DataFrame(
        {"a": x[:, 0], "b": x[:, 1] > 0}
    ).to_numpy(),
    "objects of a frame": lambda x: pd.DataFrame(x, dtype=object),
    "numpy's scalars": lambda x: [[np.float32(a), np.int8(b)] for a, b in np.round(x[:, :2])],
    "decimals": lambda x: [[Decimal(str(v)) for v in row] for row in x],
    "fractions": lambda x: [[Fraction(round(8 * v), 8) for v in row] for row in x],
    "whole numbers beyond 64 bits": lambda x: [[round(v * 1e6) * 2**60 for v in row] for row in x],
    "pyarrow's decimals": lambda x: pd.DataFrame(
        {"a": pd.array([Decimal(round(v)) for v in x[:, 0]], dtype=DECIMAL)}
    ),
    "masked objects": lambda x: np.ma.array(x.astype(object)),
}


@pytest.mark.parametrize("form", OBJECTS)
def test_objects_that_are_numbers(table: np.ndarray, form: str) -> None:
    data = OBJECTS[form](table)
    expected = np.asarray(data.to_numpy() if isinstance(data, pd.DataFrame) else data)
    np.testing.assert_array_equal(read_table(data).values, expected.astype(float))


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, Decimal("NaN"), Decimal("sNaN")])
def test_objects_that_are_missing(table: np.ndarray, nothing: object) -> None:
    data = table.astype(object)
    data[3, 2] = nothing
    for form in (data, pd.DataFrame(data)):
        with pytest.raises(InputError, match=r"missing values \(NaN\) in '.*': 1"):
            read_table(form)
        assert np.argwhere(np.isnan(read_table(form, missing="drop").values)).tolist() == [[3, 2]]
    masked: np.ma.MaskedArray = np.ma.array(
        data, mask=np.arange(data.size).reshape(data.shape) == 5
    )
    assert np.isnan(read_table(masked, missing="drop").values).sum() == 2


@pytest.mark.parametrize("odd", ["1.5", 1j, pd.NaT, pd.Timestamp("2020-01-01"), [1], b"1"])
def test_one_object_that_is_no_number(table: np.ndarray, odd: object) -> None:
    data = table.astype(object)
    data[7, 1] = odd
    with pytest.raises(InputTypeError, match="'X2' \\(object\\)"):
        read_table(data)


def test_objects_too_large_for_a_float_are_infinite(table: np.ndarray) -> None:
    data = table.astype(object)
    data[0, 0] = 10**400
    with pytest.raises(InputError, match="infinite values in 'X1': 1"):
        read_table(data)


@pytest.mark.parametrize("dtype", [np.uint64, np.longdouble, np.float16, np.int8])
def test_every_type_of_number(dtype: type) -> None:
    top: Any = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 6e4
    data: Any = np.array([[top, 1], [0, 2], [top // 2, 3], [1, 4]], dtype=dtype)
    for form in (data, data.tolist(), pd.DataFrame(data) if dtype != np.float16 else data):
        np.testing.assert_array_equal(read_table(form).values, data.astype(float))
    if dtype is np.uint64:
        frame = pd.DataFrame(data).astype("UInt64")
        np.testing.assert_array_equal(read_table(frame).values, data.astype(float))


def test_equal_tables_are_equal_to_the_bit(table: np.ndarray) -> None:
    one, other = np.round(table), np.round(table)
    one[0, 0], other[0, 0] = 0.0, -0.0
    one[1, 1] = np.nan
    other[1, 1] = np.array([0xFFF8000000000123], dtype=np.uint64).view(np.float64)[0]
    other[np.signbit(other) & (other == 0)] = -0.0
    read = [read_table(data, missing="drop").values for data in (one, other, pd.DataFrame(other))]
    assert read[0].tobytes() == read[1].tobytes() == read[2].tobytes()
    assert np.signbit(other[0, 0])  # the caller's is as it was


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_too_few_rows(table: np.ndarray, n: int) -> None:
    with pytest.raises(InputError, match=f"{n} rows.*at least 4"):
        read_table(table[:n])


@pytest.mark.parametrize("shape", [(120,), (3, 4, 5), ()])
def test_other_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"shape \(n, d\)"):
        read_table(np.zeros(shape))


RAGGED = [[1.0, 2.0], [3.0]] * 60


def test_lists_with_rows_of_several_lengths(table: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"data cannot be read as an array.*same length"):
        read_table(RAGGED)
    column = table[:, 0]
    for name in "xyz":
        parts = {"x": column, "y": column, "z": column, name: RAGGED}
        with pytest.raises(InputError, match=f"^{name} cannot be read as an array"):
            join_tables(*parts.values(), missing="raise")


@pytest.mark.parametrize("thing", [None, 5, {"a": [1, 2]}, object()])
def test_what_is_no_array(table: np.ndarray, thing: object) -> None:
    with pytest.raises(InputError, match=rf"data must have shape \(n, d\).*{type(thing).__name__}"):
        read_table(thing)
    with pytest.raises(InputError, match=r"y must have shape \(n, d\)"):
        join_tables(table[:, 0], thing, None, missing="raise")


def test_what_numpy_cannot_read() -> None:
    with pytest.raises(InputTypeError, match=r"data is a Tensor that numpy cannot read.*detach"):
        read_table(torch.zeros(10, 2, requires_grad=True))


@pytest.mark.parametrize(
    "z",
    [
        None,
        [],
        (),
        np.zeros(0),
        np.zeros((120, 0)),
        [[]] * 120,
        np.empty((0, 0)),
        np.ma.zeros((120, 0)),
        pd.DataFrame(),
        pd.DataFrame(index=range(120)),
        pd.Series([], dtype=float),
        torch.zeros(120, 0),
    ],
)
def test_empty_conditioning_sets(table: np.ndarray, z: object) -> None:
    read, groups = join_tables(table[:, 0], table[:, [1, 2]], z, missing="raise")
    assert groups == ((0,), (1, 2), ())
    np.testing.assert_array_equal(read.values, table[:, :3])


def test_a_variable_as_a_series(table: np.ndarray) -> None:
    frame = pd.DataFrame(table, columns=list("abcdef"))
    read, groups = join_tables(frame["a"], frame["b"], frame[["c", "d"]], missing="raise")
    assert read.columns == ("x[a]", "y[b]", "z[c]", "z[d]")
    assert groups == ((0,), (1,), (2, 3))


def test_a_conditioning_set_without_rows_is_not_empty(table: np.ndarray) -> None:
    with pytest.raises(InputError, match="z has 0 rows"):
        join_tables(table[:, 0], table[:, 1], np.zeros((0, 3)), missing="raise")


def test_no_columns() -> None:
    with pytest.raises(InputError, match="0 columns"):
        read_table(np.zeros((10, 0)))


@pytest.mark.parametrize(
    "cond", [(4, 2, 2), {2, 4}, np.array([4, 2]), [np.int64(2), np.int32(4)], iter([2, 4])]
)
def test_questions_have_one_form(cond: object) -> None:
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
def test_questions_that_are_none(i: int, j: int, cond: tuple[int, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        normalise_question(i, j, cond, 6)


@pytest.mark.parametrize(
    ("i", "cond"),
    [
        (0.5, ()),
        ("a", ()),
        (True, ()),
        (0, "12"),
        (0, b"12"),
        (0, bytearray(b"12")),
        (0, 3),
        (0, np.array(2)),
        (0, torch.tensor(2)),
        (0, np.array([[2, 3]])),
        (0, [2.0]),
        (0, [None]),
    ],
)
def test_indices_of_other_types(i: object, cond: object) -> None:
    with pytest.raises(InputTypeError, match=r"integer|sequence"):
        normalise_question(i, 1, cond, 6)


def test_no_conditioning_set() -> None:
    assert normalise_question(1, 0, None, 6) == (0, 1, ())


def test_reads_a_question() -> None:
    assert read_question((5, 1, [4, 2, 2]), 6) == (1, 5, (2, 4))
    assert read_question([1, 0, None], 6) == (0, 1, ())


@pytest.mark.parametrize("question", [(), (0,), (0, 1), (0, 1, (), 2), "01", np.arange(2)])
def test_questions_that_are_no_triples(question: object) -> None:
    with pytest.raises(InputError, match=r"must be a triple \(i, j, conditioning set\), not"):
        read_question(question, 6)


@pytest.mark.parametrize("question", [None, 3, np.array(3)])
def test_questions_that_are_no_sequences(question: object) -> None:
    with pytest.raises(InputTypeError, match="must be a triple"):
        read_question(question, 6)


def test_the_parts_of_a_question_are_checked() -> None:
    with pytest.raises(InputError, match="against itself"):
        read_question((1, 1, ()), 6)
    with pytest.raises(InputTypeError, match="integer"):
        read_question("012", 6)


@pytest.mark.parametrize("start", [2**53, -(2**63), 2**70, Decimal(2**70), Fraction(2**80, 3)])
@pytest.mark.parametrize(
    "as_table", [np.array, pd.DataFrame, lambda rows: pd.DataFrame(rows).convert_dtypes()]
)
def test_whole_numbers_beyond_2_53_keep_their_differences(start: Any, as_table: Any) -> None:
    table = read_table(as_table([[start + k] for k in (3, 0, 7, 1)]))
    assert np.diff(table.values[:, 0]).tolist() == [-3, 7, -6]


def test_large_numbers_among_others() -> None:
    last = 2**64 - 1
    unsigned = read_table(np.array([[last], [last - 1], [last - 4], [0]], dtype=np.uint64)).values
    assert np.diff(unsigned[:3, 0]).tolist() == [-1, -3]
    holes = pd.DataFrame({"a": pd.array([2**60, None, 2**60 + 1, 2**60 + 2], dtype="Int64")})
    values = read_table(holes, missing="drop").values[:, 0]
    assert np.diff(values[2:]).tolist() == [1]
    assert np.isnan(values).tolist() == [False, True, False, False]
    far = read_table(np.array([[-(2**63)], [2**63 - 1], [0], [1], [2]])).values[:, 0]
    assert np.diff(far[2:]).tolist() == [1, 1]
    wide = read_table(np.array([[2**60], [1e300], [3.0], [4.0]], dtype=object)).values[:, 0]
    assert wide.tolist() == [2**60, 1e300, 3, 4]


def test_a_shift_beyond_2_53_moves_no_answer(tiny_model: TrainedModel) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 1000, 60)
    y = x + rng.integers(0, 300, 60)
    near = ci_test(x, y, model=tiny_model).pvalue
    assert ci_test(x + 2**62, y, model=tiny_model).pvalue == pytest.approx(near, abs=1e-6)


def test_series_whose_rows_are_in_different_orders() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 50))
    frame = pd.DataFrame({"x": x, "y": y})
    shuffled = frame["x"].sample(frac=1, random_state=0)
    with pytest.warns(AcidWarning, match=r"in different orders.*y\.reindex\(x\.index\) aligns"):
        table, _ = join_tables(shuffled, frame["y"], None, missing="raise")
    np.testing.assert_array_equal(table.values[:, 1], y)  # as they come
    # A series and its past have other labels, and arrays none.
    join_tables(frame["x"].iloc[1:], frame["x"].iloc[:-1], y[1:], missing="raise")
    join_tables(shuffled, y, None, missing="raise")
