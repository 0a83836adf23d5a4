"""Skeleton F1 and SHD against sample size, by mechanism and number of variables."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.ticker import FixedLocator, NullLocator

from benchmarks.pictures.lines import draw_legend
from benchmarks.pictures.style import GREY, picture, style_of

_HALVES = {"f1": "Skeleton F1", "cpdag_shd": "CPDAG-SHD"}


def draw_graphs(summary: pd.DataFrame, path: Path) -> None:
    """Draws F1 on the left and SHD on the right; rows are mechanisms, columns are values of d.

    Args:
        summary: One row for each (mechanism, d, n, method), with SCORE and SCORE_half.
        path: The PNG.
    """
    mechanisms, sizes = summary["mechanism"].unique(), sorted(summary["d"].unique())
    with picture(path, 4.4 * len(sizes) + 1.0, 2.1 * len(mechanisms) + 1.0) as figure:
        halves = figure.subfigures(1, 2, squeeze=False)[0]
        for half, (score, title) in zip(halves, _HALVES.items(), strict=True):
            half.suptitle(title, fontsize=13, fontweight="bold")
            _draw_half(half, summary, score)
        draw_legend(figure, halves[1].axes, most=1 + 2 * len(sizes))


def _draw_half(half: SubFigure, summary: pd.DataFrame, score: str) -> None:
    mechanisms, sizes = list(summary["mechanism"].unique()), sorted(summary["d"].unique())
    # The SHD grows with the graph, so each column has its own scale.
    panels = half.subplots(
        len(mechanisms),
        len(sizes),
        sharex=True,
        sharey=True if score == "f1" else "col",
        squeeze=False,
    )
    for i, mechanism in enumerate(mechanisms):
        for j, d in enumerate(sizes):
            cell = summary[(summary["mechanism"] == mechanism) & (summary["d"] == d)]
            _draw_panel(panels[i, j], cell, score)
            if score == "cpdag_shd":
                panels[i, j].axhline(2 * d, color=GREY, linewidth=1.0, label="empty graph")
        panels[i, 0].set_ylabel(mechanism)
    for j, d in enumerate(sizes):
        panels[0, j].set_title(f"d = {d}", loc="left")
        panels[-1, j].set_xlabel("sample size n")
    ticks = sorted(summary["n"].unique())
    for panel in panels.flat:
        panel.set_xscale("log")
        panel.xaxis.set_major_locator(FixedLocator(ticks))
        panel.xaxis.set_minor_locator(NullLocator())
        panel.set_xticklabels([str(int(tick)) for tick in ticks])


def _draw_panel(panel: Axes, cell: pd.DataFrame, score: str) -> None:
    for method, rows in cell.groupby("method", sort=False):
        style = style_of(str(method))
        where = rows["n"].to_numpy(dtype=float)
        mean = rows[score].to_numpy(dtype=float)
        half = rows[f"{score}_half"].to_numpy(dtype=float)
        low, high = np.clip(mean - half, 0, None), mean + half
        if score == "f1":
            high = np.clip(high, None, 1)
        panel.fill_between(where, low, high, color=style.color, alpha=0.13, linewidth=0)
        panel.plot(where, mean, **style.line, markersize=4.5, linewidth=1.7)
