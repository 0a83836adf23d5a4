"""What the fixture that runs a command gives back."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Done:
    """A finished command."""

    code: int
    out: str
    err: str


RunCommand = Callable[..., Done]
