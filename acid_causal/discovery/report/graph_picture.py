"""Draws the graph as PNG, and as SVG in which scripts can find edges and nodes."""

import logging
import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Polygon

from acid_causal.discovery.discovery import Discovery
from acid_causal.discovery.evidence import Edge
from acid_causal.discovery.mixed_graph import ends, meaning
from acid_causal.discovery.report.graph_layout import FONT_SIZE, Array, Layout, lay_out
from acid_causal.discovery.report.labels import arrow, given_text, isolated, printable, pvalue_text
from acid_causal.files import write_atomically

# Colours of doubtful and of certain edges; safe for colour-blind readers, and in grey.
DOUBTFUL, FIRM = "#E8A33D", "#0B4A8F"
_COLORS = LinearSegmentedColormap.from_list("firmness", [DOUBTFUL, "#8C8F9C", FIRM])
REQUIRED = "#5c6b7a"  # required edges are also dashed
_INK, _BOX, _RIM, _FAINT = "#1C2733", "#F3F6FA", "#8296AC", "#B9C4D0"
# The colour scale goes from alpha down to this p-value.
CLEAR_PVALUE = 1e-8
_ARROW_LENGTH, _ARROW_WIDTH, _CIRCLE = 9.0, 8.0, 3.4
_LEGEND = 34.0

# The fonts are tried in this order, as names may use any script.
_FONTS = ["DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", "Arial Unicode MS", "sans-serif"]
_SETTINGS: dict[str, Any] = {
    "font.family": _FONTS,
    "svg.fonttype": "none",  # keeps text as text: for search, copying and screen readers
    "svg.hashsalt": "acid-causal",  # makes the file deterministic
}
_SVG = "http://www.w3.org/2000/svg"


def firmness(edge: Edge, alpha: float) -> float:
    """Returns how certain an edge is, from 0 to 1; colour and width of the edge show it.

    It is the confidence if there is one. Otherwise it says how far the largest p-value of the edge
    is below alpha, on a log scale.
    """
    if edge.confidence is not None:
        return edge.confidence
    if edge.pvalue <= CLEAR_PVALUE:
        return 1.0
    scale = math.log(CLEAR_PVALUE / alpha) if alpha > CLEAR_PVALUE else -1.0
    return min(max(math.log(edge.pvalue / alpha) / scale, 0.0), 1.0)


def edge_color(edge: Edge, alpha: float) -> str:
    """Returns the colour of an edge, as in `#0b4a8f`; grey for required edges."""
    if edge.required:
        return REQUIRED
    return to_hex(_COLORS(firmness(edge, alpha)))


def write_png(found: Discovery, path: Path) -> None:
    """Writes the picture with its legend, atomically."""
    with _drawn(found, legend=True) as figure:
        write_atomically(path, lambda part: figure.savefig(part, format="png", dpi=200))


def to_svg(found: Discovery, *, legend: bool = True) -> str:
    """Draws the picture as one `<svg>` element.

    Each edge is a few groups with its index in `found.edges` as `data-edge`; each node has its
    column as `data-node`. Both have a tooltip.
    """
    with _drawn(found, legend=legend) as figure:
        file = BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return _label_parts(file.getvalue(), found)


@contextmanager
def quiet_matplotlib() -> Iterator[None]:
    """Silences matplotlib's messages on fonts that this machine lacks."""
    log = logging.getLogger("matplotlib.font_manager")
    level = log.level
    with mpl.rc_context(rc=_SETTINGS), warnings.catch_warnings():  # type: ignore[arg-type]
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        log.setLevel(logging.ERROR)
        try:
            yield
        finally:
            log.setLevel(level)


# ---- drawing -------------------------------------------------------------------------------------


@contextmanager
def _drawn(found: Discovery, *, legend: bool) -> Iterator[Figure]:
    index = {name: k for k, name in enumerate(found.columns)}
    pairs = [(index[edge.a], index[edge.b]) for edge in found.edges]
    layout = lay_out(found.columns, sorted((min(pair), max(pair)) for pair in pairs))
    width = max(layout.width, 300.0) if legend else layout.width
    height = layout.height + (_LEGEND if legend else 0.0)
    with quiet_matplotlib():
        figure = Figure(figsize=(width / 72, height / 72), facecolor="white")
        axes = figure.add_axes((0, 0, 1, 1), frameon=False)
        left = (width - layout.width) / 2
        axes.set(xlim=(-left, width - left), ylim=(height, 0), xticks=[], yticks=[])
        # In reverse order, so that the most certain edges are on top.
        for number, (edge, (a, b)) in reversed(
            list(enumerate(zip(found.edges, pairs, strict=True)))
        ):
            _draw_edge(axes, edge, layout.path(a, b), found.alpha, f"edge-{number}")
        linked = {k for pair in pairs for k in pair}
        for k in range(len(found.columns)):
            _draw_node(axes, layout, k, linked=k in linked)
        if legend:
            _draw_legend(axes, found, layout.height + _LEGEND / 2 - 4, width / 2 - left)
        yield figure


def _draw_edge(
    axes: Axes, edge: Edge, path: Float[Array, "points 2"], alpha: float, gid: str
) -> None:
    color = edge_color(edge, alpha)
    width = 1.1 + 1.7 * firmness(edge, alpha)
    at_a, at_b = ends(edge.mark)
    line = _thinned(_shortened(_shortened(path, at_b)[::-1], at_a)[::-1])
    # A wide invisible line, so that the edge is easy to click.
    axes.plot(*line.T, color="black", alpha=0.0, linewidth=16, gid=f"{gid}-hit", clip_on=False)
    axes.plot(
        *line.T,
        color=color,
        linewidth=width,
        gid=f"{gid}-line",
        clip_on=False,
        zorder=2,
        solid_capstyle="butt",
        linestyle=(0, (5, 2)) if edge.required else "-",
    )
    for end, mark in ((path[::-1], at_a), (path, at_b)):
        _draw_mark(axes, end, mark, color, f"{gid}-mark")


def _draw_mark(axes: Axes, path: Float[Array, "points 2"], mark: str, color: str, gid: str) -> None:
    """Draws the mark at the last point of a path."""
    tip, back = path[-1], _shortened(path, mark)[-1]
    along = (tip - back) / max(float(np.linalg.norm(tip - back)), 1e-9)
    if mark == "arrow":
        side = np.array([-along[1], along[0]]) * _ARROW_WIDTH / 2
        corners = [tip, tip - _ARROW_LENGTH * along + side, tip - _ARROW_LENGTH * along - side]
        axes.add_patch(Polygon(corners, color=color, gid=gid, clip_on=False, zorder=3, linewidth=0))
    elif mark == "circle":
        centre = tip - _CIRCLE * along
        axes.add_patch(
            Circle(
                (float(centre[0]), float(centre[1])),
                _CIRCLE,
                facecolor="white",
                edgecolor=color,
                linewidth=1.4,
                gid=gid,
                clip_on=False,
                zorder=3,
            )
        )


def _shortened(path: Float[Array, "points 2"], mark: str) -> Float[Array, "fewer 2"]:
    """Cuts off the end of a path that a mark covers."""
    cut = {"arrow": _ARROW_LENGTH - 1.0, "circle": 2 * _CIRCLE, "tail": 0.0}[mark]
    far = np.linalg.norm(path - path[-1], axis=1) >= cut
    return path[: max(int(far.sum()), 2)]


def _thinned(path: Float[Array, "points 2"]) -> Float[Array, "fewer 2"]:
    """Drops points that a path does not need; a straight path keeps two."""
    along = (path[-1] - path[0]) / np.linalg.norm(path[-1] - path[0])
    off = (path - path[0]) @ np.array([-along[1], along[0]])
    return path[[0, -1]] if np.abs(off).max() < 0.1 else np.vstack([path[:-1:12], path[-1]])


def _draw_node(axes: Axes, layout: Layout, k: int, *, linked: bool) -> None:
    (x, y), (width, height) = layout.centres[k], layout.sizes[k]
    box = FancyBboxPatch(
        (x - width / 2, y - height / 2),
        width,
        height,
        boxstyle="round,pad=0,rounding_size=6",
        facecolor=_BOX if linked else "white",
        edgecolor=_RIM if linked else _FAINT,
        linewidth=1.0,
        clip_on=False,
        zorder=4,
        gid=f"node-{k}-box",
    )
    axes.add_patch(box)
    axes.text(
        x,
        y,
        layout.labels[k],
        ha="center",
        va="center",
        fontsize=FONT_SIZE,
        linespacing=1.15,
        color=_INK if linked else "#5C6B7A",
        parse_math=False,
        zorder=5,
        gid=f"node-{k}-name",
    )


def _draw_legend(axes: Axes, found: Discovery, y: float, middle: float) -> None:
    sampled = found.bootstrap is not None
    few = "0 % of samples" if sampled else f"p = {found.alpha:g}"
    many = "100 %" if sampled else f"p < {CLEAR_PVALUE:g}"
    bar = np.linspace(0, 1, 128)[None]
    half = 55.0
    axes.imshow(
        bar,
        cmap=_COLORS,
        extent=(middle - half, middle + half, y + 4, y - 4),
        aspect="auto",
        zorder=1,
    )
    style: dict[str, Any] = {"va": "center", "fontsize": 9.0, "color": _INK}
    axes.text(middle - half - 8, y, few, ha="right", **style)
    axes.text(middle + half + 8, y, many, ha="left", **style)


# ---- SVG -----------------------------------------------------------------------------------------


def _label_parts(svg: bytes, found: Discovery) -> str:
    """Adds classes, data attributes and tooltips to matplotlib's SVG, and removes its metadata."""
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ElementTree.fromstring(svg)
    for tag in (
        "metadata",
        "defs",
    ):  # the first defs has styles for the whole page
        unneeded = root.find(f"{{{_SVG}}}{tag}")
        if unneeded is not None:
            root.remove(unneeded)
    for element in list(root.iter()):
        name = element.attrib.pop("id", "") if element.tag.endswith("}g") else ""
        parts = re.fullmatch(r"(edge|node)-(\d+)-(\w+)", name)
        if parts is None:
            continue
        kind, number, part = parts.groups()
        element.set("class", f"{kind} {part}")
        element.set(f"data-{kind}", number)
        if part in ("hit", "box", "name"):
            title = ElementTree.Element(f"{{{_SVG}}}title")
            title.text = (
                describe_edge(found.edges[int(number)], found)
                if kind == "edge"
                else printable(found.columns[int(number)])
            )
            element.insert(0, title)
    root.set("style", "stroke-linejoin: round")
    root.set("role", "group")
    root.set("aria-label", f"Graph with {len(found.edges)} edges")
    return ElementTree.tostring(root, encoding="unicode")


def describe_edge(edge: Edge, found: Discovery) -> str:
    """Describes an edge in two or three lines."""
    a, b = isolated(edge.a), isolated(edge.b)
    lines = [
        f"{a} {arrow(edge.mark)} {b}: {meaning(a, edge.mark, b, found.method)}",
        f"p = {pvalue_text(edge.pvalue)} given {given_text(edge.given)}, the most doubtful of "
        f"{edge.tests} tests",
    ]
    if edge.confidence is not None:
        same = edge.marks.get(edge.mark, 0.0)
        lines.append(f"linked in {edge.confidence:.0%} of the samples, {same:.0%} with this mark")
    return "\n".join(lines)
