"""The p-values of each test for the pairs of the Sachs network."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchmarks.pictures.style import GREY, INK, picture, style_of

_SMALLEST = 1e-12  # smaller p-values are drawn here
_COLUMNS = {
    "p_marginal": "without a conditioning set",
    "p_given_one": "given one other protein: the largest p-value",
}


def draw_edges(shown: pd.DataFrame, alpha: float, path: Path) -> None:
    """Draws a row for each pair, with a mark for each test.

    Args:
        shown: One row for each (pair, method), in the order of the pairs, with the columns x, y,
            method, in_network, p_marginal and p_given_one.
        alpha: The level, drawn as a line.
        path: The PNG.
    """
    pairs = list(dict.fromkeys(zip(shown["x"], shown["y"], shown["in_network"], strict=True)))
    with picture(path, 10.5, 1.9 + 0.26 * len(pairs)) as figure:
        figure.suptitle(
            "Sachs, 853 cells: what each test sees of the 17 consensus edges",
            fontsize=13,
            fontweight="bold",
        )
        panels = figure.subplots(1, 2, sharey=True)
        for panel, (column, title) in zip(panels, _COLUMNS.items(), strict=True):
            _draw_panel(panel, shown, column, pairs)
            panel.axvline(alpha, color=INK, linewidth=1, linestyle=(0, (4, 2)), zorder=1)
            panel.set_title(title, loc="left")
            panel.set_xlabel(f"p-value; those below {_SMALLEST:g} are drawn there")
        panels[0].set_yticks(
            range(len(pairs)),
            [f"{x} – {y}" + ("" if known else " (not in it)") for x, y, known in pairs],
        )
        panels[0].invert_yaxis()
        panels[0].annotate(
            f"alpha = {alpha:g}",
            (alpha, -0.9),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=8.5,
        )
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def _draw_panel(
    panel: Axes, shown: pd.DataFrame, column: str, pairs: list[tuple[str, str, bool]]
) -> None:
    place = {(x, y): k for k, (x, y, _) in enumerate(pairs)}
    outside = [k for k, (_, _, known) in enumerate(pairs) if not known]
    if outside:
        panel.axhline(min(outside) - 0.5, color=GREY, linewidth=0.8)
    methods = list(dict.fromkeys(shown["method"]))
    for number, method in enumerate(methods):
        rows, style = shown[shown["method"] == method], style_of(method)
        # Shifted a little, so that marks do not hide each other.
        apart = 0.16 * (number - (len(methods) - 1) / 2)
        places = [place[pair] + apart for pair in zip(rows["x"], rows["y"], strict=True)]
        panel.scatter(
            np.maximum(rows[column], _SMALLEST),
            places,
            label=style.label,
            color=style.color,
            marker=style.marker,
            s=26,
            zorder=3,
            linewidths=0,
        )
    panel.set_xscale("log")
    panel.set_xlim(_SMALLEST / 3, 2)
    panel.set_ylim(-1.3, len(pairs) - 0.4)
