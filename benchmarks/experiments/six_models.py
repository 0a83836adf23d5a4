"""`sample-size` and `dimensionality`: the paper's six data models, 200 datasets a setting.

Links are MLP-16. The datasets come in five folds of 40, one row each; see
`benchmarks.harness.folds`.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from benchmarks.harness.folds import FOLDS, MECHANISM, fold_jobs, notes_on, run, summarise
from benchmarks.harness.jobs import Experiment, Job
from benchmarks.harness.tables import aligned
from benchmarks.methods.andrey import TESTS
from benchmarks.metrics.ci_metrics import METRICS
from benchmarks.pictures.curves import draw_metrics

Setting = tuple[int, int]  # (n, d_z)

SAMPLE_SIZES: tuple[Setting, ...] = tuple((n, 10) for n in (5, 10, 20, 50, 100, 200, 300, 500))
DIMENSIONS: tuple[Setting, ...] = tuple((300, d_z) for d_z in (3, 5, 10, 20, 50, 100))
QUICK_SAMPLE_SIZES: tuple[Setting, ...] = tuple((n, 10) for n in (20, 100, 300))
QUICK_DIMENSIONS: tuple[Setting, ...] = tuple((300, d_z) for d_z in (3, 10, 50))

METHODS = (
    *("acid", "kcit", "rcit", "fisherz", "fastkci", "scit", "scit-two-sided", "lcit", "gcm"),
    *TESTS,
)
QUICK_METHODS = ("acid", "kcit", "rcit", "fisherz")


def make_jobs(
    name: str,
    full: Sequence[Setting],
    reduced: Sequence[Setting],
    methods: Sequence[str],
    quick: bool,
) -> list[Job]:
    """Lists the jobs of a range of settings."""
    settings = reduced if quick else full
    return fold_jobs(name, [(n, d_z, MECHANISM) for n, d_z in settings], methods, quick)


# ---- report --------------------------------------------------------------------


def report(axis: str, title: str, rows: pd.DataFrame, picture: Path) -> str:
    """Prints means with intervals over folds, and draws them."""
    summary = summarise(rows, axis)
    draw_metrics(summary, axis, title, picture)
    header = (axis, "method", *METRICS, "s/test")
    cells = [
        (
            row[axis],
            row["method"],
            *(f"{row[name]:.3f} ±{row[name + '_half']:.3f}" for name in METRICS),
            f"{row['seconds_per_test']:.2g}",
        )
        for row in summary.to_dict("records")
    ]
    count = int(rows["datasets"].iloc[0])
    caption = (
        f"{title}: mean and 95 % interval over {FOLDS} folds of {count} datasets; level .05; "
        "F1 with dependence, then independence, as the positive class."
    )
    return "\n".join([caption, "", aligned(header, cells), *notes_on(summary["method"])])


def _experiment(
    name: str, axis: str, title: str, full: Sequence[Setting], reduced: Sequence[Setting]
) -> Experiment:
    return Experiment(
        name=name,
        methods=METHODS,
        quick_methods=QUICK_METHODS,
        setting_columns=("n", "d_z", "mechanism", "datasets", "fold"),
        result_columns=(*METRICS, "seconds_per_test"),
        jobs=partial(make_jobs, name, full, reduced),
        run=run,
        report=partial(report, axis, title),
    )


SAMPLE_SIZE = _experiment(
    "sample-size",
    "n",
    "Six data models, d_z = 10, MLP-16",
    SAMPLE_SIZES,
    QUICK_SAMPLE_SIZES,
)
DIMENSIONALITY = _experiment(
    "dimensionality",
    "d_z",
    "Six data models, n = 300, MLP-16",
    DIMENSIONS,
    QUICK_DIMENSIONS,
)
