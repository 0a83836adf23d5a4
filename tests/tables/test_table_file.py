"""Tables as text: CSV and TSV, and files that are neither."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from acid_causal.errors import InputError, OptionError
from acid_causal.tables.table_file import read_table_file


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
        (b"", "No columns to parse"),
        (b"a,b\n1,2\n1,2,3,4\n", "Expected 2 fields in line 3, saw 4"),
        (b"a,b\n1,2\n3,4\n5,6,7\n", "Expected 2 fields in line 4, saw 3"),
        # Pandas would make labels of the first fields, and move the names to the others.
        (b"a,b\n1,2,3\n3,4,5\n", TOO_MANY),
        (b"a,b\n1,2,3,4\n3,4,5,6\n", TOO_MANY),
        (b"a,b\n1,2,3\n3,4\n", TOO_MANY),
        (b"a,b\n\xff\xfe,2\n", "utf-8"),
        (b"\x1f\x8b\x08\x00", "utf-8"),
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
    assert list(read_table_file(path).columns) == ["2020", "2021"]


@pytest.mark.parametrize("ending", ["parquet", "xlsx"])
@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\x03\x04 cut short", b"PAR1"])
def test_damaged_binary_files(tmp_path: Path, ending: str, content: bytes) -> None:
    path = tmp_path / f"bad.{ending}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"cannot read the table .*bad"):
        read_table_file(path)
    with pytest.raises(InputError, match="No such file"):
        read_table_file(tmp_path / f"none.{ending}")


@pytest.mark.parametrize("ending", ["xls", "ods"])
def test_kinds_that_are_not_read(tmp_path: Path, ending: str) -> None:
    with pytest.raises(InputError, match=r"save it as \.xlsx or as \.csv"):
        read_table_file(tmp_path / f"data.{ending}")


@pytest.mark.parametrize(("ending", "package"), [("parquet", "pyarrow"), ("xlsx", "openpyxl")])
def test_a_package_that_is_missing(
    tmp_path: Path, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, ending: str, package: str
) -> None:
    path = tmp_path / f"data.{ending}"
    path.write_bytes(b"whatever")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        InputError, match=rf"needs {package} to be read: pip install .*\[discover\]"
    ):
        read_table_file(path)


# ---- separators ------------------------------------------------------------------------


def test_separators_and_decimal_commas(tmp_path: Path, frame: pd.DataFrame) -> None:
    path = tmp_path / "data.csv"
    frame.to_csv(path, sep=";", decimal=",", index=False, encoding="utf-8-sig")
    with pytest.raises(InputError, match=r"name every column; if ';'.*--separator ';'"):
        read_table_file(path)
    read = read_table_file(path, separator=";", decimal=",")
    pd.testing.assert_frame_equal(read, frame)
    frame.columns = ["a", "b"]
    frame.to_csv(path, sep=";", index=False)
    with pytest.raises(InputError, match=r"a single column; if ';'.*--separator ';'"):
        read_table_file(path)
    frame.to_csv(tmp_path / "data.tsv", index=False)
    with pytest.raises(InputError, match="if ',' separates them, say --separator ,"):
        read_table_file(tmp_path / "data.tsv")
    frame.to_csv(path, sep="\t", index=False)
    pd.testing.assert_frame_equal(read_table_file(path, separator="\\t"), frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separator": "::"}, "separator must be a single character"),
        ({"decimal": ","}, "decimal must be another character"),
        ({"decimal": ""}, "decimal must be another character"),
    ],
)
def test_marks_that_are_none(
    tmp_path: Path, frame: pd.DataFrame, options: dict[str, str], message: str
) -> None:
    frame.to_csv(tmp_path / "data.csv")
    with pytest.raises(OptionError, match=message):
        read_table_file(tmp_path / "data.csv", **options)


def test_a_single_column_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a\n1\n2\n")
    assert list(read_table_file(path)["a"]) == [1, 2]


def test_columns_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pd.DataFrame({"1": [1.0], "2": [2.0]}).to_parquet(path)
    assert list(read_table_file(path)) == ["1", "2"]
    path = tmp_path / "data.csv"
    path.write_text("a,a\n1,2\n")
    assert list(read_table_file(path)) == ["a", "a.1"]
