"""Names and numbers as text for people."""

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
# Unicode categories: control, surrogate, unassigned and private.
_UNPRINTABLE = ("Cc", "Cs", "Cn", "Co")
# Marks, embeddings, overrides and isolates of text that runs from right to left.
_DIRECTIONS = dict.fromkeys([0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_RIGHT_TO_LEFT = ("R", "AL", "AN")


def printable(name: str) -> str:
    """Returns a name in one line, without characters that XML or fonts do not support.

    Marks of direction are left out, too: they could show the text beside the name reversed.
    """
    kept = (" " if unicodedata.category(c) in _UNPRINTABLE else c for c in name)
    return " ".join("".join(kept).translate(_DIRECTIONS).split()) or "(no name)"


def isolated(name: str) -> str:
    """Returns the printable name; a right-to-left one is isolated from the text beside it.

    Between two Hebrew names an arrow would otherwise point from the wrong one.
    """
    form = printable(name)
    if any(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT for c in form):
        return f"\u2068{form}\u2069"
    return form


def printable_names(names: Sequence[str]) -> dict[str, str]:
    """Returns the printable form of each name, with numbers where forms are the same."""
    forms: dict[str, str] = {}
    for name in names:
        form, number = printable(name), 1
        while form in forms.values():
            number += 1
            form = f"{printable(name)} ({number})"
        forms[name] = form
    return forms


def arrow(mark: str) -> str:
    """Returns a mark as an arrow: `-->` becomes →."""
    return _ARROWS[mark]


def pvalue_text(pvalue: float) -> str:
    """Returns a p-value with three decimals, or with one digit if it is below .001."""
    if pvalue >= 0.001:
        return f"{pvalue:.3f}"
    return f"{pvalue:.0e}".replace("e-0", "e-") if pvalue > 0 else "< 1e-300"


def given_text(names: Sequence[str]) -> str:
    """Returns the names of a conditioning set as text."""
    return ", ".join(map(isolated, names)) if names else "nothing"
