"""Seconds and memory against sample size and number of variables."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from benchmarks.pictures.lines import draw_legend
from benchmarks.pictures.style import picture, style_of

# Smaller values are drawn here, as a logarithmic axis has no 0.
_FOOT = {"seconds_per_test": 1e-5, "search_seconds": 1e-3, "peak_mib": 0.1}


def draw_speed(rows: pd.DataFrame, path: Path) -> None:
    """Draws one test and one run of PC, on the CPU, in four panels.

    Args:
        rows: One row for each job of `speed`.
        path: The PNG.
    """
    rows = rows[(rows["device"] == "cpu") & (rows["mode"] == "default")]
    tests, runs = (rows[rows["task"] == task] for task in ("test", "pc"))
    usual = tests["size"].mode()[0]  # the |Z| and the d with the most sample sizes
    by_n = tests[tests["size"] == usual]
    smallest = runs["size"].min()
    by_rows = runs[runs["size"] == smallest]
    at = runs.loc[runs["size"] != smallest, "n"].iloc[0]
    by_d = runs[runs["n"] == at].sort_values("size", kind="stable")
    with picture(path, 9.5, 7.5) as figure:
        figure.suptitle("What a test and a graph cost, one thread", fontsize=13, fontweight="bold")
        panels = figure.subplots(2, 2)
        _draw(panels[0, 0], by_n, "n", "seconds_per_test", f"Seconds a test, |Z| = {usual}")
        _draw(panels[0, 1], by_n, "n", "peak_mib", f"MiB beyond the data, |Z| = {usual}")
        _draw(panels[1, 0], by_rows, "n", "search_seconds", f"Seconds of PC, {smallest} variables")
        _draw(panels[1, 1], by_d, "size", "search_seconds", f"Seconds of PC, n = {at}")
        ticks = sorted(by_d["size"].unique())
        panels[1, 1].set_xlabel("variables (hollow: from a sample of the questions)")
        panels[1, 1].xaxis.set_major_locator(FixedLocator(ticks))
        panels[1, 1].xaxis.set_minor_locator(NullLocator())
        panels[1, 1].set_xticklabels([str(tick) for tick in ticks])
        for panel in (*panels[0], panels[1, 0]):
            panel.set_xlabel("sample size n")
        draw_legend(figure, [panels[0, 0]], most=5)


def _draw(panel: Axes, rows: pd.DataFrame, axis: str, column: str, title: str) -> None:
    rows = rows[rows[column].notna()]
    for method, of_method in rows.groupby("method", sort=False):
        style = style_of(str(method))
        values = of_method[column].to_numpy(dtype=float).clip(min=_FOOT[column])
        where = of_method[axis].to_numpy(dtype=float)
        panel.plot(where, values, **style.line, markersize=5, linewidth=1.8)
        sampled = of_method["sampled"].notna().to_numpy()
        panel.plot(
            where[sampled],
            values[sampled],
            style.marker,
            color=style.color,
            markersize=5,
            markerfacecolor="white",
        )
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_title(title, loc="left")
