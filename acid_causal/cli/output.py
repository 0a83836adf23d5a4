"""Output of the commands: JSON, warnings and messages."""

import json
import re
import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from acid_causal.discovery.report.labels import printable
from acid_causal.errors import AcidWarning

# The exit code of a command that Ctrl-C ended, as in shells.
INTERRUPTED = 130


class Stopped(Exception):  # noqa: N818  # no error
    """Ctrl-C ended a command; the message says how to go on."""


def print_json(content: Any) -> None:
    """Prints JSON; infinity and NaN are errors, as JSON has neither."""
    typer.echo(json.dumps(content, indent=2, allow_nan=False))


@contextmanager
def warnings_as_lines(*, at_once: bool = False) -> Iterator[None]:
    """Prints the package's warnings as lines, without the line of code that issued them.

    Args:
        at_once: print them immediately, for commands that take hours; otherwise at the end, each
            once, below all progress bars.
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
    """Rewrites a message for a terminal.

    Options of Python, as in `null="pooled"`, become those of the command line. Control characters
    are removed, since names of columns could otherwise control the terminal.
    """
    message = re.sub(r'\b(missing|null)="(\w+)"', r"--\1 \2", printable(message))
    return _TYPES.sub(_types_option, message)


# As in categorical=["A", "B"] and ordered={"A": ["low", "high"]}.
_TYPES = re.compile(r'\b(categorical|ordered)=(?:\{"(?P<name>.*?)": )?\[(?P<items>.*?)\]\}?')


def _types_option(found: re.Match[str]) -> str:
    items = found["items"].replace('"', "").replace(", ", ",")
    words = items if found["name"] is None else f"{found['name']}={items}"
    return f"--{found[1]} {shlex.quote(words)}"
