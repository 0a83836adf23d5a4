"""Panels of metrics: a line for each method, and reference lines."""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.pictures.style import GREY, style_of

# Reference value and its label, for metrics that have one.
REFERENCES = {"type_1": (0.05, ".05"), "auc": (0.5, "chance")}


def legend_entries(panels: Iterable[Axes]) -> dict[str, Artist]:
    """Collects the legend entries of panels, each label once, as panels may lack methods."""
    return {
        label: handle
        for panel in panels
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }


def draw_legend(figure: Figure, panels: Iterable[Axes], most: int) -> None:
    """Draws one legend for all panels below them, with at most so many entries in a row."""
    entries = legend_entries(panels)
    figure.legend(
        entries.values(),
        entries.keys(),
        loc="outside lower center",
        ncols=min(len(entries), most),
        handlelength=4,
    )


def draw_reference(panel: Axes, metric: str, *, named: bool = True) -> None:
    """Draws the reference line of a metric, if it has one."""
    if metric not in REFERENCES:
        return
    height, label = REFERENCES[metric]
    panel.axhline(height, color=GREY, linewidth=1.0)
    if named:
        panel.annotate(
            label,
            (1, height),
            xycoords=("axes fraction", "data"),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            color=GREY,
            fontsize=8,
        )


def draw_methods(
    panel: Axes,
    summary: pd.DataFrame,
    axis: str,
    metric: str,
    *,
    has_band: Callable[[str], bool] = lambda method: True,
) -> None:
    """Draws a line for each method, with a band for its interval.

    Args:
        panel: Where to draw.
        summary: One row for each (axis, method), with METRIC and METRIC_half.
        axis: The column for the horizontal axis.
        metric: The column for the vertical axis.
        has_band: Says which methods get a band.
    """
    for method, rows in summary.groupby("method", sort=False):
        style = style_of(str(method))
        where = rows[axis].to_numpy(dtype=float)
        mean = rows[metric].to_numpy(dtype=float)
        if has_band(str(method)):
            half = rows[f"{metric}_half"].to_numpy(dtype=float)
            low, high = np.clip(mean - half, 0, 1), np.clip(mean + half, 0, 1)
            panel.fill_between(where, low, high, color=style.color, alpha=0.13, linewidth=0)
        panel.plot(where, mean, **style.line, markersize=5, linewidth=1.8)
