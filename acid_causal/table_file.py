"""Reading a table from a text file, for the command line."""

import warnings
from pathlib import Path
from typing import Any

from acid_causal.errors import InputError

# Everything else is read as comma-separated.
_TABS = (".tsv", ".tab")


def read_table_file(path: Path) -> Any:
    """Reads a CSV or TSV file with a header line.

    Args:
        path: the file, in UTF-8; with the ending .tsv or .tab its separator is the tab.

    Returns:
        A pandas DataFrame with the file's columns, whatever their types.

    Raises:
        InputError: the file cannot be read, or is no table.
    """
    import pandas as pd  # slow to import, and not needed without a file

    separator = "\t" if path.suffix.lower() in _TABS else ","
    try:
        # The codec skips the mark that spreadsheets put at the beginning.
        with path.open(encoding="utf-8-sig", newline="") as file, warnings.catch_warnings():
            # Of rows longer than the header pandas would take the first fields for labels, or,
            # without an index column, drop the last ones: either is a guess.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                file, sep=separator, index_col=False, skipinitialspace=True, low_memory=False
            )
    except pd.errors.ParserWarning as error:
        raise InputError(
            f"{str(path)!r} has more fields in its rows than in its header; name every column"
        ) from error
    except (OSError, ValueError) as error:  # ValueError: of pandas' parser, or no UTF-8
        reason = error.strerror if isinstance(error, OSError) else str(error).strip()
        raise InputError(f"cannot read the table {str(path)!r}: {reason}") from error
