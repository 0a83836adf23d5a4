"""Tables from binary files: the first sheet of an Excel workbook, and Parquet."""

import io
import warnings
from pathlib import Path
from typing import Any

from acid_causal.errors import InputError, warn
from acid_causal.tables.source import too_large, unreadable

_BYTES_PER_NUMBER = 8


def read_sheet(path: Path, content: bytes, limit: int) -> list[list[Any]]:
    """Reads the rows of the first sheet that are not empty, without empty cells at their ends.

    Args:
        path: for messages.
        content: the workbook.
        limit: bytes that the numbers may take, with empty cells.

    Raises:
        InputError: the workbook cannot be read, or holds more.
    """
    openpyxl = _require(path, "openpyxl")
    rows: list[list[Any]] = []
    width = 0
    try:
        with warnings.catch_warnings():
            # openpyxl tells of formats and checks of cells that it does not know.
            warnings.simplefilter("ignore", UserWarning)
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            sheet, *others = book.worksheets
            sheet.reset_dimensions()  # what a file says of its size may be wrong
            for row in sheet.iter_rows():
                cells = [None if cell.data_type == "e" else cell.value for cell in row]
                while cells and cells[-1] is None:
                    cells.pop()
                if not cells:
                    continue
                rows.append(cells)
                width = max(width, len(cells))
                if len(rows) * width * _BYTES_PER_NUMBER > limit:
                    raise too_large(
                        path, f"it has more than {len(rows):,} x {width:,} cells", limit
                    )
    except InputError:
        raise
    except Exception as error:  # whatever a damaged file makes the library raise
        raise unreadable(path, error) from error
    if others:
        warn(f"{str(path)!r} has {len(others) + 1} sheets; the first, {sheet.title!r}, is read")
    return rows


def read_parquet(path: Path, content: bytes, limit: int) -> Any:
    """Reads a Parquet file.

    Args:
        path: for messages.
        content: the file.
        limit: bytes that the numbers may take.

    Raises:
        InputError: the file cannot be read, or holds more.
    """
    _require(path, "pyarrow")
    import pandas as pd
    import pyarrow.parquet

    try:
        size = pyarrow.parquet.read_metadata(io.BytesIO(content))
        if size.num_rows * size.num_columns * _BYTES_PER_NUMBER > limit:
            cells = f"it has {size.num_rows:,} x {size.num_columns:,} cells"
            raise too_large(path, cells, limit)
        return pd.read_parquet(
            io.BytesIO(content), engine="pyarrow", page_checksum_verification=True
        )
    except InputError:
        raise
    except Exception as error:  # whatever a damaged file makes the library raise
        raise unreadable(path, error) from error


def _require(path: Path, package: str) -> Any:
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InputError(
            f"{str(path)!r} needs {package} to be read: pip install 'acid-causal[discover]'"
        ) from error
