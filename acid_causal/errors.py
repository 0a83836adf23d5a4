"""Every error and warning that the package raises on purpose.

Errors derive from `ValueError` or `TypeError`, so callers need not import them. A message says what
was received, what was expected and what to do.
"""

import difflib
from collections.abc import Iterable


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


class AcidWarning(UserWarning):
    """The answer is given, and something about it deserves attention."""


def unknown(kind: str, received: object, known: Iterable[str]) -> OptionError:
    """Builds the error for a misspelt name, with the closest known ones."""
    names = sorted(known)
    close = difflib.get_close_matches(str(received), names, n=3, cutoff=0.5)
    hint = (
        f"Did you mean {' or '.join(map(repr, close))}?" if close else f"Known: {', '.join(names)}."
    )
    return OptionError(f"unknown {kind} {received!r}. {hint}")
