"""Rates of rejection by the number of rows, a panel for each plain case."""

from pathlib import Path

import pandas as pd
from matplotlib.ticker import FixedLocator, NullLocator

from benchmarks.pictures.lines import legend_entries
from benchmarks.pictures.style import GREY, picture, style_of

_ACROSS = 7


def draw_consistency(rows: pd.DataFrame, level: float, path: Path) -> None:
    """Draws each case: hollow marks for independent data, full ones for dependent data.

    Args:
        rows: one for each (method, case, n, d_z), with `type_1` and `power`; averaged over d_z.
        level: of the tests.
        path: the PNG.
    """
    cases = list(dict.fromkeys(rows["case"]))
    down = -(-len(cases) // _ACROSS)
    with picture(path, 2.1 * _ACROSS, 1.75 * down + 0.6) as figure:
        panels = figure.subplots(down, _ACROSS, sharex=True, sharey=True, squeeze=False).flat
        for panel, case in zip(panels, cases, strict=False):
            panel.axhline(level, color=GREY, linewidth=1.0)
            panel.set_title(case, fontsize=9)
            panel.set(xscale="log", ylim=(-0.04, 1.04))
            of_case = rows[rows["case"] == case]
            for method, of_method in of_case.groupby("method", sort=False):
                style = style_of(str(method))
                rates = of_method.groupby("n")[["power", "type_1"]].mean()
                for rate, face, label in (
                    ("power", style.color, style.label),
                    ("type_1", "white", None),
                ):
                    panel.plot(
                        rates.index,
                        rates[rate],
                        **{**style.line, "label": label},
                        markersize=4,
                        linewidth=1.5,
                        markerfacecolor=face,
                    )
        sizes = sorted(rows["n"].unique())
        for panel in figure.axes[-_ACROSS:]:
            panel.set_xlabel("rows", fontsize=9)
            panel.xaxis.set_major_locator(FixedLocator(sizes))
            panel.xaxis.set_minor_locator(NullLocator())
            panel.set_xticklabels([str(int(size)) for size in sizes])
        for panel in figure.axes[len(cases) :]:
            panel.set_axis_off()
        entries = legend_entries(figure.axes)
        figure.legend(
            entries.values(), entries.keys(), loc="outside lower center", ncols=len(entries)
        )
        figure.supylabel("rejected at .05: dependent (full), independent (hollow)", fontsize=10)
