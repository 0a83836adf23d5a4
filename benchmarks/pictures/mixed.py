"""AUC and Type I error by the kinds of X, Y and Z, a panel for each relation."""

from pathlib import Path

import numpy as np
import pandas as pd

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
    kinds = list(dict.fromkeys(zip(rows["pair"], rows["given"], strict=True)))
    methods = list(dict.fromkeys(rows["method"]))
    with picture(path, 5.4 * len(relations), 5.6) as figure:
        panels = figure.subplots(len(_MEASURES), len(relations), sharex=True, squeeze=False)
        for across, relation in enumerate(relations):
            of_relation = rows[rows["relation"] == relation]
            for down, (name, shown) in enumerate(_MEASURES):
                panel = panels[down, across]
                for place, method in enumerate(methods):
                    means = (
                        of_relation[of_relation["method"] == method]
                        .groupby(["pair", "given"])[name]
                        .mean()
                    )
                    shift = 0.6 * ((place + 0.5) / len(methods) - 0.5)
                    style = style_of(method)
                    panel.plot(
                        np.arange(len(kinds)) + shift,
                        [means.get(kind, np.nan) for kind in kinds],
                        **{**style.line, "linestyle": "none"},
                        markersize=5,
                    )
                if name == "type_1":
                    panel.axhline(level, color=GREY, linewidth=1.0)
                panel.set_ylabel(shown)
            panels[0, across].set_title(relation)
            panels[-1, across].set_xticks(
                range(len(kinds)),
                [f"{pair}\n| {given}" for pair, given in kinds],
                rotation=60,
                fontsize=8,
            )
        entries = legend_entries(figure.axes)
        figure.legend(
            entries.values(), entries.keys(), loc="outside lower center", ncols=len(entries)
        )
