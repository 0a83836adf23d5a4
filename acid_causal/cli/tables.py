"""Reads the options that describe a table, and chooses its columns."""

import functools
import inspect
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from acid_causal import defaults
from acid_causal.cli.options import (
    Decimal,
    Encoding,
    Header,
    MissingTexts,
    Separator,
    SizeLimit,
    Thousands,
)
from acid_causal.errors import InputError, InputTypeError, listed, unknown
from acid_causal.tables.number_marks import Marks, read_numbers
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
    size_limit: SizeLimit = defaults.SIZE_LIMIT,
) -> Format:
    """Makes a `Format` of the options that describe a table's file.

    Raises:
        OptionError: a value is not a mark.
    """
    marks = check_marks(decimal, thousands)
    return Format(separator, marks, encoding, header, na or (), size_limit * 1_000_000)


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


def choose_columns(
    frame: Any, keep: Sequence[str], drop: Sequence[str], marks: Marks | None = None
) -> Any:
    """Returns the chosen columns of a frame, and checks that they are numbers.

    Args:
        frame: a pandas DataFrame, as `read_table_file` gives it.
        keep: names to keep, as on the command line; empty: all.
        drop: names to leave out.
        marks: the marks in numbers that the user named.

    Raises:
        OptionError: a name is not a column.
        InputError: no column is left.
        InputTypeError: a chosen column is not numeric; the message says what to do.
    """
    columns = list(frame.columns)
    kept = known_names(keep, columns) or columns
    dropped = known_names(drop, columns)
    chosen = frame[[name for name in kept if name not in dropped]]
    if not len(chosen.columns):
        raise InputError("no column is left; see --columns and --drop")
    return require_numbers(chosen, marks or Marks())


def require_numbers(frame: Any, marks: Marks, *, droppable: bool = True) -> Any:
    """Returns a frame after checking that its columns are numbers.

    Args:
        frame: a pandas DataFrame.
        marks: the marks in numbers that the user named.
        droppable: whether the command has an option to leave columns out.

    Raises:
        InputTypeError: a column is not numeric; the message says what to do.
    """
    from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype

    odd = [
        name
        for name in frame.columns
        if not (is_numeric_dtype(frame[name]) or is_bool_dtype(frame[name]))
        or is_complex_dtype(frame[name])
    ]
    # Integers beyond 64 bits are objects.
    odd = [name for name in odd if not _whole_numbers(frame[name])]
    if not odd:
        return frame
    faults = {name: _fault(frame[name], marks) for name in odd}
    told = [f"{name!r} {fault}" for name, fault in faults.items() if fault]
    if told:
        raise InputTypeError(f"columns that cannot be read as numbers: {listed(told)}")
    shown = [f"{name!r} ({_example(frame[name])!r})" for name in odd]
    raise InputTypeError(
        f"columns that are not numbers (with a value of each): {listed(shown)}. "
        "Turn yes and no into 1 and 0 and ordered levels into 0, 1, 2"
        + (f", or leave them out: --drop {shlex.quote(','.join(odd))}" if droppable else "")
    )


def _whole_numbers(column: Any) -> bool:
    values = column.dropna() if column.dtype.kind == "O" else ()
    return len(values) > 0 and all(type(value) is int for value in values)


def _fault(column: Any, marks: Marks) -> str:
    """Says why a column of mostly numbers cannot be read; "" if most of it is not numbers."""
    if column.dtype.kind != "O" and str(column.dtype) not in ("str", "string"):
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
    return f"holds {text[:40]!r} in {where}{more}, and numbers elsewhere; {advice}"


def _example(column: Any) -> str:
    values = column.dropna()
    return str(values.iloc[0])[:40] if len(values) else "nothing but gaps"
