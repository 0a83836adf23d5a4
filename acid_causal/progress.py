"""Progress on standard error: a bar in a terminal, a line a minute in a log file."""

import sys
import time
from typing import Any, TextIO

from tqdm import tqdm

_SECONDS = 60.0
_LINE = "{desc}: {n_fmt} of {total_fmt}, {elapsed} so far, about {remaining} left{postfix}"
_LINE_WITHOUT_TOTAL = "{desc}: {n_fmt}, {elapsed} so far{postfix}"


def progress_bar(
    items: Any = None,
    *,
    total: int | None,
    label: str,
    unit: str = "",
    done: int = 0,
    show: bool = True,
) -> "tqdm[Any]":
    """Makes a bar, or what writes lines where standard error is no terminal.

    Args:
        items: to loop over; None: `update` counts.
        total: how many there are; None: nobody knows.
        label: what is counted.
        unit: one of them.
        done: how many were done before.
        show: False: show nothing.
    """
    if not show or sys.stderr.isatty():
        return tqdm(items, total=total, desc=label, unit=unit, initial=done, disable=not show)
    return tqdm(
        items,
        total=total,
        desc=label,
        initial=done,
        disable=False,
        file=_Lines(sys.stderr),
        mininterval=_SECONDS,
        miniters=1,  # otherwise tqdm's monitor writes lines in between
        delay=_SECONDS,
        bar_format=_LINE if total else _LINE_WITHOUT_TOTAL,
    )


class Estimate:
    """Says how long something will take, once a first part of it is done, if that is long.

    Args:
        label: what it is.
        total: how many questions or steps it has.
        after: how many of them are the first part, at least.
        seconds: how long the first part takes, at least, as a first question may take far longer
            than others.
        show: False: say nothing.
    """

    def __init__(
        self, label: str, total: int, *, after: int = 1, seconds: float = 0.0, show: bool = True
    ) -> None:
        self._label, self._total, self._after, self._seconds = label, total, after, seconds
        self._done, self._said, self._show = 0, False, show
        self._began = time.monotonic()

    def advance(self, count: int = 1) -> float | None:
        """Adds to what is done; returns the seconds of one when the first part is done."""
        self._done += count
        elapsed = time.monotonic() - self._began
        if self._said or self._done < self._after or elapsed < self._seconds:
            return None
        self._said = True
        each = elapsed / self._done
        if self._show:
            say_how_long(f"{self._label}: {self._total:,}", self._total * each)
        return each


def say_how_long(what: str, seconds: float) -> None:
    """Writes how long something will take, if that is a minute or more."""
    if seconds >= _SECONDS:
        hours, minutes = seconds / 3600, seconds / 60
        about = f"{hours:,.1f} hours" if hours >= 1 else f"{minutes:.0f} minutes"
        about = "1 minute" if about == "1 minutes" else about
        tqdm.write(f"{what}, about {about}", file=sys.stderr)


class _Lines:
    """Writes what tqdm would write over the same line again as lines of their own."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        line = text.strip("\r\n ")
        return self._file.write(f"{line}\n") if line else 0

    def flush(self) -> None:
        self._file.flush()
