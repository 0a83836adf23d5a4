"""The recovered Sachs graphs beside the consensus network."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch

from acid_causal.data.sachs import Sachs
from acid_causal.discovery.mixed_graph import ARROW, NONE
from benchmarks.metrics.endpoints import Endpoints, from_dag, from_text
from benchmarks.metrics.graph_metrics import EdgeClass, classify_edges
from benchmarks.pictures.style import BLUE, GREEN, GREY, INK, PURPLE, VERMILION, picture, style_of

# Placed so that no consensus edge covers another one or crosses a protein: the lipids on the left,
# PKC and PKA in the middle, the chain Raf-Mek-Erk-Akt on the right.
_PLACES = {
    "Plcg": (-0.7, 4.0),
    "PIP2": (0.2, 3.0),
    "PIP3": (-0.7, 2.0),
    "P38": (1.15, 3.0),
    "Jnk": (1.45, 1.0),
    "PKC": (2.3, 4.0),
    "PKA": (2.3, 2.0),
    "Raf": (3.75, 4.1),
    "Mek": (4.6, 2.9),
    "Erk": (4.3, 1.3),
    "Akt": (3.2, 0.4),
}

# Colour, dashes, width and label of each class of edges.
_Look = tuple[str, Any, float, str]
_LOOKS: dict[EdgeClass, _Look] = {
    "undirected": (BLUE, "-", 2.4, "found, undirected"),
    "right": (GREEN, (0, (7, 1.5)), 2.4, "found, oriented as in the network"),
    "reversed": (VERMILION, (0, (4, 1.2, 1, 1.2)), 2.4, "found, oriented against it"),
    "extra": (PURPLE, (0, (2.2, 1.1)), 2.4, "extra"),
    "missing": (GREY, (0, (1, 2.2)), 1.3, "missing"),
}
_CONSENSUS: _Look = (INK, "-", 1.8, "consensus network")


def draw_sachs(rows: pd.DataFrame, sachs: Sachs, path: Path) -> None:
    """Draws the 17-edge consensus network, PC with the first test, and small panels for the others.

    The first test is shown with raw input; each of the others with the input that suits it best.

    Args:
        rows: PC rows on the whole table, in the order of the tests; at least one.
        sachs: The table, for column names and the network.
        path: The PNG.
    """
    truth = from_dag(sachs.graph(17))
    methods = list(rows["method"].unique())
    with picture(path, 10.5, 8.6 if len(methods) > 1 else 5.2) as figure:
        first, *others = _panels(figure, len(methods) - 1)
        _draw_edges(first, truth, dict.fromkeys(_pairs(truth), _CONSENSUS), sachs, size=1.0)
        _title(first, "Consensus network", "17 edges; Sachs et al. 2005, Fig. 3A")
        for panel, method in zip(others, methods, strict=True):
            leads = method == methods[0]
            _draw_recovered(panel, _shown(rows, method, leads=leads), sachs, 1.0 if leads else 0.68)
        _legend(figure)


def _shown(rows: pd.DataFrame, method: str, *, leads: bool) -> "pd.Series[Any]":
    """Picks one of a test's rows."""
    of_method = rows[rows["method"] == method]
    raw = of_method[of_method["transform"] == "raw"]
    if leads and len(raw):
        return raw.iloc[0]
    return of_method.loc[of_method["cpdag_shd_17"].idxmin()]


def _panels(figure: Figure, small: int) -> list[Axes]:
    """Makes two panels in the upper row, and smaller ones below if there are several tests."""
    if small < 1:
        return list(figure.subplots(1, 2))
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=(1.5, 1.0))[:, 0]
    return [*above.subplots(1, 2), *below.subplots(1, small, squeeze=False)[0]]


def _draw_recovered(panel: Axes, row: "pd.Series[Any]", sachs: Sachs, size: float) -> None:
    dag = sachs.graph(17)
    recovered = from_text(row["graph"] if isinstance(row["graph"], str) else "", sachs.columns)
    classes = classify_edges(recovered, dag)
    union = np.where((recovered == NONE) & (recovered.T == NONE), from_dag(dag), recovered)
    looks = {pair: _LOOKS[name] for pair, name in classes.items()}
    _draw_edges(panel, union, looks, sachs, size)
    _title(
        panel,
        f"PC: {style_of(row['method']).label}, {row['transform']} input",
        f"SHD {row['cpdag_shd_17']:.0f}, F1 {row['f1_17']:.3f}, {row['edges']} edges",
    )


def _draw_edges(
    panel: Axes,
    endpoints: Endpoints,
    looks: dict[tuple[int, int], _Look],
    sachs: Sachs,
    size: float,
) -> None:
    """Draws proteins and edges; `size` scales circles, arrowheads and text."""
    for (i, j), (color, dashes, width, _) in looks.items():
        heads = {
            (False, False): "-",
            (False, True): "-|>",
            (True, False): "<|-",
            (True, True): "<|-|>",
        }
        patch = FancyArrowPatch(
            _PLACES[sachs.columns[i]],
            _PLACES[sachs.columns[j]],
            arrowstyle=heads[bool(endpoints[i, j] == ARROW), bool(endpoints[j, i] == ARROW)],
            mutation_scale=15 * size,
            shrinkA=19 * size,
            shrinkB=19 * size,
            color=color,
            linestyle=dashes,
            linewidth=width * (0.5 + 0.5 * size),
            zorder=1 if color == GREY else 2,
        )
        panel.add_patch(patch)
    for node in sachs.columns:
        x, y = _PLACES[node]
        panel.scatter(
            x, y, s=1150 * size**2, color="#F4F4F4", edgecolor=INK, linewidth=1.2, zorder=3
        )
        panel.text(x, y, node, ha="center", va="center", fontsize=10.5 * size, zorder=4)
    panel.set_xlim(-1.1, 5.0)
    panel.set_ylim(0.0, 4.5)
    panel.set_aspect("equal")
    panel.axis("off")


def _pairs(endpoints: Endpoints) -> list[tuple[int, int]]:
    """Lists a DAG's edges as pairs of columns."""
    return [(int(i), int(j)) for j, i in zip(*np.nonzero(endpoints == ARROW), strict=True)]


def _title(panel: Axes, first: str, second: str) -> None:
    panel.set_title(f"{first}\n", pad=4)
    panel.annotate(
        second,
        (0.5, 1),
        xycoords="axes fraction",
        xytext=(0, 5),
        textcoords="offset points",
        ha="center",
        fontsize=10,
        color="#444444",
    )


def _legend(figure: Figure) -> None:
    handles = [
        Line2D([], [], color=color, linestyle=dashes, linewidth=width, label=label)
        for color, dashes, width, label in (_CONSENSUS, *_LOOKS.values())
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=3, handlelength=4, fontsize=9.5
    )
