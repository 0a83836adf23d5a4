"""The mean SHD of each rule of orientation, a panel for each kind of relation."""

from pathlib import Path

import pandas as pd

from benchmarks.pictures.lines import draw_legend
from benchmarks.pictures.style import GREY, picture, style_of


def draw_orientation(means: pd.DataFrame, path: Path) -> None:
    """Draws a point for each rule and method; a grey tick is what no rule can mend.

    Args:
        means: by (method, kind of relation), the SHD of each rule; the last column, "skeleton", is
            that of the adjacencies alone.
        path: The PNG.
    """
    kinds = means.index.unique(level=1)
    with picture(path, 5.0 * len(kinds), 5.2) as figure:
        panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
        for panel, kind in zip(panels, kinds, strict=True):
            for method, row in means.xs(kind, level=1).iterrows():
                style = style_of(str(method))
                rules = list(row.index[:-1])
                line = {**style.line, "linestyle": "none"}
                panel.plot(row.iloc[:-1], rules, **line)
                panel.axvline(row.iloc[-1], color=style.color, linewidth=1.0, linestyle=":")
            panel.set_title(f"{kind} relations", loc="left")
            panel.set_xlabel("CPDAG-SHD; dotted: wrong adjacencies alone")
            panel.spines["left"].set_color(GREY)
        panels[0].invert_yaxis()
        draw_legend(figure, list(panels), most=3)
