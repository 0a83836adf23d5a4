"""Warnings that are given once."""

from acid_causal.errors import warn


class Notices:
    """Warns of each kind of trouble once."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def warn(self, kind: str, message: str) -> None:
        """Warns, unless it was done for this kind before."""
        if kind not in self._given:
            self._given.add(kind)
            warn(message)
