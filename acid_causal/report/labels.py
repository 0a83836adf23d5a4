"""Names and numbers as people read them."""

import unicodedata
from collections.abc import Sequence

_ARROWS = {
    "-->": "→",
    "<--": "←",
    "<->": "↔",
    "---": "—",
    "o->": "o→",
    "<-o": "←o",
    "o-o": "o–o",
    "--o": "—o",
    "o--": "o—",
}
MARKS = frozenset(_ARROWS)
# Control characters, halves of characters, and what no font can know.
_UNPRINTABLE = ("Cc", "Cs", "Cn", "Co")


def printable(name: str) -> str:
    """Returns a name in one line, without characters that XML or a font cannot hold."""
    kept = (" " if unicodedata.category(c) in _UNPRINTABLE else c for c in name)
    return " ".join("".join(kept).split()) or "(no name)"


def printable_names(names: Sequence[str]) -> dict[str, str]:
    """Returns the printable form of each name; forms that would be the same are numbered."""
    forms: dict[str, str] = {}
    for name in names:
        form, number = printable(name), 1
        while form in forms.values():
            number += 1
            form = f"{printable(name)} ({number})"
        forms[name] = form
    return forms


def arrow(mark: str) -> str:
    """Returns a mark as one would print it: `-->` becomes →."""
    return _ARROWS[mark]


def pvalue_text(pvalue: float) -> str:
    """Returns a p-value with as many digits as mean something."""
    if pvalue >= 0.001:
        return f"{pvalue:.3f}"
    return f"{pvalue:.0e}".replace("e-0", "e-") if pvalue > 0 else "< 1e-300"


def given_text(names: Sequence[str]) -> str:
    """Names a conditioning set."""
    return ", ".join(map(printable, names)) if names else "nothing"
