"""AUC and Type I error by the kinds of X, Y and Z."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.pictures.lines import legend_entries
from benchmarks.pictures.style import GREY, picture, style_of

_MEASURES = (("auc", "AUC"), ("type_1", "Type I error"))


def draw_mixed(rows: pd.DataFrame, level: float, path: Path) -> None:
    """Draws a mark for each method and each (kinds of X and Y, kinds of Z), a mean over cells.

    Args:
        rows: one for each (method, cell).
        level: of the tests.
        path: the PNG.
    """
    relations = list(dict.fromkeys(rows["relation"]))
    with picture(path, 5.4 * len(relations), 5.6) as figure:
        panels = figure.subplots(len(_MEASURES), len(relations), sharex=True, squeeze=False)
        for across, relation in enumerate(relations):
            for down, (name, shown) in enumerate(_MEASURES):
                panel = panels[down, across]
                _draw_marks(panel, rows[rows["relation"] == relation], name, rows)
                if name == "type_1":
                    panel.axhline(level, color=GREY, linewidth=1.0)
                panel.set_ylabel(shown)
            panels[0, across].set_title(relation)
        _add_legend(figure)


def draw_levels(rows: pd.DataFrame, column: str, level: float, path: Path) -> None:
    """Draws the same marks of Type I errors, a panel for each number of rows.

    Args:
        rows: one for each (method, cell).
        column: the Type I error.
        level: of the tests.
        path: the PNG.
    """
    sizes = sorted(rows["n"].unique())
    with picture(path, 4.4 * len(sizes), 3.8) as figure:
        panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
        for panel, n in zip(panels, sizes, strict=True):
            _draw_marks(panel, rows[rows["n"] == n], column, rows)
            panel.axhline(level, color=GREY, linewidth=1.0)
            panel.set_title(f"{n} rows")
        panels[0].set_ylabel(f"Type I error at {level:g}")
        _add_legend(figure)


def _draw_marks(panel: Axes, rows: pd.DataFrame, column: str, every: pd.DataFrame) -> None:
    """Draws the means of a column over cells, in the places that all rows of the picture give."""
    kinds = list(dict.fromkeys(zip(every["pair"], every["given"], strict=True)))
    methods = list(dict.fromkeys(every["method"]))
    for place, method in enumerate(methods):
        means = rows[rows["method"] == method].groupby(["pair", "given"])[column].mean()
        shift = 0.6 * ((place + 0.5) / len(methods) - 0.5)
        panel.plot(
            np.arange(len(kinds)) + shift,
            [means.get(kind, np.nan) for kind in kinds],
            **{**style_of(method).line, "linestyle": "none"},
            markersize=5,
        )
    labels = [f"{pair}\n| {given}" for pair, given in kinds]
    panel.set_xticks(range(len(kinds)), labels, rotation=60, fontsize=8)


def _add_legend(figure: Figure) -> None:
    entries = legend_entries(figure.axes)
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=len(entries))
