"""Reads a table from a file, for the command line."""

import contextlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from acid_causal.errors import InputError, OptionError, listed, require, warn
from acid_causal.files import user_path
from acid_causal.tables import text_table
from acid_causal.tables.binary_tables import read_parquet, read_sheet
from acid_causal.tables.number_marks import MISSING_TEXTS, Marks, read_numbers
from acid_causal.tables.source import EXCEL, PARQUET, TEXT, decode, read_source, unreadable

_COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
_KINDS = {".parquet": PARQUET, ".pq": PARQUET, ".xlsx": EXCEL, ".xlsm": EXCEL}
_TABS = (".tsv", ".tab")


@dataclass(frozen=True)
class Format:
    """The format of a file, as far as the user has said; None: find out from the content.

    Attributes:
        separator: the separator of the fields of a text; a blank means any number of blanks.
        marks: the decimal mark of a text, and the mark that groups thousands.
        encoding: the encoding of a text.
        header: whether the first row holds names.
        missing: texts that stand for a missing value, besides `MISSING_TEXTS`.
        levels: texts of `MISSING_TEXTS` that are levels in this file, such as None.
        size_limit: the largest number of bytes: of the file, unpacked, and as numbers.
    """

    separator: str | None = None
    marks: Marks = field(default_factory=Marks)
    encoding: str | None = None
    header: bool | None = None
    missing: Sequence[str] = ()
    levels: Sequence[str] = ()
    size_limit: int = 1_000_000_000

    @property
    def absent(self) -> frozenset[str]:
        """All texts that stand for a missing value."""
        return (MISSING_TEXTS | {*self.missing}) - {*self.levels}

    def said(self) -> dict[str, Any]:
        """Returns what the user has said, as JSON values by the names of options."""
        options = {
            "separator": self.separator,
            "decimal": self.marks.decimal,
            "thousands": self.marks.thousands,
            "encoding": self.encoding,
            "header": self.header,
            "missing": list(self.missing) or None,
            "levels": list(self.levels) or None,
        }
        return {name: value for name, value in options.items() if value is not None}

    @classmethod
    def of(
        cls, *, decimal: str | None = None, thousands: str | None = None, **others: Any
    ) -> "Format":
        """Builds a format from what `said` returns."""
        return cls(marks=Marks(decimal, thousands), **others)


def table_name(path: Path) -> str:
    """Returns the name of a table's file without its ending, such as `.csv` or `.csv.gz`."""
    return Path(path.stem).stem if path.suffix.lower() in _COMPRESSED else path.stem


def read_table_file(path: Path, form: Format | None = None) -> Any:
    """Reads a table: text, such as CSV, Parquet, or the first sheet of an Excel workbook.

    The kind, the packing, the encoding, the separator and the marks in numbers are found from the
    content. A warning says so where a choice is unusual.

    Args:
        path: the file; it is read whole.
        form: what the user says of it.

    Returns:
        A pandas DataFrame of the columns with their types; names are stripped strings.

    Raises:
        InputError: the file cannot be read, or is not a table.
        OptionError: the separator, a mark or the encoding is not valid.
    """
    form = form or Format()
    separator = None if form.separator is None else text_table.check_separator(form.separator)
    path = user_path(path)
    source = read_source(path, form.size_limit)
    ending = path.suffix.lower()
    if source.kind == TEXT and ending in _KINDS:
        raise unreadable(path, f"it ends in {ending}, and is none; it may be damaged")
    try:
        if source.kind == PARQUET:
            frame = read_parquet(path, source.content, form.size_limit)
            frame = _without(frame, form.missing)
            frame.columns = _checked([str(name).strip() for name in frame.columns])
        elif source.kind == EXCEL:
            frame = _from_rows(path, read_sheet(path, source.content, form.size_limit), form)
        else:
            text, encoding = decode(path, source.content, form.encoding)
            if encoding is not None:
                warn(f"{str(path)!r} is not UTF-8 and is read as {encoding}; else say --encoding")
            frame = _from_text(path, text, separator, form)
    except OptionError:
        raise
    except (InputError, ValueError, OverflowError) as error:  # of pandas' parser
        told = str(error)
        raise error if repr(str(path)) in told else unreadable(path, error) from error
    if not len(frame):
        names = ", ".join(frame.columns[:10])
        raise unreadable(path, f"it holds names of columns ({names}) and no rows")
    return frame


def _from_text(path: Path, text: str, separator: str | None, form: Format) -> Any:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise unreadable(path, "it is empty")
    usual = text_table.TAB if path.name.lower().endswith(_TABS) else ","
    mark = separator or text_table.find_separator(text, usual)
    if separator is None and mark != usual:
        shown = {text_table.TAB: "tabs", text_table.BLANKS: "blanks"}.get(mark, repr(mark))
        warn(
            f"{shown} are taken for what separates the fields of {str(path)!r}; else say "
            "--separator"
        )
    first = text_table.first_record(text, mark)
    names, header = _names(path, first, form)

    def parse(raw: Sequence[str] | None = None) -> Any:
        return text_table.parse(text, mark, names, header=header, missing=form.absent, raw=raw)

    frame = parse()
    kept = _without_unnamed(path, frame, first if header else names)
    return _with_numbers(path, kept, form, parse)


def _from_rows(path: Path, rows: list[list[Any]], form: Format) -> Any:
    import pandas as pd

    if not rows:
        raise unreadable(path, "it is empty")
    first = ["" if cell is None else cell for cell in rows[0]]
    names, header = _names(path, first, form)
    data = rows[1:] if header else rows
    width = max(map(len, data), default=0)
    if width > len(names):
        raise InputError("it has more fields in its rows than in its header; name every column")
    frame = pd.DataFrame(
        [row + [None] * (len(names) - len(row)) for row in data], columns=names, dtype=object
    )
    frame = _without(frame, form.absent).infer_objects()
    return _with_numbers(
        path, _without_unnamed(path, frame, first if header else names), form, None
    )


def _without(frame: Any, texts: Collection[str]) -> Any:
    """Removes values that stand for missing ones: texts, and the numbers that they name."""
    if not texts:
        return frame
    absent: list[Any] = list(texts)
    for text in texts:
        with contextlib.suppress(ValueError):
            absent.append(float(text))
    return frame.mask(frame.isin(absent), None)


# ---- names -------------------------------------------------------------------------------------


def _names(path: Path, first: Sequence[Any], form: Format) -> tuple[list[str], bool]:
    """Takes the names from the first row, or numbers the columns if it is data."""
    if form.header is False:
        return [f"X{k + 1}" for k in range(len(first))], False
    if form.header is None and text_table.looks_like_data(first):
        shown = listed(list(map(str, first)), 5)
        raise InputError(
            f"the first row, {shown}, looks like data and not like names; pass --no-header, or "
            "--header if they are names"
        )
    return _checked([str(name).strip() or f"column {k + 1}" for k, name in enumerate(first)]), True


def _checked(names: list[str]) -> list[str]:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"two columns are named {twice[0]!r}; rename one of them")
    return names


def _without_unnamed(path: Path, frame: Any, first: Sequence[Any]) -> Any:
    """Drops columns without a name that are empty or row numbers, and warns of others."""
    for name, given in zip(list(frame.columns), first, strict=True):
        if str(given).strip():
            continue
        column = frame[name]
        if column.isna().all():
            frame = frame.drop(columns=name)
        elif _counts(column):
            warn(f"the column without a name in {str(path)!r} counts the rows and is left out")
            frame = frame.drop(columns=name)
        else:
            warn(f"a column without a name in {str(path)!r} is called {name!r}")
    return frame


def _counts(column: Any) -> bool:
    if column.dtype.kind not in "iu":
        return False
    start = column.iloc[0]
    return start in (0, 1) and bool(
        (column.to_numpy() == np.arange(start, start + len(column))).all()
    )


# ---- numbers -----------------------------------------------------------------------------------


def _with_numbers(path: Path, frame: Any, form: Format, raw: Any) -> Any:
    """Converts the columns of texts in which all texts are numbers.

    Args:
        path: for messages.
        frame: the table.
        form: what the user says.
        raw: reads columns of the file as text; None for files whose numbers are not text.
    """
    by_comma: list[str] = []
    grouped: list[str] = []
    for name in frame.columns:
        texts = as_texts(frame[name], form.absent)
        if texts is None:
            continue
        found = read_numbers(texts.dropna(), form.marks)
        frame[name] = texts
        if found.values:
            frame[name] = _mapped(texts, found.values)
            if found.reading is not None and found.reading.decimal == ",":
                by_comma.append(name)
            elif found.reading is not None and texts.str.contains(",", regex=False).any():
                grouped.append(name)
    for names, what, other in (
        (by_comma, "decimal marks", "--thousands ,"),
        (grouped, "marks of thousands", "--decimal ,"),
    ):
        if names and form.marks == Marks():
            warn(f"{str(path)!r}: commas are taken for {what} in {listed(names)}; else say {other}")
    if raw is not None and (by_comma or form.marks.decimal == "," or form.marks.thousands == "."):
        _reread(frame, raw, form.marks)
    return frame


def _reread(frame: Any, raw: Any, marks: Marks) -> None:
    """Reads columns again that pandas read with decimal points, in a file with decimal commas.

    Columns whose numbers are ambiguous stay text; `read_columns` then refuses them.
    """
    floats = [name for name in frame.columns if frame[name].dtype.kind == "f"]
    if not floats:
        return
    for name, texts in raw(floats).items():
        different = [text for text in texts.dropna().str.strip().unique() if "." in text]
        if different:
            found = read_numbers(texts.dropna().str.strip(), marks)
            frame[name] = _mapped(texts.str.strip(), found.values) if found.values else texts


def _mapped(texts: Any, values: dict[str, int | float]) -> Any:
    import pandas as pd

    numbers = [values.get(text) for text in texts]
    exact = all(isinstance(number, int) for number in numbers)
    wide = exact and any(abs(number) >= 2**63 for number in values.values())
    kind = object if wide else ("int64" if exact else "float64")
    return pd.Series(numbers, index=texts.index, dtype=kind)


def as_texts(column: Any, absent: Collection[str]) -> Any:
    """Returns a column of stripped texts, without those that stand for a missing value.

    None if some of its values are not texts.
    """
    if column.dtype.kind != "O" and str(column.dtype) not in ("str", "string"):
        return None
    if hasattr(column, "cat") or not all(isinstance(value, str) for value in column.dropna()):
        return None
    stripped = column.astype(object).where(column.notna(), None).map(str.strip, na_action="ignore")
    return stripped.where(~stripped.isin(absent), None)


def check_marks(decimal: str | None, thousands: str | None) -> Marks:
    """Reads the options for the marks in numbers.

    Raises:
        OptionError: a value is not a mark.
    """
    known = decimal in (None, ".", ",")
    require(known, "decimal", decimal, "'.' or ','")
    fine = thousands is None or (len(thousands) == 1 and not thousands.isalnum())
    require(fine, "thousands", thousands, "a single mark, such as ',' or a blank")
    require(thousands is None or thousands != decimal, "thousands", thousands, "another mark")
    return Marks(decimal, thousands)
