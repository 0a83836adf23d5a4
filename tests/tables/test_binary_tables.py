"""Excel and Parquet: bounded, and every damage ends in one line that names the file."""

import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest

from acid_causal.errors import InputError
from acid_causal.tables.binary_tables import read_parquet, read_sheet
from acid_causal.tables.table_file import read_table_file

LIMIT = 1_000_000
PATH = Path("some.file")


def workbook(*rows: list[Any]) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def parquet(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


def test_rows_without_what_is_empty() -> None:
    content = workbook(["a", "b", None], [], [1, None], [None, "x"])
    assert read_sheet(PATH, content, LIMIT) == [["a", "b"], [1], [None, "x"]]


def test_a_far_cell_takes_no_memory(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, 2], [3, 4]):
        book.active.append(row)
    book.active["XFD1048576"] = 1
    path = tmp_path / "far.xlsx"
    book.save(path)
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match=r"far\.xlsx.*more fields in its rows than in its header"):
        read_table_file(path)


def test_sheets_beyond_the_limit() -> None:
    content = workbook(*([1.5] * 10 for _ in range(100)))
    assert len(read_sheet(PATH, content, 8 * 1000)) == 100
    with pytest.raises(InputError, match=r"some\.file.*more than 100 x 10 cells.*--size-limit"):
        read_sheet(PATH, content, 8 * 1000 - 1)
    frame = pd.DataFrame(np.zeros((100, 10))).rename(columns=str)
    assert read_parquet(PATH, parquet(frame), 8 * 1000).shape == (100, 10)
    with pytest.raises(InputError, match=r"some\.file.*100 x 10 cells.*--size-limit"):
        read_parquet(PATH, parquet(frame), 8 * 1000 - 1)


def test_entity_bombs() -> None:
    lol = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 10))
    bomb = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "lol">{lol}]><worksheet>&l9;</worksheet>'
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook(["a"], [1]))) as old,
        zipfile.ZipFile(file, "w") as new,
    ):
        for name in old.namelist():
            new.writestr(name, bomb if "sheet1" in name else old.read(name))
    with pytest.raises(InputError, match=r"cannot read the table 'some\.file'"):
        read_sheet(PATH, file.getvalue(), LIMIT)


@pytest.mark.parametrize("kind", ["xlsx", "parquet"])
def test_flipped_bits(tmp_path: Path, kind: str) -> None:
    """Some flips do no harm; the others end in one line."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"])
    content = parquet(frame)
    if kind == "xlsx":
        content = workbook(["a", "b"], *frame.to_numpy().tolist())
    path = tmp_path / f"flipped.{kind}"
    told = []
    for _ in range(60):
        flipped = bytearray(content)
        flipped[rng.integers(len(content))] ^= 1 << rng.integers(8)
        path.write_bytes(flipped)
        try:
            read_table_file(path)
        except InputError as error:
            told.append(str(error))
    assert len(told) > 5
    assert all(message.startswith(f"cannot read the table '{path}': ") for message in told)
    assert not any("\n" in message for message in told)


@pytest.mark.parametrize(("kind", "package"), [("parquet", "pyarrow"), ("xlsx", "openpyxl")])
def test_a_package_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, kind: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    read = read_sheet if kind == "xlsx" else read_parquet
    needs = rf"needs {package} to be read: pip install .*\[discover\]"
    with pytest.raises(InputError, match=needs):
        read(PATH, b"whatever", LIMIT)
