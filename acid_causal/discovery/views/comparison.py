"""Differences between two graphs of the same variables."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from acid_causal.discovery.evidence import Edge
from acid_causal.errors import InputError

if TYPE_CHECKING:
    from acid_causal.discovery.discovery import Discovery


@dataclass(frozen=True)
class GraphDifference:
    """The pairs in which two graphs differ.

    Attributes:
        only_here: edges of the first graph between pairs that the second one separates.
        only_there: edges of the second graph between pairs that the first one separates.
        redirected: pairs of edges, of the first and of the second graph, with different marks.
        same: number of edges with the same marks in both.
    """

    only_here: tuple["Edge", ...]
    only_there: tuple["Edge", ...]
    redirected: tuple[tuple["Edge", "Edge"], ...]
    same: int

    @property
    def distance(self) -> int:
        """The structural Hamming distance: the number of pairs that differ."""
        return len(self.only_here) + len(self.only_there) + len(self.redirected)

    def __str__(self) -> str:
        lines = [f"{self.same} edges are the same, and {self.distance} pairs differ"]
        lines += [f"  only here:  {edge}" for edge in self.only_here]
        lines += [f"  only there: {edge}" for edge in self.only_there]
        lines += [f"  here {one}, there {other}" for one, other in self.redirected]
        return "\n".join(lines)

    __repr__ = __str__


def compare(one: "Discovery", other: "Discovery") -> GraphDifference:
    """Compares two graphs.

    Raises:
        InputError: the graphs have different variables.
    """
    if set(one.columns) != set(other.columns):
        differing = sorted(set(one.columns) ^ set(other.columns))
        raise InputError(f"the graphs have different variables, such as {differing[0]!r}")
    here, there = (
        {frozenset((edge.a, edge.b)): edge for edge in found.edges} for found in (one, other)
    )
    shared = [(here[pair], there[pair]) for pair in here if pair in there]
    redirected = tuple(pair for pair in shared if not _same(*pair))
    return GraphDifference(
        tuple(edge for pair, edge in here.items() if pair not in there),
        tuple(edge for pair, edge in there.items() if pair not in here),
        redirected,
        len(shared) - len(redirected),
    )


def _same(one: "Edge", other: "Edge") -> bool:
    return _marks(one) == _marks(other)


def _marks(edge: "Edge") -> dict[str, str]:
    at_a, at_b = edge.mark[0].replace("<", ">"), edge.mark[2]
    return {edge.a: at_a, edge.b: at_b}
