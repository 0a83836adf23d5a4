"""Positions of the nodes of a drawing, and paths of its edges.

Lengths are in points (1/72 inch). networkx lays out each component; overlapping boxes are then
moved apart. Components are packed in rows, with nodes without an edge last.
"""

import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.discovery.report.labels import printable

Array = NDArray[np.float64]

FONT_SIZE = 11.0
_LINE_HEIGHT = 1.25 * FONT_SIZE
# Width of a letter in the widest common font, as a share of the font size.
_LETTER = 0.62
_WRAP, _MOST_LINES = 18, 3
_PADDING = 8.0
_GAP = 20.0  # between boxes
_CLEARANCE = 7.0  # between a box and an edge of others
_EDGE = 92.0  # typical length of an edge between two centres
_MARGIN = 14.0
# The largest component for the better layout, whose cost grows with the square of its size.
_LARGEST_EXACT = 150
_POINTS = 400  # per curve; many, so that it can be cut at any point
_BENDS = (0.0, 0.14, -0.14, 0.28, -0.28, 0.45, -0.45)


@dataclass(frozen=True)
class Layout:
    """Positions of d nodes on a sheet; the origin is the top left corner.

    Attributes:
        labels: text of each box, with line breaks.
        centres: centres of the boxes.
        sizes: widths and heights of the boxes.
        width: width of the sheet.
        height: height of the sheet.
    """

    labels: tuple[str, ...]
    centres: Float[Array, "d 2"]
    sizes: Float[Array, "d 2"]
    width: float
    height: float

    def path(self, a: int, b: int) -> Float[Array, "points 2"]:
        """Returns the path from box a to box b, curved if another box is in the way.

        Args:
            a: first node.
            b: second node.
        """
        curves: list[tuple[int, Array]] = []
        for bend in _BENDS:
            curve = _curve(self.centres[a], self.centres[b], bend)
            curves.append((self._hidden(curve, a, b), curve))
            if curves[-1][0] == 0:
                break
        curve = min(curves, key=lambda pair: pair[0])[1]
        outside = ~(self._inside(curve, a, 2.0) | self._inside(curve, b, 2.0))
        return curve[outside] if outside.sum() > 1 else curve

    def _inside(self, points: Array, k: int, pad: float) -> NDArray[np.bool_]:
        return (np.abs(points - self.centres[k]) < self.sizes[k] / 2 + pad).all(axis=-1)

    def _hidden(self, points: Array, a: int, b: int) -> int:
        """Counts points that are off the sheet or hidden by boxes other than a and b."""
        some = points[::8]
        off = np.abs(some[:, None] - self.centres)
        below = (off < self.sizes / 2 + 4.0).all(axis=2).sum(axis=0)
        beside = ((some < 2.0) | (some > [self.width - 2.0, self.height - 2.0])).any(axis=1)
        return int(below.sum() - below[a] - below[b] + beside.sum())


def lay_out(names: Sequence[str], edges: Sequence[tuple[int, int]]) -> Layout:
    """Lays out a graph; the result is deterministic.

    Args:
        names: names of the nodes.
        edges: pairs of nodes.
    """
    labels = tuple(_label(name) for name in names)
    sizes = np.array([_box(label) for label in labels])
    graph = nx.Graph(list(edges))
    groups = [sorted(group) for group in nx.connected_components(graph)]
    centres = np.zeros((len(names), 2))
    for group in groups:
        centres[group] = _place_component(graph.subgraph(group), group, sizes[group])
    groups.sort(key=lambda group: (-len(group), group[0]))
    alone = [[k] for k in range(len(names)) if k not in graph]
    width, height = _pack([*groups, *alone], centres, sizes)
    return Layout(labels, centres, sizes, width, height)


# ---- boxes ---------------------------------------------------------------------------------------


def _label(name: str) -> str:
    """Wraps a name, preferably at spaces and underscores, and shortens a long one."""
    pieces = printable(name).replace("_", "_ ")
    lines = [line.replace("_ ", "_") for line in textwrap.wrap(pieces, _WRAP)]
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], "…"]
    return "\n".join(lines)


def _box(label: str) -> tuple[float, float]:
    lines = label.split("\n")
    letters = max(sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in li) for li in lines)
    width = max(letters, 3) * _LETTER * FONT_SIZE + 2 * _PADDING
    return width, len(lines) * _LINE_HEIGHT + 1.2 * _PADDING


# ---- places --------------------------------------------------------------------------------------


def _place_component(graph: nx.Graph, group: Sequence[int], sizes: Array) -> Array:
    """Places the nodes of a connected graph around the origin."""
    if len(group) <= _LARGEST_EXACT:
        places = nx.kamada_kawai_layout(graph, pos=nx.circular_layout(group))
    else:
        places = nx.spring_layout(graph, seed=0, iterations=200)
    centres = np.array([places[k] for k in group])
    index = {k: i for i, k in enumerate(group)}
    edges = np.array(sorted((index[a], index[b]) for a, b in graph.edges))
    lengths = np.linalg.norm(centres[edges[:, 0]] - centres[edges[:, 1]], axis=1)
    # Dense graphs get longer edges, as there are more boxes to avoid.
    degree = 2 * len(edges) / len(group)
    centres *= _EDGE * max(1.0, degree / 3.0) ** 0.5 / lengths.mean()
    return _spread(centres, sizes, edges)


def _spread(centres: Array, sizes: Array, edges: NDArray[np.int64]) -> Array:
    """Moves overlapping boxes apart and, if possible, away from the edges of other nodes."""
    centres = centres.copy()
    off_edges = len(centres) <= _LARGEST_EXACT
    for rounds, keep_off_edges in ((200, off_edges), (400, False)):
        for _ in range(rounds):
            push = _push_of_boxes(centres, sizes)
            if keep_off_edges:
                push += _push_of_edges(centres, sizes, edges)
            if np.abs(push).max() < 0.1:
                break
            centres += push
    return centres


def _push_of_boxes(centres: Array, sizes: Array) -> Array:
    """Pushes overlapping boxes apart, along the axis on which they overlap less."""
    apart = centres - centres[:, None]
    missing = (sizes + sizes[:, None]) / 2 + _GAP - np.abs(apart)
    overlap = (missing > 0).all(axis=2) & ~np.eye(len(centres), dtype=bool)
    shorter = missing == missing.min(axis=2, keepdims=True)
    upper = np.triu(np.ones(overlap.shape, dtype=bool))[..., None]
    away = -np.where(apart == 0, np.where(upper, 1.0, -1.0), np.sign(apart))
    return (away * missing / 2 * shorter * overlap[..., None]).sum(axis=1)


def _push_of_edges(centres: Array, sizes: Array, edges: NDArray[np.int64]) -> Array:
    """Pushes boxes away from the straight edges that cross them, and the edges a little back."""
    start, end = centres[edges[:, 0]], centres[edges[:, 1]]
    along = end - start
    t = ((centres[:, None] - start) * along).sum(axis=2) / (along**2).sum(axis=1)
    off = centres[:, None] - (start + np.clip(t, 0.05, 0.95)[..., None] * along)
    distance = np.linalg.norm(off, axis=2, keepdims=True)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    across = across / np.linalg.norm(across, axis=1, keepdims=True)
    normal = np.where(distance < 1.0, across, off / np.maximum(distance, 1.0))
    reach = (np.abs(normal) * sizes[:, None] / 2).sum(axis=2, keepdims=True)
    missing = np.maximum(reach + _CLEARANCE - distance, 0.0)
    nodes = np.arange(len(centres))[:, None]
    missing[(nodes == edges[:, 0]) | (nodes == edges[:, 1])] = 0.0
    force = normal * missing
    push = 0.25 * force.sum(axis=1)
    np.add.at(push, edges, -0.1 * force.sum(axis=0)[:, None])
    return push


def _pack(groups: Sequence[Sequence[int]], centres: Array, sizes: Array) -> tuple[float, float]:
    """Arranges the groups in rows on one sheet, and returns the size of the sheet."""
    corners = [
        ((centres[g] - sizes[g] / 2).min(axis=0), (centres[g] + sizes[g] / 2).max(axis=0))
        for g in groups
    ]
    extents = np.array([high - low for low, high in corners])
    area = float(np.prod(extents + 2 * _GAP, axis=1).sum())
    limit = max(float(extents[:, 0].max()), 1.15 * area**0.5)
    rows: list[list[int]] = [[]]
    used = 0.0
    for k, (width, _) in enumerate(extents):
        was_alone = bool(rows[-1]) and len(groups[rows[-1][0]]) == 1
        starts_alone = len(groups[k]) == 1 and not was_alone
        if rows[-1] and (used + width > limit or starts_alone):
            rows.append([])
            used = 0.0
        rows[-1].append(k)
        used += width + 2 * _GAP
    widest = max(extents[row, 0].sum() + 2 * _GAP * (len(row) - 1) for row in rows)
    y = _MARGIN
    for row in rows:
        tall = float(extents[row, 1].max())
        x = _MARGIN + (widest - extents[row, 0].sum() - 2 * _GAP * (len(row) - 1)) / 2
        for k in row:
            corner = np.array([x, y + (tall - extents[k, 1]) / 2])
            centres[list(groups[k])] += corner - corners[k][0]
            x += extents[k, 0] + 2 * _GAP
        y += tall + 2 * _GAP
    return float(widest) + 2 * _MARGIN, y - 2 * _GAP + _MARGIN


def _curve(start: Array, end: Array, bend: float) -> Float[Array, "points 2"]:
    """Returns a quadratic curve that deviates from the straight line by a share of its length."""
    t = np.linspace(0.0, 1.0, _POINTS)[:, None]
    along = end - start
    control = (start + end) / 2 + 2 * bend * np.array([-along[1], along[0]])
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
