"""Bars of AUC and seconds of the tests on Sachs."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from benchmarks.pictures.style import GREY, picture, style_of

_BAR = 0.36  # height; two of them fit between the names
_PANELS = {"auc": "AUC", "auc_adjacent": "AUC, adjacent against separated"}


def draw_sachs_ci(rows: pd.DataFrame, path: Path) -> None:
    """Draws bars for each method: AUC with intervals, and seconds a test.

    A method has a dark bar for all questions and a light one for the sample.

    Args:
        rows: One row for each (method, number of questions).
        path: The PNG.
    """
    methods = list(rows["method"].unique())
    counts = sorted(rows["questions"].unique(), reverse=True)
    with picture(path, 11.0, 1.6 + 0.5 * len(methods)) as figure:
        figure.suptitle(
            "Sachs, questions given three proteins; 95 % intervals over pairs",
            fontsize=13,
            fontweight="bold",
        )
        panels = figure.subplots(1, 3, sharey=True)
        for panel, (metric, title) in zip(panels, _PANELS.items(), strict=False):
            _draw_bars(panel, rows, methods, counts, metric)
            panel.axvline(0.5, color=GREY, linewidth=1.0)
            panel.set_xlim(0.0, 1.0)
            panel.set_title(title, loc="left")
        _draw_bars(panels[2], rows, methods, counts, "seconds_per_test")
        _mark_alone(panels[2], rows, methods, counts)
        panels[2].set_xscale("log")
        panels[2].set_title("seconds a test (| one at a time)", loc="left")
        panels[0].set_yticks(range(len(methods)), [style_of(method).label for method in methods])
        panels[0].invert_yaxis()
        handles = [
            Patch(color=GREY, alpha=_alpha(count, counts), label=f"{count} questions")
            for count in counts
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(counts))


def _draw_bars(
    panel: Axes, rows: pd.DataFrame, methods: list[str], counts: list[int], metric: str
) -> None:
    panel.grid(visible=False, axis="y")
    for row in rows.to_dict("records"):
        place = _place(row, methods, counts)
        color = style_of(row["method"]).color
        panel.barh(place, row[metric], _BAR, color=color, alpha=_alpha(row["questions"], counts))
        if f"{metric}_low" in row:
            ends = np.array(
                [[row[metric] - row[f"{metric}_low"]], [row[f"{metric}_high"] - row[metric]]]
            )
            panel.errorbar(
                row[metric], place, xerr=ends.clip(min=0), color="#333333", capsize=2.5, linewidth=1
            )


def _mark_alone(panel: Axes, rows: pd.DataFrame, methods: list[str], counts: list[int]) -> None:
    for row in rows[rows["seconds_alone"].notna()].to_dict("records"):
        place = _place(row, methods, counts)
        panel.plot(row["seconds_alone"], place, "|", color="#333333", markersize=11, mew=2)


def _place(row: dict[str, object], methods: list[str], counts: list[int]) -> float:
    """Returns the vertical position of a bar; those of a method are side by side."""
    shift = counts.index(row["questions"]) - (len(counts) - 1) / 2  # type: ignore[arg-type]
    return methods.index(str(row["method"])) + shift * (_BAR + 0.04)


def _alpha(count: int, counts: list[int]) -> float:
    return 1.0 if count == counts[0] else 0.45
