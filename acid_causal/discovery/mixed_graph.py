"""Mixed graphs: adjacencies, and the mark at each end of an edge.

PC returns a CPDAG, with tails and arrowheads; FCI returns a PAG, which has circles, too. Both are
matrices here, in causal-learn's encoding.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int
from numpy.typing import NDArray

# Entry [i, j] is the mark at i of the edge between i and j: i -> j is TAIL there, ARROW at [j, i].
Endpoints = Int[NDArray[np.int8], "d d"]
NONE, TAIL, ARROW, CIRCLE = 0, -1, 1, 2

_LEFT = {TAIL: "-", ARROW: "<", CIRCLE: "o"}
_RIGHT = {TAIL: "-", ARROW: ">", CIRCLE: "o"}
_MIRRORED = {"<": ">", ">": "<"}

NOT_ADJACENT = ""


class Link(NamedTuple):
    """An edge between columns a and b; its mark is read from a to b, as in `a --> b`."""

    a: int
    b: int
    mark: str


def links(endpoints: Endpoints) -> list[Link]:
    """Lists the edges of a graph, in the order of the columns.

    Args:
        endpoints: the marks, (d, d).

    Returns:
        Each edge once. An edge with one arrowhead points from a to b.
    """
    pairs = zip(*np.nonzero(np.triu(endpoints, 1)), strict=True)
    found = []
    for i, j in ((int(i), int(j)) for i, j in pairs):
        mark = mark_between(endpoints, i, j)
        if mark[0] == "<" and mark[2] != ">":
            i, j, mark = j, i, mirrored(mark)
        found.append(Link(i, j, mark))
    return found


def mark_between(endpoints: Endpoints, i: int, j: int) -> str:
    """Returns the mark of the edge between i and j, read from i to j; "" if there is none."""
    at_i, at_j = int(endpoints[i, j]), int(endpoints[j, i])
    return f"{_LEFT[at_i]}-{_RIGHT[at_j]}" if at_i != NONE else NOT_ADJACENT


def mirrored(mark: str) -> str:
    """Reads a mark from the other side: `-->` becomes `<--`."""
    return "".join(_MIRRORED.get(end, end) for end in reversed(mark))


def ends(mark: str) -> tuple[str, str]:
    """Names the two ends of a mark: "tail", "arrow" or "circle"."""
    names = {"-": "tail", "<": "arrow", ">": "arrow", "o": "circle"}
    return names[mark[0]], names[mark[2]]


def meaning(a: str, mark: str, b: str, method: str) -> str:
    """Describes in words what an edge means.

    Args:
        a: name of the first variable.
        mark: the mark, read from a to b.
        b: name of the second variable.
        method: "pc" or "fci": with hidden common causes a mark means less.

    References:
        Spirtes, Glymour, Scheines (2000), Causation, Prediction, and Search, chapters 5 and 6.
    """
    if method == "pc":
        said = {
            "-->": f"{a} is a direct cause of {b}",
            "---": f"{a} and {b} are directly linked; the data do not tell which causes which",
            "<->": f"{a} and {b} are linked, and the data contradict themselves on the direction",
        }
        return said[mark]
    said = {
        "-->": f"{a} is a cause of {b}, directly or through others",
        "<->": f"neither causes the other; {a} and {b} share a hidden cause",
        "o->": f"{b} does not cause {a}; either {a} causes {b}, or they share a hidden cause",
        "o-o": f"{a} and {b} are linked; either may cause the other, or a hidden cause both",
        "---": f"{a} and {b} are linked through how the rows were selected",
        "--o": f"{a} causes {b}, or both are linked through how the rows were selected",
        "o--": f"{b} causes {a}, or both are linked through how the rows were selected",
    }
    return said[mark]
