"""Columns of numbers, of texts and of levels, as users bring them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from acid_causal.errors import AcidWarning, InputError, OptionError
from acid_causal.inference.tester import Tester, ci_test
from acid_causal.tables.columns import as_float, read_column
from acid_causal.tables.frames import read_frame
from acid_causal.tables.inputs import join_tables, read_table
from acid_causal.weights.checkpoint import TrainedModel

LETTERS = ["b", "a", "c", "a"] * 30


def kinds(data: Any, **options: Any) -> tuple[dict[int, tuple[str, ...]], list[float]]:
    read = read_table(data, missing="drop", **options)
    return dict(read.categories), read.values[:4, 0].tolist()


@pytest.mark.parametrize(
    "column",
    [
        np.array(LETTERS),
        np.array(LETTERS, dtype=object),
        pd.Series(LETTERS),
        pd.Series(LETTERS, dtype=object),
        pd.Series(LETTERS, dtype="string"),
        pd.Series(LETTERS, dtype="category"),
        pd.Series(pd.Categorical(LETTERS, categories=["c", "unused", "b", "a"])),
        pd.Series(LETTERS, dtype=pd.ArrowDtype(pa.string())),
        pl.Series(LETTERS),
        pl.Series(LETTERS, dtype=pl.Categorical),
        pa.array(LETTERS),
        pa.array(LETTERS).dictionary_encode(),
    ],
    ids=lambda column: f"{type(column).__module__}-{getattr(column, 'dtype', None)}",
)
def test_texts_are_categories(column: Any) -> None:
    if not isinstance(column, np.ndarray):
        series = column.to_pandas() if hasattr(column, "to_pandas") else column
        assert kinds(pd.DataFrame({"a": series})) == ({0: ("a", "b", "c")}, [1.0, 0.0, 2.0, 0.0])
    else:
        assert kinds(column[:, None]) == ({0: ("a", "b", "c")}, [1.0, 0.0, 2.0, 0.0])
    joined, _ = join_tables(np.arange(120), column, None, missing="raise")
    assert joined.categories == {1: ("a", "b", "c")}


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])
def test_frames_of_other_packages(make: Callable[..., Any]) -> None:
    columns = {
        "word": LETTERS,
        "x": [0.5, None, 1.5, 2.0] * 30,
        "yes": [True, False, None, True] * 30,
        "n": list(range(120)),
    }
    frame, expected = make(columns), pd.DataFrame(columns)
    read, same = read_table(frame, missing="drop"), read_table(expected, missing="drop")
    assert read.columns == ("word", "x", "yes", "n")
    assert read.categories == same.categories == {0: ("a", "b", "c")}
    np.testing.assert_array_equal(read.values, same.values)
    with pytest.raises(InputError, match="'x': 30, 'yes': 30"):
        read_table(frame)


def test_numbers_are_categories_if_the_user_says_so() -> None:
    codes = np.array([[10, 2, 7, 2]] * 30).reshape(-1, 1)
    assert kinds(codes) == ({}, [10.0, 2.0, 7.0, 2.0])
    frame = pd.DataFrame({"a": codes[:, 0]})
    expected = {0: ("2", "7", "10")}, [2.0, 0.0, 1.0, 0.0]
    for same in (codes, codes.astype(float), codes.astype(object), frame):
        assert kinds(same, categorical=[0]) == expected
    for categorical in (["a"], "a", {"a"}, 0, np.array([0])):
        assert kinds(frame, categorical=categorical) == expected
    assert kinds(codes, categorical="X1") == expected
    assert kinds(frame.astype("category")) == expected
    yes = frame > 2
    assert kinds(yes) == ({}, [1.0, 0.0, 1.0, 0.0])
    for data, named in ((yes, "a"), (yes.astype("category"), ())):
        assert kinds(data, categorical=named) == ({0: ("False", "True")}, [1.0, 0.0, 1.0, 0.0])


def test_ordered_levels_are_ranked() -> None:
    sizes = pd.Series(["S", "L", "M", "S"] * 30, dtype=object)
    order = pd.CategoricalDtype(["S", "M", "L", "XL"], ordered=True)
    expected = [0.0, 2.0, 1.0, 0.0]
    cases: list[tuple[Any, Any, tuple[str, ...]]] = [
        (sizes.astype(order), (), ("S", "M", "L", "XL")),
        (sizes.astype(pd.CategoricalDtype(["S", "M", "L"])), ["a"], ("S", "M", "L")),
        (sizes, {"a": ["S", "M", "L"]}, ("S", "M", "L")),
        (sizes.map({"S": -5, "M": 0.5, "L": 70}), ["a"], ("-5", "0.5", "70")),
    ]
    for column, ordered, names in cases:
        read = read_table(pd.DataFrame({"a": column}), ordered=ordered)
        assert read.values[:4, 0].tolist() == expected
        assert (dict(read.categories), dict(read.ordered)) == ({}, {0: names})
    of_polars = pl.DataFrame({"a": sizes.tolist()}, schema={"a": pl.Enum(["S", "M", "L"])})
    assert read_table(of_polars, ordered=["a"]).values[:4, 0].tolist() == expected
    gap = sizes.astype(order)
    gap[1] = None
    assert np.isnan(read_table(pd.DataFrame({"a": gap}), missing="drop").values[1, 0])
    unordered = read_table(pd.DataFrame({"a": sizes.astype(order)}), categorical=["a"])
    assert unordered.categories == {0: ("L", "M", "S")}
    with pytest.raises(InputError, match=r"'a' of data has no order.*ordered=\{\"a\": \["):
        read_table(pd.DataFrame({"a": sizes}), ordered=["a"])
    with pytest.raises(InputError, match=r"'a' of data has levels that its order lacks: 'L'; "):
        read_table(pd.DataFrame({"a": sizes}), ordered={"a": ["S", "M"]})


def test_codes_do_not_depend_on_the_order_of_rows() -> None:
    frame = pd.DataFrame({"word": LETTERS, "code": [3, 1, 10, 1] * 30})
    read = read_table(frame, categorical=["code"])
    turned = read_table(frame[::-1], categorical=["code"])
    assert turned.categories == read.categories
    np.testing.assert_array_equal(turned.values, read.values[::-1])


def test_missing_values_of_categories() -> None:
    words: list[Any] = ["a", None, "b", "b"] * 30
    columns: list[Any] = [
        pd.Series(words),
        pd.Series(words, dtype="category"),
        pd.Series(words, dtype="string"),
        pd.Series(["a", np.nan, "b", "b"] * 30, dtype=object),
        np.array(words, dtype=object),
        np.ma.array(["a", "?", "b", "b"] * 30, mask=[False, True, False, False] * 30),
    ]
    for column in columns:
        data = column[:, None] if isinstance(column, np.ndarray) else pd.DataFrame({"X1": column})
        with pytest.raises(InputError, match=r"missing values \(NaN\) in 'X1': 30"):
            read_table(data)
        read = read_table(data, missing="drop")
        assert read.categories == {0: ("a", "b")}
        np.testing.assert_array_equal(read.values[:4, 0], [0, np.nan, 1, 1])


def test_lists_of_numbers_and_texts() -> None:
    """numpy alone would make texts of all of them."""
    read = read_table([[1.5, "a"], [2.5, "b"], [3.5, "b"], [0.5, "a"]])
    assert read.categories == {1: ("a", "b")}
    np.testing.assert_array_equal(read.values[:, 0], [1.5, 2.5, 3.5, 0.5])
    joined, _ = join_tables([1, 2, 3, 4], ["a", np.nan, "b", "b"], None, missing="drop")
    assert np.isnan(joined.values[1, 1])


def test_a_rare_level_and_a_single_one() -> None:
    frame = pd.DataFrame({"one": ["a"] * 30, "rare": ["a"] * 27 + ["b", "b", "c"]})
    assert read_table(frame).categories == {0: ("a",), 1: ("a", "b", "c")}


def test_what_is_neither_number_nor_text() -> None:
    for odd in (np.array([[1], "a"], dtype=object), np.array([b"a"]), np.array([1j])):
        assert read_column(odd) is None
        assert as_float(odd) is None
    assert read_column(np.array([[1], [2], None], dtype=object), categorical=True) is None
    days = read_column(pd.Series(pd.date_range("2020-01-01", periods=2)), categorical=True)
    assert days is not None
    assert days.levels == ("2020-01-01 00:00:00", "2020-01-02 00:00:00")
    with pytest.raises(OptionError, match="unknown column in categorical: 2"):
        read_table(np.zeros((9, 2)), categorical=[2])


# ---- answers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "order", "ranks"),
    [
        ([True, False, True], ["false", "TRUE"], [1, 0, 1]),
        ([1, 2, 1], ["01", "02"], [0, 1, 0]),
        ([0.1, 0.5, 0.1], ["0.10", "5e-1"], [0, 1, 0]),
        ([3.0, 0.0, 3.0], ["3.0", "0"], [0, 1, 0]),
    ],
)
def test_an_order_may_spell_levels_as_a_file_does(
    values: list[Any], order: list[str], ranks: list[float]
) -> None:
    table = read_table(pd.DataFrame({"a": values * 2, "b": range(6)}), ordered={"a": order})
    assert table.values[:, 0].tolist() == ranks * 2


@pytest.mark.filterwarnings("ignore::acid_causal.errors.AcidWarning")
@pytest.mark.parametrize("model", ["acid-ranks", "acid-base"])
def test_names_and_order_of_levels_and_rows_move_no_pvalue(model: str) -> None:
    rng = np.random.default_rng(0)
    kind, group = rng.permutation(np.arange(240) % 4), rng.integers(0, 3, 240)
    x = rng.normal(size=240) + (kind == 2) - group
    frame = pd.DataFrame({"x": x, "y": rng.normal(size=240) + group})
    frame["kind"], frame["group"] = np.array(list("abcd"))[kind], np.array(list("uvw"))[group]
    questions: list[Any] = [(0, 2, ()), (0, 2, (3,)), (2, 3, (0,)), (0, 1, (2, 3)), (1, 2, (0, 3))]

    def ask(data: Any, **options: Any) -> list[float]:
        answers = Tester(data, model=model, **options).test_many(questions)
        return [answer.pvalue for answer in answers]

    expected = ask(frame)
    names = {"a": "z", "b": "", "c": "ä b", "d": "D"}
    codes = frame.assign(kind=frame["kind"].map({"a": 7, "b": 2, "c": 1, "d": -3}), group=group)
    order = rng.permutation(240)
    forms: list[tuple[Any, dict[str, Any]]] = [
        (frame.assign(kind=frame["kind"].map(names)), {}),
        (frame.astype({"kind": pd.CategoricalDtype(list("dbxac"))}), {}),
        (codes, {"categorical": ["kind", "group"]}),
        (codes.to_numpy(dtype=float), {"categorical": [2, 3]}),
        (frame.iloc[order], {}),
        (frame.sort_values("kind"), {}),
        (pl.from_pandas(frame), {}),
        (read_frame(frame)[0], {}),
    ]
    for data, options in forms:
        assert ask(data, **options) == pytest.approx(expected, abs=1e-4)
    single = ci_test(frame["x"], frame["kind"], frame[["group"]], model=model)
    assert single.pvalue == pytest.approx(expected[1], abs=1e-4)


@pytest.mark.filterwarnings("ignore::acid_causal.errors.AcidWarning")
def test_constant_rare_and_missing_levels_have_answers(tiny_model: TrainedModel) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60), "one": "a"})
    frame["rare"] = ["a"] * 40 + ["b"] * 17 + ["c", "c", "d"]
    with pytest.warns(AcidWarning, match="constant columns are independent of everything"):
        assert Tester(frame, model=tiny_model).test(0, 2).pvalue == 1.0
    tester = Tester(frame, model=tiny_model)
    assert tester.test(0, 1, (2,)).pvalue == tester.test(0, 1).pvalue
    assert 0 <= tester.test(0, 3).pvalue <= 1
    assert 0 <= tester.test(0, 1, (3,)).pvalue <= 1
    # Each test leaves out its incomplete rows; with them the last level is gone.
    gaps = frame.assign(x=frame["x"].where(frame["rare"] != "d"))
    gaps.loc[3, "rare"] = None
    lacking = Tester(gaps, model=tiny_model, missing="drop").test(0, 3, (1,))
    complete = Tester(gaps.dropna(), model=tiny_model).test(0, 3, (1,))
    assert lacking.n == 58
    assert lacking.pvalue == pytest.approx(complete.pvalue, abs=1e-4)
