"""Reads the options that describe a table, and chooses its columns."""

import functools
import inspect
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from acid_causal.cli.options import (
    Decimal,
    Encoding,
    Header,
    Levels,
    MissingTexts,
    Separator,
    SizeLimit,
    Thousands,
)
from acid_causal.errors import InputError, InputTypeError, listed, unknown
from acid_causal.options import defaults
from acid_causal.tables.column_types import LevelsError
from acid_causal.tables.columns import as_float, read_column
from acid_causal.tables.inputs import Table, read_table
from acid_causal.tables.number_marks import MISSING_TEXTS, Marks, read_numbers
from acid_causal.tables.table_file import Format, check_marks


def split_names(texts: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Splits names at commas; the name of a column may contain commas.

    Args:
        texts: values of an option, each with one or several names.
        columns: names of the table's columns.

    Returns:
        The different names; they may be unknown.
    """
    names: list[str] = []
    for text in texts:
        parts = text.split(",")
        while parts:
            # Take the longest run of parts that is a column, or else one part.
            runs = (",".join(parts[:k]).strip() for k in range(len(parts), 0, -1))
            joined = next((run for run in runs if run in columns), parts[0].strip())
            parts = parts[joined.count(",") + 1 :]
            names.append(joined)
    return [name for name in dict.fromkeys(names) if name]


def known_names(texts: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Splits names as `split_names` does, and refuses unknown ones.

    Raises:
        OptionError: a name is not a column; the message has similar names.
    """
    names = split_names(texts, columns)
    for name in names:
        if name not in columns:
            raise unknown("column", name, columns)
    return names


def read_format(
    *,
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    encoding: Encoding = None,
    header: Header = None,
    na: MissingTexts = None,
    not_na: Levels = None,
    size_limit: SizeLimit = defaults.SIZE_LIMIT,
) -> Format:
    """Makes a `Format` of the options that describe a table's file.

    Raises:
        OptionError: a value is not a mark; a level does not read like a missing value.
    """
    marks = check_marks(decimal, thousands)
    for text in not_na or ():
        if text not in MISSING_TEXTS - {""}:
            raise unknown("text for missing values", text, MISSING_TEXTS - {""})
    limit = size_limit * 1_000_000
    return Format(separator, marks, encoding, header, na or (), not_na or (), limit)


def with_format_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replaces a command's parameter `form` by the options of `read_format`.

    Typer makes an option of each parameter in a command's signature. The commands that read a table
    share these options.
    """
    options = inspect.signature(read_format).parameters

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        form = read_format(**{name: values.pop(name) for name in options})
        command(**values, form=form)

    signature = inspect.signature(command)
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        parameters += options.values() if parameter.name == "form" else [parameter]
    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return with_options


def choose_columns(columns: Sequence[str], keep: Sequence[str], drop: Sequence[str]) -> list[str]:
    """Chooses columns of a table.

    Args:
        columns: names of the table's columns.
        keep: names to keep, as on the command line; empty: all.
        drop: names to leave out.

    Raises:
        OptionError: a name is not a column.
        InputError: no column is left.
    """
    kept = known_names(keep, columns) or columns
    dropped = known_names(drop, columns)
    chosen = [name for name in kept if name not in dropped]
    if not chosen:
        raise InputError("no column is left; see --columns and --drop")
    return chosen


def read_columns(
    frame: Any,
    chosen: Sequence[str],
    *,
    marks: Marks,
    missing: str,
    categorical: Sequence[str] | None = None,
    ordered: Sequence[str] | None = None,
    droppable: bool = True,
) -> Table:
    """Reads columns of a file as numbers, categories and ordered levels.

    Args:
        frame: a pandas DataFrame, as `read_table_file` gives it.
        chosen: names of the columns to read.
        marks: the marks in numbers that the user named.
        missing: "raise" or "drop".
        categorical: names of columns whose values are categories, as on the command line. As in
            `ordered`, they need not be among the chosen ones.
        ordered: columns with an order, as on the command line: `size=small,large`, or names of
            columns of numbers.
        droppable: whether the command has an option to leave columns out.

    Raises:
        OptionError: a name is not a column.
        InputTypeError: a column is neither numbers nor texts, or seems to be a column of numbers
            with mistakes in it; the message says what to do.
        InputError: see `acid_causal.tables.inputs.read_table`.
    """
    columns = list(frame.columns)
    categories = [name for name in known_names(categorical or (), columns) if name in chosen]
    orders = {
        name: levels
        for name, levels in _read_orders(ordered or (), columns).items()
        if name in chosen
    }
    others = [
        name
        for name in chosen
        if name not in categories and name not in orders and as_float(frame[name]) is None
    ]
    faults = {name: _fault(frame[name], marks) for name in others}
    told = [f"{name!r} {fault}" for name, fault in faults.items() if fault]
    if told:
        raise InputTypeError(f"columns that cannot be read as numbers: {listed(told)}")
    # A number among the texts of a spreadsheet is a name, too.
    categories += [name for name in others if _mixes_texts(frame[name])]
    odd = [name for name in others if name not in categories and read_column(frame[name]) is None]
    if odd:
        shown = [f"{name!r} ({_example(frame[name])!r})" for name in odd]
        raise InputTypeError(
            "columns that are neither numbers nor texts (with a value of each): "
            f"{listed(shown)}. Turn them into numbers" + _leave_out(odd, droppable)
        )
    table = frame[list(chosen)]
    try:
        return read_table(table, missing=missing, categorical=categories, ordered=orders)
    except LevelsError as error:
        raise InputError(f"{error}{_leave_out(error.columns, droppable)}") from error


def _leave_out(names: Sequence[str], droppable: bool) -> str:
    return f", or leave them out: --drop {shlex.quote(','.join(names))}" if droppable else ""


def _read_orders(texts: Sequence[str], columns: Sequence[str]) -> dict[str, list[str]]:
    """Reads the names of ordered columns, and their levels where these are listed."""
    orders: dict[str, list[str]] = {}
    for text in texts:
        if "=" not in text or text in columns:
            orders.update((name, []) for name in known_names([text], columns))
            continue
        # A name may have the sign itself.
        ends = [k for k, mark in enumerate(text) if mark == "=" and text[:k].strip() in columns]
        end = ends[-1] if ends else text.index("=")
        name = text[:end].strip()
        if name not in columns:
            raise unknown("column", name, columns)
        orders[name] = [level.strip() for level in text[end + 1 :].split(",")]
    return orders


def _mixes_texts(column: Any) -> bool:
    """Says whether a column holds texts and other values."""
    if column.dtype.kind != "O" or hasattr(column, "cat"):
        return False
    texts = [isinstance(value, str) for value in column.dropna()]
    return any(texts) and not all(texts)


def _fault(column: Any, marks: Marks) -> str:
    """Says why a column of mostly numbers cannot be read; "" if most of it is not numbers."""
    if column.dtype.kind != "O" or hasattr(column, "cat"):
        return ""
    texts = [None if value != value or value is None else str(value).strip() for value in column]
    found = read_numbers([text for text in texts if text is not None], marks)
    if found.trouble:
        return found.trouble
    rows = [k for k, text in enumerate(texts) if text in found.culprits]
    if not rows or 2 * len(rows) > len(texts):
        return ""
    text, others = str(texts[rows[0]]), len(rows) - 1
    where = "the last row" if rows[0] == len(texts) - 1 else f"row {rows[0] + 1}"
    more = f" and {others} more" if others else ""
    advice = (
        f"if it stands for a missing value, pass --na {shlex.quote(text)}"
        if len(found.culprits) == 1 and where != "the last row"
        else "mend or remove it"
    )
    return (
        f"holds {text[:40]!r} in {where}{more}, and numbers elsewhere; {advice}, or, if all are "
        f"names of categories, pass --categorical {shlex.quote(str(column.name))}"
    )


def _example(column: Any) -> str:
    values = column.dropna()
    return str(values.iloc[0])[:40] if len(values) else "nothing but gaps"
