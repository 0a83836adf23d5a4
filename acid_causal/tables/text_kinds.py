"""Recognises texts that are amounts or dates, which a test can only use as numbers."""

import re
import unicodedata
from collections.abc import Sequence

from acid_causal.tables.number_marks import Marks, read_numbers

# A year has four digits, or two at the end; versions such as 1.0.2 have none.
_DATE = re.compile(
    r"(\d{4}(?P<mark>[-/.])\d{1,2}(?P=mark)\d{1,2}"
    r"|\d{1,2}(?P<sign>[-/.])\d{1,2}(?P=sign)(\d{4}|\d{2}))"
    r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s?([AaPp][Mm]|Z|[+-]\d{2}:?\d{2})?)?"
)
_NUMBER = r"[0-9](?:[0-9.,'’\s]*[0-9])?"
_AMOUNT = re.compile(
    rf"(?P<sign>[+-]?)(?P<before>[^\w\s.,+-]?)\s?(?P<number>{_NUMBER})"
    # A capital letter after a digit is part of a name, such as that of room 3A.
    r"(?:\s?(?P<after>(?![A-Z])[^\d\s.,]*)|\s(?P<capital>[A-Z][^\d\s.,]*))"
)


def kind_of_texts(texts: Sequence[str]) -> str:
    """Says what all of some texts are: "dates", "numbers with '%'", or "" for anything else.

    A unit is the same in all texts: a currency's sign before the number, or letters or signs after
    it.
    """
    if not texts:
        return ""
    if all(map(_DATE.fullmatch, texts)):
        return "dates"
    amounts = [found for text in texts if (found := _AMOUNT.fullmatch(text))]
    units = {(found["before"], found["after"] or found["capital"] or "") for found in amounts}
    if len(amounts) < len(texts) or len(units) > 1:
        return ""
    ((before, after),) = units
    is_currency = not before or unicodedata.category(before) == "Sc"
    if not is_currency or not before + after:
        return ""
    numbers = read_numbers((found["sign"] + found["number"] for found in amounts), Marks())
    return "" if numbers.culprits else f"numbers with {before or after!r}"
