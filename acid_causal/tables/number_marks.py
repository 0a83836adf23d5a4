"""Reads texts as numbers, and finds out which mark is decimal and which groups thousands.

"1,905" is 1905 to some people and 1.905 to others. All cells of a column are read in the same way.
If they do not show which way is right, the column is refused.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

# Texts that stand for a missing value.
MISSING_TEXTS = frozenset(
    {
        "",
        "NA",
        "N/A",
        "n/a",
        "#N/A",
        "#NA",
        "#N/A N/A",
        "<NA>",
        "NaN",
        "nan",
        "-NaN",
        "-nan",
        "NULL",
        "null",
        "None",
        "none",
    }
)

# Marks that may group thousands whatever the decimal mark is: apostrophes and blanks.
_NEUTRAL = "'\u2019 \u00a0\u2009\u202f"
_PLAIN = re.compile(r"[+-]?\d{1,3}")


@dataclass(frozen=True)
class Marks:
    """The marks in the numbers of a text, as far as the user has said; None: not said.

    Attributes:
        decimal: the decimal mark, "." or ",".
        thousands: the mark that groups thousands.
    """

    decimal: str | None = None
    thousands: str | None = None

    def readings(self) -> list["Reading"]:
        """Lists the ways of reading that agree with what the user said."""
        groups = {".": "," + _NEUTRAL, ",": "." + _NEUTRAL}
        if self.thousands is not None:
            groups = {mark: self.thousands for mark in groups if mark != self.thousands}
        return [
            Reading(mark, group)
            for mark, group in groups.items()
            if self.decimal is None or mark == self.decimal
        ]


@dataclass(frozen=True)
class Reading:
    """A way to read numbers: the decimal mark, and the marks that may group thousands."""

    decimal: str
    groups: str

    def __call__(self, text: str) -> int | float | None:
        """Reads one text; returns None if it is not a number. Integers stay exact."""
        match = _pattern(self).fullmatch(text)
        if match is None:
            return None
        whole, fraction, exponent = match["whole"], match["fraction"], match["exponent"]
        if not whole and fraction in (None, self.decimal):
            return None
        digits = "".join(filter(str.isdigit, whole))
        if fraction is None and exponent is None:
            return int(match["sign"] + digits)
        rest = (fraction or "").replace(self.decimal, ".")
        return float(match["sign"] + (digits or "0") + rest + (exponent or ""))


@lru_cache
def _pattern(reading: Reading) -> re.Pattern[str]:
    group, decimal = re.escape(reading.groups), re.escape(reading.decimal)
    grouped = rf"[1-9][0-9]{{0,2}}(?P<mark>[{group}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
    return re.compile(
        rf"(?P<sign>[+-]?)(?P<whole>{grouped}|[0-9]*)(?P<fraction>{decimal}[0-9]*)?"
        r"(?P<exponent>[eE][+-]?[0-9]+)?"
    )


@dataclass(frozen=True)
class Numbers:
    """The numbers in a column of texts.

    Attributes:
        values: by text; empty if the column cannot be read.
        reading: how they were read; None if all ways give the same numbers.
        trouble: why the column cannot be read, for a message after its name; "" if it can.
        culprits: texts that are not numbers in any way of reading.
    """

    values: dict[str, int | float]
    reading: Reading | None = None
    trouble: str = ""
    culprits: tuple[str, ...] = ()


def read_numbers(texts: Iterable[str], marks: Marks) -> Numbers:
    """Reads the texts of a column, in a way that fits all of them.

    Args:
        texts: the texts, without those that stand for a missing value.
        marks: the marks that the user named.
    """
    texts = list(dict.fromkeys(texts))
    read = {reading: [reading(text) for text in texts] for reading in marks.readings()}
    culprits = tuple(
        text for k, text in enumerate(texts) if all(each[k] is None for each in read.values())
    )
    if culprits:
        return Numbers({}, trouble="", culprits=culprits)
    fitting = [reading for reading, each in read.items() if None not in each]
    if not fitting:
        first, second = (
            next(text for text, number in zip(texts, each, strict=True) if number is None)
            for each in read.values()
        )
        return Numbers(
            {},
            trouble=f"mixes {second!r} and {first!r}, which read as numbers in "
            "different ways; write them in one",
        )
    values = {
        text: number
        for text, number in zip(texts, read[fitting[0]], strict=True)
        if number is not None
    }
    if len(fitting) == 2 and read[fitting[0]] == read[fitting[1]]:
        return Numbers(values)
    if len(fitting) == 2 and not _looks_grouped(texts):
        example = next(t for t, a, b in zip(texts, *read.values(), strict=True) if a != b)
        either = " or ".join(str(reading(example)) for reading in fitting)
        return Numbers(
            {}, trouble=f"holds {example!r}, which may be {either}; say --decimal or --thousands"
        )
    return Numbers(values, fitting[0])


def _looks_grouped(texts: Sequence[str]) -> bool:
    """Says whether commas group thousands: all numbers without a comma are integers below 1000."""
    without = [text for text in texts if "," not in text]
    return bool(without) and all(map(_PLAIN.fullmatch, without))
