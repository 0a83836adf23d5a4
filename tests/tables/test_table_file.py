"""Tables as text: CSV and TSV, and files that are neither."""

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest

from acid_causal.errors import AcidWarning, InputError, OptionError
from acid_causal.tables.number_marks import MISSING_TEXTS, Marks
from acid_causal.tables.table_file import Format, check_marks, read_table_file, table_name


@pytest.fixture
def frame(table: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(table[:, :2], columns=["a", "income, net"])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("data.csv", {}),
        ("data.txt", {}),
        ("data.csv", {"encoding": "utf-8-sig"}),
        ("data.csv", {"lineterminator": "\r\n"}),
        ("data.tsv", {"sep": "\t"}),
        ("data.TAB", {"sep": "\t"}),
    ],
)
def test_the_forms_of_a_table(
    tmp_path: Path, frame: pd.DataFrame, name: str, options: dict[str, str]
) -> None:
    frame.to_csv(tmp_path / name, index=False, **options)
    pd.testing.assert_frame_equal(read_table_file(tmp_path / name), frame)


@pytest.mark.parametrize(("header", "row"), [("a, b", "{}, {}"), ("a,b", "{},{},")])
def test_spaces_after_separators_and_separators_at_the_end(
    tmp_path: Path, header: str, row: str
) -> None:
    path = tmp_path / "data.csv"
    path.write_text("\n".join([header, row.format(1.5, 2), row.format(3, 4)]))
    expected = pd.DataFrame({"a": [1.5, 3.0], "b": [2, 4]})
    pd.testing.assert_frame_equal(read_table_file(path), expected)


def test_types_and_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("number,flag,text\n1,True,x\n,False,y\nNA,True,z\n")
    frame = read_table_file(path)
    np.testing.assert_array_equal(frame["number"], [1.0, np.nan, np.nan])
    assert frame["flag"].dtype == bool
    assert list(frame["text"]) == ["x", "y", "z"]


TOO_MANY = "more fields in its rows than in its header"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b" \n\n", "it is empty"),
        (b"a,b\n", r"names of columns \(a, b\) and no rows"),
        (b"a,b,a\n1,2,3\n", "two columns are named 'a'"),
        (b"a, a\n1,2\n", "two columns are named 'a'"),
        (b"1.5,2.5\n3,4\n", "the first row, 1.5, 2.5, looks like data.*--no-header"),
        (b"5.1,3.5,x\n3,4,x\n", "looks like data"),
        (b"a,b\n1,2\n1,2,3,4\n", "Expected 2 fields in line 3, saw 4"),
        (b"a,b\n1,2\n3,4\n5,6,7\n", "Expected 2 fields in line 4, saw 3"),
        # Pandas would make labels of the first fields, and move the names to the others.
        (b"a,b\n1,2,3\n3,4,5\n", TOO_MANY),
        (b"a,b\n1,2,3,4\n3,4,5,6\n", TOO_MANY),
        (b"a,b\n1,2,3\n3,4\n", TOO_MANY),
        (b"\x1f\x8b\x08\x00", "Compressed file ended"),
        (bytes(range(256)) * 4, "it is no text"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"bad.csv.*{message}"):
        read_table_file(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv': No such file"):
        read_table_file(tmp_path / "none.csv")
    with pytest.raises(InputError, match="Is a directory"):
        read_table_file(tmp_path)


# ---- other kinds -----------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["parquet", "PQ", "xlsx"])
def test_binary_files(tmp_path: Path, frame: pd.DataFrame, ending: str) -> None:
    path = tmp_path / f"data.{ending}"
    frame["whole"] = np.arange(len(frame))
    frame["text"] = "x"
    if ending == "xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_parquet(path)
    read = read_table_file(path)
    pd.testing.assert_frame_equal(read, frame, check_dtype=False)
    assert read["whole"].dtype.kind == "i"


def test_the_first_sheet_is_read_and_names_are_text(tmp_path: Path) -> None:
    path = tmp_path / "data.xlsx"
    with pd.ExcelWriter(path) as writer:
        pd.DataFrame({2020: [1, 2], 2021: [3, 4]}).to_excel(writer, sheet_name="a", index=False)
        pd.DataFrame({"b": [1]}).to_excel(writer, sheet_name="b", index=False)
    with pytest.warns(AcidWarning, match="has 2 sheets; the first, 'a', is read"):
        assert list(read_table_file(path).columns) == ["2020", "2021"]


def test_cells_of_a_workbook(tmp_path: Path) -> None:
    path = tmp_path / "data.xlsx"
    book = openpyxl.Workbook()
    for row in (["a ", "b", "c", "d"], [1, "x", "NA", "1,905"], [None, "y", 2.5, "326"]):
        book.active.append(row)
    book.save(path)
    with pytest.warns(AcidWarning, match="commas are taken for marks of thousands in d"):
        frame = read_table_file(path)
    assert [list(frame[name].dropna()) for name in frame] == [[1], ["x", "y"], [2.5], [1905, 326]]
    assert [frame[name].dtype.kind for name in "acd"] == ["f", "f", "i"]
    frame = read_table_file(path, Format(header=False, marks=Marks(thousands=",")))
    assert list(frame) == ["X1", "X2", "X3", "X4"]


@pytest.mark.parametrize("ending", ["parquet", "xlsx"])
@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\x03\x04 cut short", b"PAR1"])
def test_damaged_binary_files(tmp_path: Path, ending: str, content: bytes) -> None:
    path = tmp_path / f"bad.{ending}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"cannot read the table .*bad"):
        read_table_file(path)
    with pytest.raises(InputError, match="No such file"):
        read_table_file(tmp_path / f"none.{ending}")


# ---- separators ------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [";", "\t", "|", " "])
def test_separators_are_found_and_told(tmp_path: Path, frame: pd.DataFrame, mark: str) -> None:
    path = tmp_path / "data.csv"
    frame.columns = ["a", "b"]
    frame.to_csv(path, sep=mark, index=False)
    with pytest.warns(AcidWarning, match=r"taken for what separates.*data\.csv.*--separator"):
        read = read_table_file(path)
    pd.testing.assert_frame_equal(read, frame)
    typed = {"\t": "\\t"}.get(mark, mark)
    pd.testing.assert_frame_equal(read_table_file(path, Format(separator=typed)), frame)


def test_decimal_commas_and_semicolons(tmp_path: Path, frame: pd.DataFrame) -> None:
    path = tmp_path / "data.csv"
    frame.to_csv(path, sep=";", decimal=",", index=False, encoding="utf-8-sig")
    read, messages = told(path)
    assert "commas are taken for decimal marks in a, income, net" in messages
    pd.testing.assert_frame_equal(read, frame)
    form = Format(separator=";", marks=Marks(decimal=","))
    pd.testing.assert_frame_equal(read_table_file(path, form), frame)
    frame.to_csv(path, decimal=",", index=False)
    pd.testing.assert_frame_equal(read_table_file(path, Format(marks=Marks(decimal=","))), frame)


def told(path: Path, form: Format | None = None) -> tuple[pd.DataFrame, str]:
    """Reads a table and what is told about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = read_table_file(path, form)
    return frame, "\n".join(str(warning.message) for warning in caught)


def columns(path: Path, text: str, form: Format | None = None) -> dict[str, list[Any]]:
    path.write_text(text)
    frame, _ = told(path, form)
    return {name: list(frame[name]) for name in frame}


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_thousands_by_column(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"data.{ending}"
    text = 'a,b,c\n"1,905","1,905",1.5\n326,"0,5",2\n'
    if ending == "tsv":
        text = "a\tb\tc\n1,905\t1,905\t1.5\n326\t0,5\t2\n"
    assert columns(path, text) == {"a": [1905, 326], "b": [1.905, 0.5], "c": [1.5, 2]}
    path.write_text(text)
    messages = told(path)[1]
    assert "decimal marks in b; else say --thousands ," in messages
    assert "marks of thousands in a; else say --decimal ," in messages
    # What may be either is left as text, and so is what mixes both.
    text = text.replace("326", '"12,5"' if ending == "csv" else "12,5").replace("0,5", "1,905,000")
    text = text.replace("1,905", "1,905,000", 1)
    assert columns(path, text)["a"] == ["1,905,000", "12,5"]


def test_points_in_a_file_of_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    text = "a;b;c;d\n0,5;1.905;1.5;1\n1,5;2.310;2.5;2\n"
    assert columns(path, text) == {
        "a": [0.5, 1.5],
        "b": ["1.905", "2.310"],
        "c": [1.5, 2.5],
        "d": [1, 2],
    }
    assert columns(path, text, Format(marks=Marks(decimal=",")))["b"] == [1905, 2310]
    assert columns(path, text, Format(marks=Marks(decimal=",")))["c"] == ["1.5", "2.5"]


def test_whole_numbers_stay_exact(tmp_path: Path) -> None:
    big = 2**53 + 1
    read = columns(tmp_path / "a.csv", f'a,b\n{big},"{big:,}"\n{2**70},1\n')
    assert read == {"a": [big, 2**70], "b": [big, 1]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("::", ".", None), "separator must be a single character"),
        ((None, ":", None), "decimal must be '.' or ','"),
        ((None, None, "ab"), "thousands must be a single mark"),
        ((None, ",", ","), "thousands must be another mark"),
    ],
)
def test_marks_that_are_none(
    tmp_path: Path, frame: pd.DataFrame, options: tuple[str | None, ...], message: str
) -> None:
    frame.to_csv(tmp_path / "data.csv")
    separator, decimal, thousands = options

    def read() -> None:
        form = Format(separator=separator, marks=check_marks(decimal, thousands))
        read_table_file(tmp_path / "data.csv", form)

    with pytest.raises(OptionError, match=message):
        read()


# ---- names -----------------------------------------------------------------------------


def test_names_without_blanks(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    assert columns(path, "a ,b ,c \n1 ,2 ,3 \n") == {"a": [1], "b": [2], "c": [3]}
    pd.DataFrame({" a": [1.0], "b ": [2.0]}).to_parquet(tmp_path / "data.parquet")
    assert list(read_table_file(tmp_path / "data.parquet")) == ["a", "b"]


def test_tables_without_a_header(tmp_path: Path) -> None:
    path, text = tmp_path / "data.csv", "1.5,2\n3,4\n"
    assert columns(path, text, Format(header=False)) == {"X1": [1.5, 3], "X2": [2, 4]}
    assert columns(path, text, Format(header=True)) == {"1.5": [3], "2": [4]}
    assert columns(path, "2020,2021\n3,4\n") == {"2020": [3], "2021": [4]}


def test_columns_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    assert columns(path, "a,b,\n1,2,\n3,4,\n") == {"a": [1, 3], "b": [2, 4]}
    path.write_text(",a\n0,5\n1,7\n")
    with pytest.warns(AcidWarning, match=r"without a name in .*data\.csv' counts the rows and is"):
        assert list(read_table_file(path)) == ["a"]
    path.write_text(",a\n7,5\n1,7\n")
    with pytest.warns(AcidWarning, match=r"without a name in .*data\.csv' is called 'column 1'"):
        assert list(read_table_file(path)) == ["column 1", "a"]


def test_texts_for_missing_values(tmp_path: Path) -> None:
    path, text = tmp_path / "data.csv", "a,b\n?,2\n3,.\n"
    read = columns(path, text, Format(missing=["?", "."]))
    np.testing.assert_array_equal([*read.values()], [[np.nan, 3], [2, np.nan]])


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_encodings_and_compression(
    tmp_path: Path, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "data.csv.gz"
    path.write_bytes(pack("größe;año\n1,5;2\n".encode(encoding)))
    frame, messages = told(path)
    assert (list(frame), frame.to_numpy().tolist()) == (["größe", "año"], [[1.5, 2]])
    assert ("is not UTF-8 and is read as" in messages) == (encoding != "utf-16")
    assert table_name(path) == "data"


def test_tables_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b\n" + "1,2\n" * 1000)
    assert len(read_table_file(path, Format(size_limit=4004))) == 1000
    with pytest.raises(InputError, match=r"data\.csv.*more than the limit.*--size-limit"):
        read_table_file(path, Format(size_limit=4003))


def test_a_single_column_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a\n1\n2\n")
    assert list(read_table_file(path)["a"]) == [1, 2]


def test_columns_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pd.DataFrame({"1": [1.0], "2": [2.0]}).to_parquet(path)
    assert list(read_table_file(path)) == ["1", "2"]


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet"])
def test_missing_values_are_named_in_every_kind_of_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"data.{ending}"
    frame = pd.DataFrame({"a": [1, -999, 3], "b": ["x", "?", "y"], "c": [0.5, 1.5, -999.0]})
    {"csv": frame.to_csv, "xlsx": frame.to_excel, "parquet": frame.to_parquet}[ending](
        path, index=False
    )
    found = read_table_file(path, Format(missing=("-999", "?")))
    expected = [[False] * 3, [True, True, False], [False, False, True]]
    np.testing.assert_array_equal(found.isna(), expected)


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet"])
def test_levels_that_read_like_missing_values(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"data.{ending}"
    frame = pd.DataFrame({"diet": ["none", "vegan", None], "a": [1.5, np.nan, 3]})
    write = {"csv": frame.to_csv, "xlsx": frame.to_excel, "parquet": frame.to_parquet}[ending]
    write(path, index=False)
    found = read_table_file(path, Format(levels=("none",)))
    assert found["diet"].tolist()[:2] == ["none", "vegan"]
    np.testing.assert_array_equal(found.isna(), frame.isna())
    assert Format.of(**Format(levels=("none",)).said()).absent == MISSING_TEXTS - {"none"}


def test_grouped_thousands_without_commas_bring_no_advice_about_commas(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a;b\n1'234.5;1\n2'345.5;2\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read_table_file(path)["a"].tolist() == [1234.5, 2345.5]
    assert not any("commas" in str(warning.message) for warning in caught)
