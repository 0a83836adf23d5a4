"""Reading a table from a file, for the command line."""

import shlex
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from acid_causal.errors import InputError, require

_PARQUET = (".parquet", ".pq")
_EXCEL = (".xlsx", ".xlsm")
_OTHER_SHEETS = (".xls", ".xlsb", ".ods")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
# Every other ending is read as text, separated by commas.
_TABS = (".tsv", ".tab")


def read_table_file(path: Path, *, separator: str | None = None, decimal: str = ".") -> Any:
    """Reads a table with a header: CSV, TSV, Parquet, or the first sheet of an Excel file.

    Args:
        path: the file; its ending says what it is. Text is UTF-8, separated by commas unless the
            ending is .tsv or .tab.
        separator: what separates the fields of a text file instead.
        decimal: what separates the decimals of a number in a text file.

    Returns:
        A pandas DataFrame with the file's columns, whatever their types; their names are strings.

    Raises:
        InputError: the file cannot be read, or is no table.
        OptionError: separator or decimal is not one character.
    """
    ending = path.suffix.lower()
    if ending in _OTHER_SHEETS:
        raise InputError(f"cannot read the table {str(path)!r}: save it as .xlsx or as .csv first")
    if ending in _PARQUET:
        frame = _read_binary(path, "read_parquet", "pyarrow")
    elif ending in _EXCEL:
        frame = _read_binary(path, "read_excel", "openpyxl")
    else:
        mark = separator or ("\t" if ending in _TABS else ",")
        mark = "\t" if mark == "\\t" else mark  # which is how one types a tab in a shell
        require(len(mark) == 1, "separator", mark, "a single character")
        require(len(decimal) == 1 and decimal != mark, "decimal", decimal, "another character")
        frame = _read_text(path, mark, decimal)
    frame.columns = [str(name) for name in frame.columns]
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise InputError(f"{str(path)!r} has two columns named {twice[0]!r}; rename one of them")
    return frame


def table_name(path: Path) -> str:
    """Returns the name of a table's file without its ending, and without that of a compressor."""
    return Path(path.stem).stem if path.suffix.lower() in _COMPRESSED else path.stem


def _read_text(path: Path, separator: str, decimal: str) -> Any:
    import pandas as pd  # slow to import, and not needed without a file

    advice = ""
    try:
        # The codec skips the mark that spreadsheets put at the beginning.
        with path.open(encoding="utf-8-sig", newline="") as file, warnings.catch_warnings():
            header = file.readline()
            advice = _advice(header, separator)
            if separator not in header and advice:
                raise InputError(f"{str(path)!r} has a single column{advice}")
            file.seek(0)
            # Of rows longer than the header pandas would take the first fields for labels, or,
            # without an index column, drop the last ones: either is a guess.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                file, sep=separator, decimal=decimal, index_col=False, skipinitialspace=True,
                low_memory=False,
            )  # fmt: skip
    except InputError:
        raise
    except pd.errors.ParserWarning as error:
        raise InputError(
            f"{str(path)!r} has more fields in its rows than in its header; name every column"
            f"{advice}"
        ) from error
    except (OSError, ValueError) as error:  # ValueError: of pandas' parser, or no UTF-8
        raise _unreadable(path, error) from error


def _advice(header: str, separator: str) -> str:
    """Advises of another mark that may separate the names of a header; "" if there is none."""
    marks = [mark for mark in ";\t|," if mark != separator and mark in header]
    mark = max(marks, key=header.count, default="")
    return f"; if {mark!r} separates them, say --separator {shlex.quote(mark)}" if mark else ""


def _read_binary(path: Path, reader: str, package: str) -> Any:
    import pandas as pd

    read: Callable[..., Any] = getattr(pd, reader)
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            # openpyxl tells of formats and checks of cells that it does not know.
            warnings.simplefilter("ignore", UserWarning)
            return read(file, engine=package)
    except ImportError as error:
        raise InputError(
            f"{str(path)!r} needs {package} to be read: pip install 'acid-causal[discover]'"
        ) from error
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> InputError:
    told = isinstance(error, OSError) and error.strerror
    reason = error.strerror if told else str(error).strip()  # type: ignore[attr-defined]
    return InputError(f"cannot read the table {str(path)!r}: {reason}")
