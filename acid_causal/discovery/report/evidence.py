"""The evidence for each pair of variables, as the page shows it when the pair is chosen."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from acid_causal.discovery.discovery import Discovery
from acid_causal.discovery.evidence import Edge, Separation
from acid_causal.discovery.mixed_graph import meaning
from acid_causal.discovery.report.labels import arrow, isolated, pvalue_text
from acid_causal.tables.inputs import Columns

# Conditioning sets that are listed for a pair, those with the largest p-values.
_MOST_SETS = 12

# The sets that were asked about a pair with their p-values, the largest first.
Asked = Sequence[tuple[Columns, float]]


def evidence(found: Discovery, separations: Sequence[Separation]) -> dict[str, Any]:
    """Collects the evidence as JSON values.

    Args:
        found: the discovered graph.
        separations: the separated pairs that the page lists.

    Returns:
        The names of the variables, the levels of the stability path, and the pairs: first the
        edges, then the separated ones.
    """
    index = {name: k for k, name in enumerate(found.columns)}
    asked = asked_sets(found)
    path = found.path
    return {
        "names": [isolated(name) for name in found.columns],
        "alpha": found.alpha,
        "levels": [] if path is None else list(path.alphas),
        "open": [] if path is None else [count > 0 for count in path.open],
        "pairs": [
            *(_edge(edge, found, index, asked) for edge in found.edges),
            *(_separation(pair, found, index, asked) for pair in separations),
        ],
    }


def asked_sets(found: Discovery) -> dict[tuple[int, int], Asked]:
    """Returns the conditioning sets that were asked about each pair of columns."""
    asked: dict[tuple[int, int], list[tuple[Columns, float]]] = defaultdict(list)
    for (i, j, cond), pvalue in found.pvalues.items():
        asked[i, j].append((cond, pvalue))
    return {pair: sorted(sets, key=lambda one: -one[1]) for pair, sets in asked.items()}


def _edge(
    edge: Edge, found: Discovery, index: Mapping[str, int], asked: Mapping[tuple[int, int], Asked]
) -> dict[str, Any]:
    a, b = isolated(edge.a), isolated(edge.b)
    return {
        **_shared(edge, found, index, asked),
        "mark": arrow(edge.mark),
        "meaning": meaning(a, edge.mark, b, found.method),
        "adjusted": None if edge.adjusted is None else pvalue_text(edge.adjusted),
        "required": edge.required,
        "marks": [
            [f"{a} {arrow(mark)} {b}" if mark else "no edge", share]
            for mark, share in edge.marks.items()
        ],
    }


def _separation(
    pair: Separation,
    found: Discovery,
    index: Mapping[str, int],
    asked: Mapping[tuple[int, int], Asked],
) -> dict[str, Any]:
    return {**_shared(pair, found, index, asked), "forbidden": pair.forbidden and not pair.sets}


def _shared(
    pair: Edge | Separation,
    found: Discovery,
    index: Mapping[str, int],
    asked: Mapping[tuple[int, int], Asked],
) -> dict[str, Any]:
    """Returns what an edge and a separated pair have in common."""
    a, b = index[pair.a], index[pair.b]
    given = tuple(index[name] for name in pair.given)
    # Of equal p-values the decisive one comes first.
    sets = sorted(asked[min(a, b), max(a, b)], key=lambda one: (-one[1], one[0] != given))
    marks = () if found.path is None else found.path.marks(a, b)
    return {
        "nodes": [a, b],
        "p": pvalue_text(pair.pvalue),
        "given": list(given),
        "sets": [
            [list(cond), pvalue_text(p), int(p > found.alpha)] for cond, p in sets[:_MOST_SETS]
        ],
        "tests": len(sets),
        "confidence": pair.confidence,
        "path": [arrow(mark) if mark else "" for mark in marks],
    }
