"""Tables from binary files: the first sheet of an Excel workbook, and Parquet."""

import io
import warnings
from pathlib import Path
from typing import Any

from acid_causal.errors import InputError, warn
from acid_causal.tables.source import require_package, too_large, unreadable

_BYTES_PER_NUMBER = 8


def read_sheet(path: Path, content: bytes, limit: int) -> list[list[Any]]:
    """Reads the rows of the first sheet, without empty rows and empty cells at the end of rows.

    Args:
        path: for messages.
        content: the workbook.
        limit: the largest number of bytes of all cells as numbers.

    Raises:
        InputError: the workbook cannot be read or is too large.
    """
    openpyxl = require_package(path, "openpyxl")
    rows: list[list[Any]] = []
    width = 0
    try:
        with warnings.catch_warnings():
            # openpyxl warns of cell formats and validations that it does not support.
            warnings.simplefilter("ignore", UserWarning)
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            sheet, *others = book.worksheets
            sheet.reset_dimensions()  # the size that is stored in a file may be wrong
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
        limit: the largest number of bytes of all cells as numbers.

    Raises:
        InputError: the file cannot be read or is too large.
    """
    require_package(path, "pyarrow")
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
