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


def print_json(content: Any) -> None:
    """Prints JSON, which knows neither infinity nor NaN."""
    typer.echo(json.dumps(content, indent=2, allow_nan=False))


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Prints warnings of ours at the end, without a line of code that means nothing here."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AcidWarning)
        yield
    for warning in caught:
        typer.echo(f"warning: {for_a_shell(str(warning.message))}", err=True)


def for_a_shell(message: str) -> str:
    """Writes a message for a terminal.

    Options that it names, as in `null="pooled"`, become those of a shell; names of columns lose
    the control characters by which a table could take over the terminal.
    """
    return re.sub(r'\b(missing|null)="(\w+)"', r"--\1 \2", printable(message))
