"""`consistency`: Type I error and power on plain relations, by the number of rows.

With more rows a test must keep its level and gain power. Each case of
`benchmarks.data.plain_cases` is drawn with X and Y independent given Z, and dependent. There is one
row for each (method, case, cell).
"""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.data.plain_cases import CASES, draw_case
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.tables import aligned
from benchmarks.methods import CHECKED, FAST, get_method
from benchmarks.pictures.consistency import draw_consistency

SAMPLE_SIZES = (200, 1000, 4000, 20_000)
DIMENSIONS = (1, 2, 4)
DATASETS, FEW_DATASETS = 200, 60
# With so many rows a question takes seconds, so there are fewer datasets.
LARGE = 10_000
QUICK_SAMPLE_SIZES, QUICK_DIMENSIONS, QUICK_DATASETS = (200, 1000), (1,), 20
FIRST_SEED = 10_000_000

METHODS = ("acid", FAST, CHECKED, "kcit", "rcit", "andrey-rcot", "fisherz")
QUICK_METHODS = ("acid", "fisherz")
LARGEST_N = {FAST: 1000, CHECKED: 200, "kcit": 400, "rcit": 4000, "andrey-rcot": 4000}
LEVEL = 0.05
# Smaller p-values count as this one: they underflow, and the logarithm of 0 is infinite.
_LEAST = 1e-300


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists one job for each (n, d_z, case, method), if the method can run and is fast enough."""
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
    """Computes a method's rates of rejection on the datasets of a case."""
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
    """Prints rates of rejection and worst cases by method and n, and draws all cases."""
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
    count = int(rows["datasets"].max())
    caption = f"Level .05; {count} independent and {count} dependent datasets a cell."
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
