"""`nonlinearity`: models trained on the six data models with one kind of link, tested on another.

Each of the models `acid-mlp08` to `acid-mlp64` was trained on one kind of link: an MLP with 8, 16,
32 or 64 hidden units. They, `acid-base` and classical tests run on datasets with each kind of link.
Sizes are within those of training: n = 200, and d_z = 5, 10 and 20. The picture shows d_z = 10.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.harness.folds import (
    FOLDS,
    fold_jobs,
    notes_on,
    run,
    summarise,
)
from benchmarks.harness.jobs import Experiment, Job
from benchmarks.harness.tables import aligned
from benchmarks.metrics.ci_metrics import METRICS
from benchmarks.pictures.heat_maps import draw_heat_maps

MECHANISMS = ("mlp08", "mlp16", "mlp32", "mlp64")
N = 200
DIMENSIONS = (5, 10, 20)
MAIN_DIMENSION = 10  # shown in the picture, and printed in full

MODELS = tuple(f"acid:acid-{mechanism}" for mechanism in MECHANISMS)
METHODS = (*MODELS, "acid", "kcit", "fisherz")


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists one job for each (d_z, links, fold, method)."""
    settings = [
        (N, d_z, mechanism)
        for d_z in ((MAIN_DIMENSION,) if quick else DIMENSIONS)
        for mechanism in MECHANISMS
    ]
    return fold_jobs("nonlinearity", settings, methods, quick)


# ---- report --------------------------------------------------------------------


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints one dimension in full and the AUC of all; draws heat maps of the first."""
    summary = summarise(rows, "d_z", "mechanism")
    # Sort by method, so that the four rows of a model stand together.
    order = {method: k for k, method in enumerate(summary["method"].unique())}
    summary = summary.sort_values("method", key=lambda names: names.map(order), kind="stable")
    main = summary[summary["d_z"] == MAIN_DIMENSION]
    draw_heat_maps(main, f"Six data models, n = {N}, d_z = {MAIN_DIMENSION}", picture)
    cells = [
        (
            row["method"],
            row["mechanism"],
            *(f"{row[name]:.3f} ±{row[name + '_half']:.3f}" for name in METRICS),
            f"{row['seconds_per_test']:.2g}",
        )
        for row in main.to_dict("records")
    ]
    count = int(rows["datasets"].iloc[0])
    caption = (
        f"Six data models, n = {N}, d_z = {MAIN_DIMENSION}: mean and 95 % interval over {FOLDS} "
        f"folds of {count} datasets; level .05."
    )
    table = aligned(("method", "tested on", *METRICS, "s/test"), cells)
    parts = [caption, "", table, *notes_on(summary["method"])]
    if summary["d_z"].nunique() > 1:
        parts += ["", "AUC by d_z:", "", _auc_table(summary)]
    return "\n".join(parts)


def _auc_table(summary: pd.DataFrame) -> str:
    cells = []
    for (d_z, method), group in summary.groupby(["d_z", "method"], sort=False):
        auc = dict(zip(group["mechanism"], group["auc"], strict=True))
        cells.append((d_z, method, *(auc.get(mechanism) for mechanism in MECHANISMS)))
    cells.sort(key=lambda cell: int(cell[0]))
    return aligned(("d_z", "method", *MECHANISMS), cells)


NONLINEARITY = Experiment(
    name="nonlinearity",
    methods=METHODS,
    quick_methods=METHODS,
    setting_columns=("n", "d_z", "mechanism", "datasets", "fold"),
    result_columns=(*METRICS, "seconds_per_test"),
    jobs=make_jobs,
    run=run,
    report=report,
)
