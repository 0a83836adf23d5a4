"""Metrics of tests against the size of the conditioning set, one column for each domain."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from benchmarks.pictures.style import GREY, picture, style_of

N = 300  # a sample size that every domain has
_LINES = {"auc": "AUC", "type_1": "Type I error at .05"}
# Heights to be compared with, and what they are called.
_REFERENCES = {"auc": (0.5, "chance"), "type_1": (0.05, ".05")}


def draw_domains(summary: pd.DataFrame, path: Path) -> None:
    """Draws AUC above and Type I error below, one line for each method, with a band for ACID's.

    Args:
        summary: One row for each (domain, n, d_z, method), with METRIC and METRIC_half.
        path: The PNG.
    """
    shown = summary[summary["n"] == N]
    domains = list(shown["domain"].unique())
    if not domains:
        return
    with picture(path, 2.9 * len(domains) + 0.7, 5.8) as figure:
        # Over few panels the title takes two lines.
        between = "\n" if len(domains) < 3 else " "
        title = f"Questions on random DAGs, n = {N}:{between}means, and 95 % intervals of ACID's"
        figure.suptitle(title, fontsize=13, fontweight="bold")
        panels = figure.subplots(2, len(domains), sharex="col", sharey="row", squeeze=False)
        for j, domain in enumerate(domains):
            rows = shown[shown["domain"] == domain]
            for i, metric in enumerate(_LINES):
                _draw_panel(panels[i, j], rows, metric)
            panels[0, j].set_title(domain, loc="left")
            panels[1, j].set_xlabel("$d_z$")
        for i, label in enumerate(_LINES.values()):
            panels[i, 0].set_ylabel(label)
        for panel, (height, name) in zip(panels[:, -1], _REFERENCES.values(), strict=True):
            panel.annotate(
                name, (1, height), xycoords=("axes fraction", "data"), xytext=(3, 0),
                textcoords="offset points", va="center", color=GREY, fontsize=8,
            )  # fmt: skip
        lines = {line.get_label(): line for panel in panels[0] for line in panel.get_lines()}
        shown_lines = {name: line for name, line in lines.items() if not name.startswith("_")}
        figure.legend(
            shown_lines.values(), shown_lines.keys(), loc="outside lower center",
            ncols=min(len(shown_lines), 2 * len(domains)), handlelength=4,
        )  # fmt: skip


def _draw_panel(panel: Axes, rows: pd.DataFrame, metric: str) -> None:
    panel.axhline(_REFERENCES[metric][0], color=GREY, linewidth=1.0)
    for method, cells in rows.groupby("method", sort=False):
        style = style_of(str(method))
        where = cells["d_z"].to_numpy(dtype=float)
        mean = cells[metric].to_numpy(dtype=float)
        if str(method).startswith("acid"):  # bands of all methods would cover one another
            half = cells[f"{metric}_half"].to_numpy(dtype=float)
            low, high = np.clip(mean - half, 0, 1), np.clip(mean + half, 0, 1)
            panel.fill_between(where, low, high, color=style.color, alpha=0.13, linewidth=0)
        panel.plot(
            where, mean, color=style.color, linestyle=style.dashes, marker=style.marker,
            markersize=4.5, linewidth=1.7, label=style.label,
        )  # fmt: skip
    panel.xaxis.set_major_locator(FixedLocator(sorted(rows["d_z"].unique())))
