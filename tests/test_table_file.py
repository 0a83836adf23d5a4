"""Tables as text: CSV and TSV, and files that are neither."""

import numpy as np
import pandas as pd
import pytest

from acid_causal.errors import InputError
from acid_causal.table_file import read_table_file


@pytest.fixture
def frame(table) -> pd.DataFrame:
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
def test_the_forms_of_a_table(tmp_path, frame, name, options):
    frame.to_csv(tmp_path / name, index=False, **options)
    pd.testing.assert_frame_equal(read_table_file(tmp_path / name), frame)


@pytest.mark.parametrize(("header", "row"), [("a, b", "{}, {}"), ("a,b", "{},{},")])
def test_spaces_after_separators_and_separators_at_the_end(tmp_path, header, row):
    path = tmp_path / "data.csv"
    path.write_text("\n".join([header, row.format(1.5, 2), row.format(3, 4)]))
    expected = pd.DataFrame({"a": [1.5, 3.0], "b": [2, 4]})
    pd.testing.assert_frame_equal(read_table_file(path), expected)


def test_types_and_missing_values(tmp_path):
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
def test_files_that_are_no_tables(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"bad.csv.*{message}"):
        read_table_file(path)


def test_what_is_no_file(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv': No such file"):
        read_table_file(tmp_path / "none.csv")
    with pytest.raises(InputError, match="Is a directory"):
        read_table_file(tmp_path)
