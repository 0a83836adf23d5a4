"""Reads tables from text, and finds the separator and the header."""

import csv
import io
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

from acid_causal.errors import InputError, require
from acid_causal.tables.number_marks import MISSING_TEXTS

TAB, BLANKS = "\t", " "
# In order of preference. Blanks are last, as names may contain them.
_SEPARATORS = (",", ";", TAB, "|", BLANKS)
_NUMBER = re.compile(r"[+-]?[\d.,' ]*\d[.]?([eE][+-]?\d+)?")
_SAMPLE_ROWS, _SAMPLE_CHARACTERS = 200, 200_000


def find_separator(text: str, usual: str) -> str:
    """Finds the separator: the one of the usual marks with which the text looks most like a table.

    `csv.Sniffer` looks at the marks only, and takes decimal commas for separators.

    Args:
        text: the table.
        usual: the mark to prefer in case of a tie.

    Returns:
        One character; a blank means any number of blanks and tabs.
    """
    sample = text[:_SAMPLE_CHARACTERS]
    if len(sample) < len(text):
        sample = sample[: sample.rfind("\n") + 1]
    scores = {mark: _score(sample, mark) for mark in (usual, *_SEPARATORS)}
    return max(scores, key=lambda mark: scores[mark])  # the first one in case of a tie


def _score(sample: str, separator: str) -> float:
    """Scores how much a text looks like a table; 1 for rows of numbers below a header."""
    try:
        rows = list(islice(records(sample, separator), _SAMPLE_ROWS))
    except csv.Error:
        return 0.0
    width = len(_trimmed(rows[0])) if rows else 0
    if width < 2:
        return 0.0
    if len(rows) == 1:
        return 0.1 * (1 - 1 / width)
    scores = [
        0.5 + 0.5 * sum(map(_is_number, row)) / width
        for row in rows[1:]
        if len(row) == width or (len(row) == width + 1 and not row[-1])
    ]
    return sum(scores) / (len(rows) - 1)


def _trimmed(row: list[str]) -> list[str]:
    return row[:-1] if row and not row[-1] else row


def _is_number(field: str) -> bool:
    return _NUMBER.fullmatch(field) is not None or field in MISSING_TEXTS


def records(text: str, separator: str) -> Iterator[list[str]]:
    """Splits a text into records and stripped fields; empty lines are left out."""
    if separator == BLANKS:
        for line in io.StringIO(text):
            if fields := next(csv.reader([" ".join(line.split())], delimiter=" "), []):
                yield fields
        return
    for row in csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True):
        if row:
            yield [field.strip() for field in row]


def first_record(text: str, separator: str) -> list[str]:
    """Returns the fields of the first record."""
    try:
        return next(records(text, separator), [])
    except csv.Error as error:
        raise InputError(str(error)) from error


def looks_like_data(names: Sequence[Any]) -> bool:
    """Says whether a first row is data: at least half of it is numbers that are not names.

    A row of ascending integers, such as years or column numbers, counts as names.
    """
    numbers = [number for number in map(_as_number, names) if number is not None]
    counting = all(float(a).is_integer() and a < b for a, b in pairwise(numbers))
    return 2 * len(numbers) >= max(len(names), 1) and not (
        len(numbers) == len(names) > 1 and counting and numbers[-1].is_integer()
    )


def _as_number(name: Any) -> float | None:
    try:
        return float(name)
    except (TypeError, ValueError):
        return None


def parse(
    text: str,
    separator: str,
    names: Sequence[str],
    *,
    header: bool,
    missing: Collection[str],
    raw: Sequence[str] | None = None,
) -> Any:
    """Parses a text with pandas.

    Args:
        text: the table.
        separator: see `find_separator`.
        names: names of the columns, in place of those in the text.
        header: whether the first row holds names.
        missing: all texts that stand for a missing value.
        raw: read these columns only, and as text; None: read all and infer their types.

    Returns:
        A pandas DataFrame.

    Raises:
        InputError: the text is not a table.
    """
    import pandas as pd  # slow to import, and not needed without a file

    try:
        with warnings.catch_warnings():
            # If rows are longer than the header, pandas would take the first fields as row labels
            # or drop the last ones. Either would be a guess.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                io.StringIO(text),
                sep=r"\s+" if separator == BLANKS else separator,
                header=0 if header else None,
                names=list(names),
                index_col=False,
                skipinitialspace=True,
                low_memory=False,
                keep_default_na=False,
                na_values=list(missing),
                usecols=raw,
                dtype=None if raw is None else str,
            )
    except pd.errors.ParserWarning as error:
        raise InputError(
            "it has more fields in its rows than in its header; name every column"
        ) from error


def check_separator(separator: str) -> str:
    r"""Reads a separator as typed in a shell, where `\t` means a tab.

    Raises:
        OptionError: it is not a single character.
    """
    mark = TAB if separator == "\\t" else separator
    require(len(mark) == 1, "separator", separator, "a single character")
    return mark
