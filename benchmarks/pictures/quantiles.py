"""QQ plots of p-values under H0 against the uniform distribution."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchmarks.pictures.lines import draw_legend
from benchmarks.pictures.style import GREY, picture, style_of

_FLOOR = 1e-4  # where a p-value of 0 is drawn
_COLUMNS = 4


def draw_quantiles(rows: pd.DataFrame, probabilities: Sequence[float], path: Path) -> None:
    """Draws one panel for each stream: a line for each method, with a band for 80 % of its cells.

    Both axes are logarithmic, as decisions depend on small p-values. A line above the
    diagonal is conservative; one below it rejects true hypotheses too often.

    Args:
        rows: One row for each (method, stream, cell), with quantiles of its p-values as text.
        probabilities: The probabilities of the quantiles.
        path: The PNG.
    """
    streams = list(rows["stream"].unique())
    expected = np.asarray(probabilities)
    columns = min(len(streams), _COLUMNS)
    lines = math.ceil(len(streams) / columns)
    with picture(path, 3.1 * columns + 0.6, 3.1 * lines + 1.2) as figure:
        # Over few panels the title takes two lines.
        between = "\n" if len(streams) < 3 else ": "
        title = f"p-values under H0 against uniform{between}median cell and 80 % of the cells"
        figure.suptitle(title, fontsize=13, fontweight="bold")
        grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
        panels = grid.flat[: len(streams)]
        for number, (panel, stream) in enumerate(zip(panels, streams, strict=True)):
            _draw_panel(panel, rows[rows["stream"] == stream], expected)
            panel.set_title(stream, loc="left")
            if number + columns >= len(streams):  # the lowest of its column
                panel.tick_params(labelbottom=True)
                panel.set_xlabel("expected p-value")
        for unused in grid.flat[len(streams) :]:
            unused.set_visible(False)
        for first in grid[:, 0]:
            first.set_ylabel("observed p-value")
        draw_legend(figure, panels, most=4)


def _draw_panel(panel: Axes, rows: pd.DataFrame, expected: np.ndarray) -> None:
    panel.plot(expected, expected, color=GREY, linewidth=1.0, label="uniform")
    for method, cells in rows.groupby("method", sort=False):
        style = style_of(str(method))
        observed = np.array([[float(q) for q in text.split()] for text in cells["quantiles"]])
        observed = np.clip(observed, _FLOOR, 1.0)
        low, high = np.percentile(observed, (10, 90), axis=0)
        panel.fill_between(expected, low, high, color=style.color, alpha=0.13, linewidth=0)
        panel.plot(
            expected, np.median(observed, axis=0), **style.line, markersize=3.5, linewidth=1.6
        )
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_ylim(_FLOOR * 0.8, 1.15)
