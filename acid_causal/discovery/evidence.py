"""The evidence for a graph: its edges and separations, each with the tests that decided."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from acid_causal.discovery.bootstrap import GraphFrequencies
from acid_causal.discovery.knowledge import Knowledge
from acid_causal.discovery.mixed_graph import links
from acid_causal.discovery.search.graph_search import GraphSearch
from acid_causal.discovery.stability import adjusted_pvalues

Names = tuple[str, ...]


@dataclass(frozen=True)
class Edge:
    """An edge of the graph.

    Attributes:
        a, b: the two variables.
        mark: read from a to b, as in `a --> b`; see `acid_causal.discovery.mixed_graph.meaning`.
        pvalue: the largest p-value over all conditioning sets tested for this pair. The edge is
            there because even this one is at most alpha, or because it is required; a required edge
            is tested once, with an empty conditioning set.
        given: the conditioning set with that p-value.
        tests: number of conditioning sets tested.
        required: whether background knowledge keeps the edge, whatever the data say.
        confidence: share of the sampled graphs in which the pair is adjacent; None without samples.
        marks: share of the sampled graphs with each mark from a to b; "" stands for no edge.
        statistic: the test's statistic given that set. It ranks edges whose p-values are equal, as
            the smallest ones of a permutation test are.
        adjusted: the p-value adjusted for the false discovery rate over all pairs; see
            `acid_causal.discovery.stability.adjusted_pvalues`. None if the edge is required.
    """

    a: str
    b: str
    mark: str
    pvalue: float
    given: Names
    tests: int
    required: bool = False
    confidence: float | None = None
    marks: Mapping[str, float] = field(default_factory=dict)
    statistic: float = math.nan
    adjusted: float | None = None

    def __str__(self) -> str:
        return f"{self.a} {self.mark} {self.b}"

    @property
    def mark_confidence(self) -> float | None:
        """Share of the sampled graphs with this very mark; None without samples."""
        return None if self.confidence is None else self.marks.get(self.mark, 0.0)


@dataclass(frozen=True)
class Separation:
    """A pair of variables without an edge.

    Attributes:
        a, b: the two variables.
        pvalue: the largest p-value over all conditioning sets tested.
        given: the conditioning set with that p-value.
        sets: all sets that separate the pair at the level alpha, with their p-values; empty if only
            background knowledge forbids the edge.
        tests: number of conditioning sets tested.
        forbidden: whether background knowledge forbids the edge, whatever the data say.
        confidence: share of the sampled graphs in which the pair is adjacent; None without samples.
    """

    a: str
    b: str
    pvalue: float
    given: Names
    sets: tuple[tuple[Names, float], ...]
    tests: int
    forbidden: bool = False
    confidence: float | None = None


@dataclass(frozen=True)
class Conflict:
    """A collider a --> middle <-- b that gave way, as another one wants one of its edges.

    Attributes:
        a, middle, b: the variables; a and b are not adjacent, and no set that separates them has
            the middle one.
    """

    a: str
    middle: str
    b: str

    def __str__(self) -> str:
        return f"{self.a} --> {self.middle} <-- {self.b}"


# The p-value, the conditioning set and the statistic of a test.
_Test = tuple[float, Names, float]


def collect_evidence(
    columns: Names,
    found: GraphSearch,
    frequencies: GraphFrequencies | None,
    knowledge: Knowledge,
    alpha: float,
) -> tuple[tuple[Edge, ...], tuple[Separation, ...]]:
    """Collects the edges and separations of all pairs, each with its tests and confidence.

    Args:
        columns: the variables.
        found: the graph, and the answer to each question of the search.
        frequencies: the sampled graphs, if there are any.
        knowledge: what the search was told.
        alpha: level of each test.

    Returns:
        The edges, sorted by confidence, then p-value, then statistic; and the separations, in the
        order of columns.
    """
    tests: dict[tuple[int, int], list[_Test]] = defaultdict(list)
    for question, pvalue in found.pvalues.items():
        i, j, cond = question
        given = tuple(columns[k] for k in cond)
        tests[i, j].append((pvalue, given, found.statistics[question]))
    # Of equal p-values the one with the smallest statistic; of equal statistics the first one,
    # which has the smallest set.
    worst = {
        pair: max(asked, key=lambda test: (test[0], -test[2])) for pair, asked in tests.items()
    }
    pairs = list(combinations(range(len(columns)), 2))
    known = [_is_known(knowledge, *(columns[k] for k in pair)) for pair in pairs]
    adjusted = adjusted_pvalues(
        np.array([worst[pair][0] for pair in pairs]), np.array([not told for told in known])
    )
    shares = None if frequencies is None else frequencies.adjacency()
    linked = {(min(a, b), max(a, b)): (a, b, mark) for a, b, mark in links(found.endpoints)}
    edges, separations = [], []
    for pair, of_pair in zip(pairs, adjusted.tolist(), strict=True):
        (pvalue, given, statistic), asked = worst[pair], tests[pair]
        confidence = None if shares is None else float(shares[pair])
        if pair in linked:
            i, j, mark = linked[pair]
            a, b = columns[i], columns[j]
            edge = Edge(
                a,
                b,
                mark,
                pvalue,
                given,
                len(asked),
                required=knowledge.requires(a, b),
                confidence=confidence,
                marks={} if frequencies is None else frequencies.marks(i, j),
                statistic=statistic,
                adjusted=None if math.isnan(of_pair) else of_pair,
            )
            edges.append(edge)
        else:
            a, b = (columns[k] for k in pair)
            sets = tuple((names, p) for p, names, _ in asked if p > alpha)
            forbidden = knowledge.keeps_apart(a, b)
            separation = Separation(
                a, b, pvalue, given, sets, len(asked), forbidden=forbidden, confidence=confidence
            )
            separations.append(separation)
    edges.sort(key=lambda edge: (-(edge.confidence or 0.0), edge.pvalue, -edge.statistic))
    return tuple(edges), tuple(separations)


def _is_known(knowledge: Knowledge, a: str, b: str) -> bool:
    return knowledge.requires(a, b) or knowledge.keeps_apart(a, b)
