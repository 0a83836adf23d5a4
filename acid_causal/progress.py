"""Progress on standard error: a bar in a terminal, a line a minute in a log file."""

import sys
from typing import Any, TextIO

from tqdm import tqdm

_SECONDS = 60.0
_LINE = "{desc}: {n_fmt} of {total_fmt}, {elapsed} so far, about {remaining} left"
_LINE_WITHOUT_TOTAL = "{desc}: {n_fmt}, {elapsed} so far"


def progress_bar(
    items: Any = None, *, total: int | None, label: str, unit: str = "", show: bool = True
) -> "tqdm[Any]":
    """Makes a bar, or what writes lines where standard error is no terminal.

    Args:
        items: to loop over; None: `update` counts.
        total: how many there are; None: nobody knows.
        label: what is counted.
        unit: one of them.
        show: False: show nothing.
    """
    if not show or sys.stderr.isatty():
        return tqdm(items, total=total, desc=label, unit=unit, disable=not show)
    return tqdm(
        items,
        total=total,
        desc=label,
        disable=False,
        file=_Lines(sys.stderr),
        mininterval=_SECONDS,
        maxinterval=_SECONDS,
        delay=_SECONDS,
        bar_format=_LINE if total else _LINE_WITHOUT_TOTAL,
    )


def say_how_long(label: str, total: int, seconds: float) -> None:
    """Says how long something will take, if that is long.

    Args:
        label: what.
        total: how many questions or steps it has.
        seconds: as they go now.
    """
    if seconds >= _SECONDS:
        hours, minutes = seconds / 3600, seconds / 60
        about = f"{hours:.1f} hours" if hours >= 1 else f"{minutes:.0f} minutes"
        tqdm.write(f"{label}: {total:,}, about {about}", file=sys.stderr)


class _Lines:
    """Writes what tqdm would write over the same line again as lines of their own."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        line = text.strip("\r\n ")
        return self._file.write(f"{line}\n") if line else 0

    def flush(self) -> None:
        self._file.flush()
