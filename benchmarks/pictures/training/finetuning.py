"""Metrics before and after fine-tuning, joined by a line."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from benchmarks.pictures.style import BLUE, GREY, ORANGE, picture

_PANELS = {"auc": "AUC", "type_1": "Type I error at .05", "type_2": "Type II error at .05"}


def draw_finetuning(summary: pd.DataFrame, path: Path) -> None:
    """Draws one panel for each metric, with a line for each table and kind of questions.

    Args:
        summary: One row for each (table, questions, method, steps) with the metrics.
        path: The PNG.
    """
    lines = [
        (f"{names[0]}: {names[1]} ({names[2]})", group)
        for names, group in summary.groupby(["table", "questions", "model"], sort=False)
    ]
    with picture(path, 11.0, 1.6 + 0.32 * len(lines)) as figure:
        title = "Fine-tuning without labels: before (open) and after (filled)"
        figure.suptitle(title, fontsize=13, fontweight="bold")
        panels = figure.subplots(1, len(_PANELS), sharey=True)
        for panel, (metric, name) in zip(panels, _PANELS.items(), strict=True):
            _draw_panel(panel, lines, metric)
            panel.set_title(name, loc="left")
        panels[1].axvline(0.05, color=GREY, linewidth=1.0)
        panels[0].set_yticks(range(len(lines)), [label for label, _ in lines])
        panels[0].invert_yaxis()


def _draw_panel(panel: Axes, lines: list[tuple[str, pd.DataFrame]], metric: str) -> None:
    for place, (_, group) in enumerate(lines):
        ordered = group.sort_values("steps")
        before, after = float(ordered[metric].iloc[0]), float(ordered[metric].iloc[-1])
        about_table = ordered["questions"].iloc[0] == "table"
        color = ORANGE if about_table else BLUE
        panel.plot([before, after], [place, place], color=color, linewidth=1.6)
        panel.plot([before], [place], "o", color=color, markerfacecolor="white", markersize=6)
        panel.plot([after], [place], "o", color=color, markersize=6)
