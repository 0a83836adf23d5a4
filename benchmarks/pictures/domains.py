"""Metrics of tests against the size of the conditioning set, one column for each domain."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from benchmarks.pictures.lines import draw_legend, draw_methods, draw_reference
from benchmarks.pictures.style import picture

N = 300  # a sample size that every domain has
_LINES = {"auc": "AUC", "type_1": "Type I error at .05"}


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
                _draw_panel(panels[i, j], rows, metric, is_last=j == len(domains) - 1)
            panels[0, j].set_title(domain, loc="left")
            panels[1, j].set_xlabel("$d_z$")
        for i, label in enumerate(_LINES.values()):
            panels[i, 0].set_ylabel(label)
        draw_legend(figure, panels[0], most=2 * len(domains))


def _draw_panel(panel: Axes, rows: pd.DataFrame, metric: str, *, is_last: bool) -> None:
    draw_reference(panel, metric, named=is_last)
    # The bands of all methods would overlap.
    draw_methods(panel, rows, "d_z", metric, has_band=lambda method: method.startswith("acid"))
    panel.xaxis.set_major_locator(FixedLocator(sorted(rows["d_z"].unique())))
