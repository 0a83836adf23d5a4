"""AUC and loss against training steps."""

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from benchmarks.pictures.style import BLUE, GREY, VERMILION, picture

_HEADS = {"paper-head": ("the paper's head", VERMILION, "s"), "our-head": ("our head", BLUE, "o")}
_DASHES = ("-", (0, (5, 1.5)), (0, (1, 1.2)))


def draw_training(rows: pd.DataFrame, sample_sizes: Sequence[int], path: Path) -> None:
    """Draws AUC on the left, a line for each (head, n), and loss on the right; means over seeds.

    Args:
        rows: One row for each (method, step, seed), with "auc_nN" for each N of the sample sizes,
            "loss" and "training_loss".
        sample_sizes: At most three.
        path: The PNG.
    """
    with picture(path, 11.0, 5.0) as figure:
        title = "Training on the six data models, MLP-16"
        figure.suptitle(title, fontsize=13, fontweight="bold")
        left, right = figure.subplots(1, 2, sharex=True)
        _draw(left, rows, {f"auc_n{n}": f"n = {n}" for n in sample_sizes})
        _draw(right, rows, {"loss": "fixed datasets", "training_loss": "training"})
        left.set_title("AUC", loc="left")
        right.set_title("loss (nats)", loc="left")
        left.axhline(0.5, color=GREY, linewidth=1.0)  # chance
        right.axhline(math.log(2), color=GREY, linewidth=1.0)
        steps = sorted(rows["step"].unique())
        left.set_xscale("log")
        left.xaxis.set_major_locator(FixedLocator(steps))
        left.xaxis.set_minor_locator(NullLocator())
        left.set_xticklabels([f"{step:,}" for step in steps])
        for panel in (left, right):
            panel.set_xlabel("steps")
            panel.legend(
                loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, fontsize=9, handlelength=4
            )


def _draw(panel: Axes, rows: pd.DataFrame, columns: dict[str, str]) -> None:
    for method, group in rows.groupby("method", sort=False):
        label, color, marker = _HEADS[str(method)]
        means = group.groupby("step")[list(columns)].mean()
        for (column, name), dashes in zip(columns.items(), _DASHES, strict=False):
            panel.plot(
                means.index,
                means[column],
                color=color,
                linestyle=dashes,
                marker=marker,
                markersize=4.5,
                linewidth=1.7,
                label=f"{label}, {name}",
            )
