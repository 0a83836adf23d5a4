"""What commands print, and where."""

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from acid_causal.errors import AcidWarning
from acid_causal.report.labels import printable

# What a shell says of a command that Ctrl-C ended.
INTERRUPTED = 130


class Stopped(Exception):  # noqa: N818  # no error
    """Ctrl-C ended a command; the message says how to go on."""


def print_json(content: Any) -> None:
    """Prints JSON, which knows neither infinity nor NaN."""
    typer.echo(json.dumps(content, indent=2, allow_nan=False))


@contextmanager
def warnings_as_lines(*, at_once: bool = False) -> Iterator[None]:
    """Prints warnings of ours without a line of code that means nothing here.

    Args:
        at_once: when they come, for what takes hours; otherwise at the end, below all progress.
    """
    caught: list[Warning | str] = []

    def take(message: Warning | str, *_: object) -> None:
        _print_warning(message) if at_once else caught.append(message)

    with warnings.catch_warnings():
        warnings.simplefilter("always", AcidWarning)
        warnings.showwarning = take  # type: ignore[assignment]
        try:
            yield
        finally:
            for message in dict.fromkeys(map(str, caught)):
                _print_warning(message)


def _print_warning(message: Warning | str) -> None:
    typer.echo(f"warning: {for_a_shell(str(message))}", err=True)


def for_a_shell(message: str) -> str:
    """Writes a message for a terminal.

    Options that it names, as in `null="pooled"`, become those of a shell; names of columns lose
    the control characters by which a table could take over the terminal.
    """
    return re.sub(r'\b(missing|null)="(\w+)"', r"--\1 \2", printable(message))
