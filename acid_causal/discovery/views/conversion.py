"""A discovered graph as a networkx graph and as a DataFrame."""

from typing import TYPE_CHECKING, Any

import networkx as nx

from acid_causal.discovery.mixed_graph import ends

if TYPE_CHECKING:
    import pandas as pd

    from acid_causal.discovery.discovery import Discovery

# Separator of names in a conditioning set.
SEPARATOR = "; "


def to_networkx(found: "Discovery") -> "nx.DiGraph":
    """Returns the graph for networkx, with one arc a -> b for each edge.

    The arc alone does not mean that a causes b: see its attribute `mark`.
    """
    graph = nx.DiGraph(method=found.method, alpha=found.alpha)
    graph.add_nodes_from(found.columns)
    for edge in found.edges:
        at_a, at_b = ends(edge.mark)
        facts: dict[str, Any] = {
            "mark": edge.mark,
            "end_a": at_a,
            "end_b": at_b,
            "pvalue": edge.pvalue,
            "given": SEPARATOR.join(edge.given),
            "tests": edge.tests,
            "required": edge.required,
        }
        if edge.adjusted is not None:
            facts["adjusted"] = edge.adjusted
        if edge.confidence is not None:
            facts |= {"confidence": edge.confidence, "mark_confidence": edge.mark_confidence}
        graph.add_edge(edge.a, edge.b, **facts)
    return graph


def to_frame(found: "Discovery") -> "pd.DataFrame":
    """Returns a DataFrame with a row for each edge.

    Rows are sorted by confidence, then p-value, then statistic.
    """
    import pandas as pd

    columns = ["a", "mark", "b", "pvalue", "adjusted", "given", "tests", "required", "confidence"]
    rows = [[getattr(edge, name) for name in columns] for edge in found.edges]
    frame = pd.DataFrame(rows, columns=columns)
    share = [edge.mark_confidence for edge in found.edges]
    return frame.assign(mark_confidence=pd.Series(share, dtype=float))
