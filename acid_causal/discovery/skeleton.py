"""The skeleton of stable PC, as causal-learn finds it, for graphs of many variables.

causal-learn's own function compares each pair with a list of all edges to remove, which takes
minutes at 200 variables whatever the test is. Its answer is the same: the same questions, the same
graph, and the same separating sets in the same order.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import combinations

import numpy as np
from causallearn.graph.Edge import Edge
from causallearn.graph.Endpoint import Endpoint
from causallearn.graph.GeneralGraph import GeneralGraph
from causallearn.graph.GraphClass import CausalGraph
from causallearn.graph.GraphNode import GraphNode

from acid_causal.causal_learn.level import Pair

# From columns x and y and a conditioning set to a p-value.
Ask = Callable[[int, int, tuple[int, ...]], float]


def find_skeleton(
    names: Sequence[str], alpha: float, ask: Ask, *, apart: Collection[Pair], max_size: int | None
) -> CausalGraph:
    """Finds the undirected graph, and what separates each pair that it leaves apart.

    Args:
        names: of the d variables.
        alpha: level of each test.
        ask: answers a question; the order of x and y moves no answer.
        apart: pairs that leave the graph whatever their p-values.
        max_size: largest conditioning set; None: as large as need be.

    References:
        Colombo, Maathuis (2014), Order-Independent Constraint-Based Causal Structure Learning,
        algorithm 4.1.
    """
    d = len(names)
    linked = ~np.eye(d, dtype=bool)
    sepsets: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    size = -1
    while linked.sum(axis=0).max() - 1 > size and (max_size is None or size < max_size):
        size += 1
        removed: set[tuple[int, int]] = set()
        # Edges go when the level ends, so that the order of the columns moves nothing.
        for x in range(d):
            near = np.flatnonzero(linked[x]).tolist()
            for y in near:
                if size == 0 and x > y:  # asked before; causal-learn notes the set twice
                    if (x, y) in removed:
                        sepsets[x, y].append(())
                        sepsets[y, x].append(())
                    continue
                separating: set[int] = set()
                separated = (min(x, y), max(x, y)) in apart
                for cond in combinations([v for v in near if v != y], size):
                    if ask(x, y, cond) > alpha:
                        separated = True
                        separating.update(cond)
                if separated:
                    removed |= {(x, y), (y, x)}
                if (x, y) in removed:
                    sepsets.setdefault((x, y), []).append(tuple(separating))
                    sepsets.setdefault((y, x), []).append(tuple(separating))
        for x, y in removed:
            linked[x, y] = False
    return _causal_graph(names, linked, sepsets)


def _causal_graph(
    names: Sequence[str], linked: np.ndarray, sepsets: dict[tuple[int, int], list[tuple[int, ...]]]
) -> CausalGraph:
    """Makes causal-learn's graph, without all the edges that it would begin with."""
    graph = CausalGraph(0, [])
    nodes = [GraphNode(name) for name in names]
    graph.G = GeneralGraph(nodes)
    for x, y in np.argwhere(np.triu(linked)).tolist():
        graph.G.add_edge(Edge(nodes[x], nodes[y], Endpoint.TAIL, Endpoint.TAIL))
    graph.sepset = np.empty(linked.shape, object)
    for pair, sets in sepsets.items():
        graph.sepset[pair] = sets
    return graph
