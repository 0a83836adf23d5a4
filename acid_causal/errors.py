"""Every error and warning that the package raises on purpose.

Errors derive from `ValueError`, `TypeError`, `OSError` or `ImportError`, so callers need not import
them. A message says what was received, what was expected and what to do.
"""

import difflib
import secrets
import sys
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

# Packages whose lines tell a user nothing: this one, and those whose searches ask it.
_NOT_THE_USERS = (__name__.partition(".")[0], "causallearn", "pgmpy", "tigramite", "andrey")
# Longest list in a message; a table may have thousands of columns.
_MAX_ITEMS = 10


class AcidError(Exception):
    """Base of all errors of the package."""


class InputError(AcidError, ValueError):
    """The user's data, or a question about them, cannot be used as it stands."""


class InputTypeError(AcidError, TypeError):
    """The user's data are of a type that cannot be read as real numbers."""


class OptionError(AcidError, ValueError):
    """An option has no such name or no such value."""


class ModelError(AcidError, ValueError):
    """A weights file is missing, damaged or of another format."""


class CacheError(AcidError, ValueError):
    """A p-value cache belongs to other data, weights or options."""


class WriteError(AcidError, OSError):
    """A file cannot be written: no room, no permission, or no such place."""


class PackageError(AcidError, ImportError):
    """A part of the package needs another package that is not installed."""


class AcidWarning(UserWarning):
    """A result was computed, but the message describes a reason for caution."""


def missing_extra(adapter: str, reason: ImportError) -> PackageError:
    """Builds the error of an adapter whose extra is not installed.

    Args:
        adapter: name of the adapter, and of its extra.
        reason: what Python says.
    """
    return PackageError(
        f"acid_causal.{adapter}: {reason}; pip install 'acid-causal[{adapter}]' installs it"
    )


def unknown(kind: str, received: object, known: Iterable[str]) -> OptionError:
    """Builds the error for a misspelt name.

    Args:
        kind: kind of the name, as in "unknown KIND 'x'".
        received: the unknown name.
        known: the valid names; may be empty.

    Returns:
        The error, with the closest or all valid names, to be raised by the caller.
    """
    names = sorted(map(str, known))
    close = difflib.get_close_matches(str(received), names, n=3, cutoff=0.5)
    if close:
        hint = f"Did you mean {' or '.join(map(repr, close))}?"
    elif names:
        hint = f"Known: {listed(names, 2 * _MAX_ITEMS)}."
    else:
        hint = "There is none to choose from."
    return OptionError(f"unknown {kind} {received!r}. {hint}")


def listed(items: Sequence[str], most: int = _MAX_ITEMS, between: str = ", ") -> str:
    """Formats a list: its first items, and the number of further ones."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return between.join(items[:most]) + more


def require(ok: bool, name: str, received: object, expected: str) -> None:
    """Raises an error unless the value of an option is valid.

    Args:
        ok: whether the value is valid.
        name: name of the option.
        received: the value.
        expected: description of valid values, which completes "NAME must be ...".

    Raises:
        OptionError: the value is not valid.
    """
    if not ok:
        raise OptionError(f"{name} must be {expected}, not {received!r}")


def whole_number(name: str, received: object, least: int, note: str = "") -> int:
    """Checks an option that is a whole number, Python's or numpy's.

    Args:
        name: name of the option.
        received: the value.
        least: the smallest valid one.
        note: completes the description of valid values.

    Returns:
        The value as Python's integer, which JSON can hold.

    Raises:
        OptionError: the value is not valid.
    """
    if is_whole(received):
        number = int(received)  # type: ignore[call-overload]
        if number >= least:
            return number
    raise OptionError(f"{name} must be a whole number, {least} or more{note}, not {received!r}")


def check_level(received: Any, name: str = "alpha", note: str = "") -> float:
    """Checks the level of a test, Python's number or numpy's.

    Args:
        received: the value.
        name: name of the option.
        note: completes the description of valid values.

    Returns:
        The value as Python's number, which JSON can hold.

    Raises:
        OptionError: the value is no number between 0 and 1.
    """
    require(_is_number(received) and 0 < received < 1, name, received, f"between 0 and 1{note}")
    return float(received)


def check_fraction(received: Any) -> float:
    """Checks which fraction of the rows is to be drawn; see `check_level`."""
    ok = _is_number(received) and 0 < received <= 1
    require(ok, "fraction", received, "above 0 and at most 1")
    return float(received)


def _is_number(received: object) -> bool:
    return isinstance(received, Real) and not isinstance(received, bool)


def is_whole(received: object) -> bool:
    """Returns whether a value is a whole number, Python's or numpy's."""
    # In Python True is an integer, too.
    return isinstance(received, Integral) and not isinstance(received, bool)


def warn(message: str, category: type[Warning] = AcidWarning) -> None:
    """Issues a warning that points to the user's line.

    Args:
        message: the message.
        category: kind of the warning.
    """
    # The depth of the stack varies. With a constant stacklevel warnings would point to lines of the
    # package, and Python would show a warning only once for all callers.
    level, frame = 2, sys._getframe(1)
    while _is_ours(frame.f_globals.get("__name__", "")) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


class Notices:
    """Issues each kind of warning once; pickled copies in one process share the record.

    Args:
        given: kinds that are not to be issued any more.
    """

    def __init__(self, given: Iterable[str] = ()) -> None:
        self._name = secrets.token_hex(8)
        self._given = set(given)

    def __reduce__(self) -> tuple[Any, ...]:
        return _sent_notices, (self._name, frozenset(self._given))

    @property
    def given(self) -> frozenset[str]:
        """The kinds that are not issued any more."""
        return frozenset(self._given)

    def warn(self, kind: str, message: str) -> None:
        """Issues the warning unless one of this kind was issued before."""
        if kind not in self._given:
            self._given.add(kind)
            warn(message)


class KeptNotices(Notices):
    """Keeps the first warning of each kind, for the process that asked.

    Attributes:
        kept: the warnings by their kind.
    """

    def __init__(self, given: Iterable[str] = ()) -> None:
        super().__init__(given)
        self.kept: dict[str, str] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptNotices, (frozenset(self._given),)

    def warn(self, kind: str, message: str) -> None:
        """Keeps the warning unless one of this kind was given before."""
        if kind not in self._given:
            self.kept.setdefault(kind, message)


def _sent_notices(name: str, given: frozenset[str]) -> Notices:
    notices = _notices_of(name)
    notices._given |= given
    return notices


@lru_cache(256)
def _notices_of(name: str) -> Notices:
    """Makes the notices of a name: a worker is sent a test again with each of its tasks."""
    notices = Notices()
    notices._name = name
    return notices


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in _NOT_THE_USERS
