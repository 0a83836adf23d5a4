"""Heat maps of metrics by model and the kind of links of the test data."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from benchmarks.pictures.style import INK, VERMILION, picture, style_of

# Metric: name, and the value that is drawn darkest.
_PANELS = {
    "auc": ("AUC", 0.5),
    "f1_dependence": ("F1 (dependence positive)", 0.0),
    "type_1": ("Type I error", 1.0),
    "type_2": ("Type II error", 1.0),
}


def draw_heat_maps(summary: pd.DataFrame, title: str, path: Path) -> None:
    """Draws four panels: rows are methods, columns the mechanisms of the test data.

    Light is good in each panel. A frame marks a model on the kind of links it was trained on.

    Args:
        summary: One row for each (method, mechanism), in the order of the rows to draw.
        title: Of the picture.
        path: The PNG.
    """
    methods, mechanisms = list(summary["method"].unique()), sorted(summary["mechanism"].unique())
    if not methods:
        return
    with picture(path, 10.0, 1.6 + 0.72 * len(methods)) as figure:
        figure.suptitle(title.replace("d_z", "$d_z$"), fontsize=13, fontweight="bold")
        panels = figure.subplots(2, 2, sharex=True, sharey=True)
        for panel, metric in zip(panels.flat, _PANELS, strict=True):
            table = summary.pivot(index="method", columns="mechanism", values=metric)
            _draw_panel(panel, table.loc[methods, mechanisms], metric)
        for panel in panels[1]:
            panel.set_xlabel("tested on")


def _draw_panel(panel: Axes, table: pd.DataFrame, metric: str) -> None:
    name, worst = _PANELS[metric]
    best = 0.0 if worst == 1.0 else 1.0
    values = table.to_numpy(dtype=float)
    goodness = (values - worst) / (best - worst)
    panel.imshow(goodness, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        if not np.isnan(value):
            color = INK if goodness[i, j] > 0.5 else "white"
            panel.text(j, i, f"{value:.2f}", ha="center", va="center", color=color, fontsize=9)
        if str(table.index[i]).endswith(str(table.columns[j])):
            panel.add_patch(
                Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, fill=False, edgecolor=VERMILION, lw=1.8)
            )
    panel.set_xticks(range(len(table.columns)), [_links(name) for name in table.columns])
    panel.set_yticks(range(len(table.index)), [style_of(name).label for name in table.index])
    panel.grid(visible=False)
    panel.set_title(name, loc="left")


def _links(mechanism: str) -> str:
    return mechanism.replace("mlp", "MLP-")
