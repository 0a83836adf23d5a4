"""Meek's rules: what follows from the oriented edges of a graph."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from itertools import chain

import numpy as np
from jaxtyping import Bool
from numpy.typing import NDArray

from acid_causal.causal_learn.level import Pair
from acid_causal.discovery.mixed_graph import ARROW, TAIL, Endpoints


def points(marks: Endpoints, i: int, j: int) -> bool:
    """Returns whether there is an edge i -> j."""
    return bool(marks[i, j] == TAIL and marks[j, i] == ARROW)


def point(marks: Endpoints, i: int, j: int) -> None:
    """Orients an edge i -> j."""
    marks[i, j], marks[j, i] = TAIL, ARROW


def apply_meeks_rules(marks: Endpoints, forbidden: Collection[Pair]) -> None:
    """Orients what follows from the oriented edges, without new colliders or cycles.

    Args:
        marks: the graph; it is changed.
        forbidden: ordered pairs (i, j) without an edge i -> j. Without knowledge the first three
            rules find all that follows.

    References:
        Meek (1995), Causal inference and causal explanation with background knowledge.
    """
    above = _ancestors(marks)
    neighbours = _neighbours(marks)
    triangles = [(i, j, k) for i, j, k in _chains(neighbours) if marks[i, k]]
    sides = defaultdict(list)
    for i, j, k in triangles:
        sides[i, k].append(j)
    changed = True

    def tell(i: int, j: int) -> None:
        """Orients i -> j, unless that is forbidden or makes a cycle."""
        nonlocal changed
        if (i, j) not in forbidden and not above[j, i]:
            point(marks, i, j)
            _add_path(above, i, j)
            changed = True

    def undirected(i: int, j: int) -> bool:
        return bool(marks[i, j] == TAIL == marks[j, i])

    while changed:
        changed = False
        for i, j, k in _chains(neighbours):
            if undirected(j, k) and not marks[i, k] and points(marks, i, j):
                tell(j, k)
        for i, j, k in triangles:
            if undirected(i, k) and points(marks, i, j) and points(marks, j, k):
                tell(i, k)
        for i, j, end in triangles:
            if not undirected(i, end) or not undirected(i, j) or not points(marks, j, end):
                continue
            for k in sides[i, end]:
                apart = j < k and not marks[j, k]
                if apart and undirected(i, k) and points(marks, k, end) and undirected(i, end):
                    tell(i, end)
        for first, k, end in _chains(neighbours) if forbidden else ():
            if marks[first, end] or not points(marks, first, k) or not points(marks, k, end):
                continue
            for i in neighbours[first]:
                if marks[i, k] and undirected(i, first) and undirected(i, end):
                    tell(i, end)


def _neighbours(marks: Endpoints) -> dict[int, list[int]]:
    """Lists the neighbours of each column in the order in which causal-learn goes through them."""
    neighbours: dict[int, list[int]] = defaultdict(list)
    for j, i in chain(np.argwhere(marks == TAIL), np.argwhere(marks == ARROW)):
        neighbours[int(i)].append(int(j))
    return neighbours


def _chains(neighbours: dict[int, list[int]]) -> Iterator[tuple[int, int, int]]:
    """Yields all i - j - k."""
    for i, near in neighbours.items():
        for j in near:
            for k in neighbours[j]:
                if k != i:
                    yield i, j, k


def _ancestors(marks: Endpoints) -> Bool[NDArray[np.bool_], "d d"]:
    """Returns for each pair (i, j) whether there is a directed path from i to j."""
    above = np.zeros(marks.shape, dtype=bool)
    for i, j in np.argwhere((marks == TAIL) & (marks.T == ARROW)).tolist():
        _add_path(above, i, j)
    return above


def _add_path(above: Bool[NDArray[np.bool_], "d d"], i: int, j: int) -> None:
    sources, ends = above[:, i].copy(), above[j].copy()
    sources[i] = ends[j] = True
    above[np.ix_(sources, ends)] = True
