"""From a file and the names on the command line to the columns of a question."""

import re
import shlex
from collections.abc import Sequence
from typing import Any

from acid_causal.errors import InputError, InputTypeError, listed, unknown

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


def split_names(texts: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Splits names at commas; a column's name may hold commas itself.

    Args:
        texts: what options were given, each one or several names.
        columns: names of the table.

    Returns:
        The names, each once, whether they are columns or not.
    """
    names: list[str] = []
    for text in texts:
        parts = text.split(",")
        while parts:
            # The longest run of parts that is a column, or else one part.
            runs = (",".join(parts[:k]).strip() for k in range(len(parts), 0, -1))
            joined = next((run for run in runs if run in columns), parts[0].strip())
            parts = parts[joined.count(",") + 1 :]
            names.append(joined)
    return [name for name in dict.fromkeys(names) if name]


def known_names(texts: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Splits names as `split_names` does, and refuses what is no column.

    Raises:
        OptionError: with the closest names.
    """
    names = split_names(texts, columns)
    for name in names:
        if name not in columns:
            raise unknown("column", name, columns)
    return names


def choose_columns(frame: Any, keep: Sequence[str], drop: Sequence[str]) -> Any:
    """Returns the columns of a frame that were asked for, as numbers.

    Args:
        frame: a pandas DataFrame.
        keep: names to keep, in the form of the command line; none: all.
        drop: names to leave out.

    Raises:
        OptionError: a name is no column.
        InputError: no column is left.
        InputTypeError: a column that is left is not numeric, and what to do about it.
    """
    columns = list(frame.columns)
    kept = known_names(keep, columns) or columns
    dropped = known_names(drop, columns)
    chosen = frame[[name for name in kept if name not in dropped]]
    if not len(chosen.columns):
        raise InputError("no column is left; see --columns and --drop")
    _require_numbers(chosen)
    return chosen


def _require_numbers(frame: Any) -> None:
    from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype

    odd = [
        name
        for name in frame.columns
        if not (is_numeric_dtype(frame[name]) or is_bool_dtype(frame[name]))
        or is_complex_dtype(frame[name])
    ]
    if not odd:
        return
    examples = [_example(frame[name]) for name in odd]
    shown = [f"{name!r} ({example!r})" for name, example in zip(odd, examples, strict=True)]
    advice = (
        "Turn yes and no into 1 and 0 and ordered levels into 0, 1, 2, or leave them out: "
        f"--drop {shlex.quote(','.join(odd))}"
    )
    if all(_DECIMAL_COMMA.fullmatch(example) for example in examples):
        advice = "They look like numbers with decimal commas: say so with --decimal ,"
    raise InputTypeError(
        f"columns that are not numbers (with a value of each): {listed(shown)}. {advice}"
    )


def _example(column: Any) -> str:
    values = column.dropna()
    return str(values.iloc[0])[:40] if len(values) else "nothing but gaps"
