"""`consistency`: plain relations, each independent and dependent given Z, by the number of rows.

What a sceptical statistician tries first: with more rows a test must neither reject what is
independent nor lose what is dependent. One row for each (method, case, cell); the cases are those
of `benchmarks.data.plain_cases`.
"""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.data.plain_cases import CASES, draw_case
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.tables import aligned
from benchmarks.methods import get_method
from benchmarks.pictures.consistency import draw_consistency

SAMPLE_SIZES = (200, 1000, 4000, 20_000)
DIMENSIONS = (1, 2, 4)
DATASETS, FEW_DATASETS = 200, 60
# So many rows take seconds a question: fewer datasets.
LARGE = 10_000
QUICK_SAMPLE_SIZES, QUICK_DIMENSIONS, QUICK_DATASETS = (200, 1000), (1,), 20
FIRST_SEED = 10_000_000

# The model that keeps values, beside the default one.
PREVIEW = "acid:acid-values"
METHODS = ("acid", PREVIEW, "kcit", "rcit", "fisherz")
QUICK_METHODS = ("acid", "fisherz")
LARGEST_N = {"kcit": 400, "rcit": 4000}
LEVEL = 0.05
# Smaller p-values than doubles hold are written as this.
_LEAST = 1e-300


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists one job for each (n, d_z, case, method that is asked there)."""
    return [
        Job(
            "consistency",
            method,
            (("case", case), ("n", n), ("d_z", d_z), ("datasets", _datasets(n, quick))),
            FIRST_SEED,
        )
        for n in (QUICK_SAMPLE_SIZES if quick else SAMPLE_SIZES)
        for d_z in (QUICK_DIMENSIONS if quick else DIMENSIONS)
        for case in CASES
        for method in methods
        if get_method(method).reaches(n, d_z) and n <= LARGEST_N.get(method, n)
    ]


def _datasets(n: int, quick: bool) -> int:
    if quick:
        return QUICK_DATASETS
    return DATASETS if n < LARGE else FEW_DATASETS


def run(job: Job) -> Results:
    """Asks a method about the datasets of a case, of the one form and of the other."""
    method = get_method(job.method)
    case, n, d_z = str(job["case"]), job.number("n"), job.number("d_z")
    seeds = range(job.seed, job.seed + job.number("datasets"))
    pvalues = {}
    start = time.perf_counter()
    for dependent in (False, True):
        questions = [draw_case(case, n, d_z, dependent=dependent, seed=seed) for seed in seeds]
        pvalues[dependent] = np.asarray((method.in_batches or method.pvalues)(questions))
    seconds = (time.perf_counter() - start) / (2 * len(seeds))
    median = max(float(np.median(pvalues[True])), _LEAST)
    return {
        "type_1": float((pvalues[False] <= LEVEL).mean()),
        "power": float((pvalues[True] <= LEVEL).mean()),
        "log10_median_p": float(np.log10(median)),
        "seconds_per_test": seconds,
    }


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints rates by method and n, then each case that a method misses; draws them by n."""
    draw_consistency(rows, LEVEL, picture)
    header = ("method", "n", "cells", "Type I, mean", "worst", "above .08", "power", "least power")
    cells = []
    for (method, n), group in rows.groupby(["method", "n"], sort=False):
        worst = group.loc[group["type_1"].idxmax()]
        least = group.loc[group["power"].idxmin()]
        cells.append(
            (
                method,
                n,
                len(group),
                float(group["type_1"].mean()),
                f"{worst['type_1']:.2f} ({worst['case']}, d_z={worst['d_z']})",
                int((group["type_1"] > 0.08).sum()),
                float(group["power"].mean()),
                f"{least['power']:.2f} ({least['case']}, d_z={least['d_z']})",
            )
        )
    caption = f"Rejections at .05, {int(rows['datasets'].max())} datasets a case and form."
    return "\n".join([caption, "", aligned(header, cells)])


CONSISTENCY = Experiment(
    name="consistency",
    methods=METHODS,
    quick_methods=QUICK_METHODS,
    setting_columns=("case", "n", "d_z", "datasets"),
    result_columns=("type_1", "power", "log10_median_p", "seconds_per_test"),
    jobs=make_jobs,
    run=run,
    report=report,
    unit=("n", "d_z"),
)
