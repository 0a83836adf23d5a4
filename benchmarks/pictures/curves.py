"""Metrics of tests against sample size or dimension, with bands over folds."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from benchmarks.pictures.lines import draw_legend, draw_methods, draw_reference
from benchmarks.pictures.style import picture

_PANELS = {
    "auc": "AUC",
    "f1_dependence": "F1 (dependence positive)",
    "type_1": "Type I error",
    "type_2": "Type II error",
}
_AXIS_LABELS = {"n": "sample size n", "d_z": "dimension of the conditioning set $d_z$"}


def draw_metrics(summary: pd.DataFrame, axis: str, title: str, path: Path) -> None:
    """Draws four panels, one line for each method.

    Args:
        summary: One row for each (axis, method), with METRIC and METRIC_half.
        axis: "n" or "d_z".
        title: Of the picture.
        path: The PNG.
    """
    with picture(path, 9.5, 7.0) as figure:
        figure.suptitle(title.replace("d_z", "$d_z$"), fontsize=13, fontweight="bold")
        panels = figure.subplots(2, 2, sharex=True)
        for panel, (metric, name) in zip(panels.flat, _PANELS.items(), strict=True):
            _draw_panel(panel, summary, axis, metric)
            panel.set_title(name, loc="left")
        for panel in panels[1]:
            panel.set_xlabel(_AXIS_LABELS[axis])
        draw_legend(figure, [panels[0, 0]], most=5)


def _draw_panel(panel: Axes, summary: pd.DataFrame, axis: str, metric: str) -> None:
    draw_reference(panel, metric)
    draw_methods(panel, summary, axis, metric)
    ticks = sorted(summary[axis].unique())
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(FixedLocator(ticks))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xticklabels([str(int(tick)) for tick in ticks])
    panel.set_ylim(-0.02, 1.02)
