"""Mixed graphs as causal-learn's endpoint matrices and as text."""

from collections.abc import Sequence

import networkx as nx
import numpy as np
from causallearn.graph.Dag import Dag
from causallearn.graph.GraphNode import GraphNode
from causallearn.utils.DAG2CPDAG import dag2cpdag
from numpy.typing import NDArray

from acid_causal.discovery.mixed_graph import ARROW, CIRCLE, TAIL

# In the encoding of `acid_causal.discovery.mixed_graph`.
Endpoints = NDArray[np.int64]

_MARKS = {TAIL: ("-", "-"), ARROW: ("<", ">"), CIRCLE: ("o", "o")}
_LEFT = {left: mark for mark, (left, _) in _MARKS.items()}
_RIGHT = {right: mark for mark, (_, right) in _MARKS.items()}


def from_dag(dag: nx.DiGraph) -> Endpoints:
    """Returns a DAG's endpoints, shape (d, d), in the order of its nodes."""
    parents = np.asarray(nx.to_numpy_array(dag, dtype=np.int64))
    return TAIL * parents + ARROW * parents.T


def cpdag_of(dag: nx.DiGraph) -> Endpoints:
    """Returns the endpoints of a DAG's CPDAG, which represents its Markov equivalence class."""
    nodes = {name: GraphNode(str(name)) for name in dag}
    graph = Dag(list(nodes.values()))
    for cause, effect in dag.edges:
        graph.add_directed_edge(nodes[cause], nodes[effect])
    return np.asarray(dag2cpdag(graph).graph, dtype=np.int64)


def to_text(endpoints: Endpoints, columns: Sequence[str]) -> str:
    """Writes the edges, as in `Raf --- Mek; PKA --> Akt; PKC o-> Jnk`."""
    edges = []
    for i, j in zip(*np.nonzero(np.triu(endpoints)), strict=True):
        left, right = _MARKS[endpoints[i, j]][0], _MARKS[endpoints[j, i]][1]
        edges.append(f"{columns[i]} {left}-{right} {columns[j]}")
    return "; ".join(edges)


def from_text(text: str, columns: Sequence[str]) -> Endpoints:
    """Reads the output of `to_text`."""
    endpoints = np.zeros((len(columns), len(columns)), dtype=np.int64)
    for edge in filter(None, text.split("; ")):
        left, marks, right = edge.split(" ")
        i, j = columns.index(left), columns.index(right)
        endpoints[i, j], endpoints[j, i] = _LEFT[marks[0]], _RIGHT[marks[2]]
    return endpoints
