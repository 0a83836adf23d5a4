"""`mixed-calibration`: does the level hold for each combination of numbers and categories?

X and Y are independent given Z in all datasets; they come from
`acid_causal.synthetic.null_datasets_of_kinds`. There is one row for each (method, cell).
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from acid_causal.synthetic import KINDS_OF_PAIRS, KINDS_OF_Z, null_datasets_of_kinds
from benchmarks.experiments.calibration import LEVELS, ask, errors_of
from benchmarks.experiments.mixed.questions import ALL, in_order
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.tables import aligned
from benchmarks.methods.andrey import MIXED_TESTS
from benchmarks.methods.mixed import ALL_CATEGORICAL
from benchmarks.pictures.mixed import draw_levels

SAMPLE_SIZES, DIMENSIONS, DATASETS = (200, 500, 2000), (1, 2, 5), 1000
QUICK_SAMPLE_SIZES, QUICK_DIMENSIONS, QUICK_DATASETS = (100,), (2,), 20
FIRST_SEED = 12_000_000

METHODS = ("acid", *MIXED_TESTS, *ALL_CATEGORICAL)


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists one job for each (pair, given, n, d_z, method) that the method can answer."""
    return [
        Job(
            "mixed-calibration",
            method,
            (
                ("pair", pair),
                ("given", given),
                ("n", n),
                ("d_z", d_z),
                ("datasets", QUICK_DATASETS if quick else DATASETS),
            ),
            FIRST_SEED,
        )
        for n in (QUICK_SAMPLE_SIZES if quick else SAMPLE_SIZES)
        for d_z in (QUICK_DIMENSIONS if quick else DIMENSIONS)
        for pair in KINDS_OF_PAIRS
        for given in KINDS_OF_Z
        for method in methods
        if (given != "mixed" or d_z > 1) and (method not in ALL_CATEGORICAL or (pair, given) == ALL)
    ]


def run(job: Job) -> Results:
    """Computes the Type I error of a method in a cell."""
    drawn = null_datasets_of_kinds(
        str(job["pair"]),
        str(job["given"]),
        job.number("datasets"),
        job.number("n"),
        job.number("d_z"),
        job.seed,
    )
    pvalues, seconds = ask(job.method, drawn)
    return {**errors_of(pvalues), "seconds_per_test": seconds}


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints the Type I error by kinds and number of rows, and draws it."""
    rows = in_order(rows)
    draw_levels(rows, "type_1_at_05", LEVELS["type_1_at_05"], picture)
    sizes = sorted(rows["n"].unique())
    header = ("X and Y", "Z", "method", *(f"n = {n}" for n in sizes), "at .01", "ms a test")
    cells = []
    for key, group in rows.groupby(["pair", "given", "method"], sort=False):
        error = group.groupby("n")["type_1_at_05"].agg(["mean", "min", "max"])
        of_n = {
            n: f"{row['mean']:.3f} [{row['min']:.3f}, {row['max']:.3f}]"
            for n, row in error.iterrows()
        }
        cells.append(
            (
                *key,
                *(of_n.get(n) for n in sizes),
                float(group["type_1_at_01"].mean()),
                float(1000 * group["seconds_per_test"].mean()),
            )
        )
    caption = (
        f"Type I error at .05 by n: mean [least, largest] over |Z| of "
        f"{', '.join(map(str, sorted(rows['d_z'].unique())))}; at .01: mean over all.\n"
        f"{int(rows['datasets'].max())} independent datasets a cell."
    )
    return "\n".join([caption, "", aligned(header, cells)])


MIXED_CALIBRATION = Experiment(
    name="mixed-calibration",
    methods=METHODS,
    quick_methods=METHODS,
    setting_columns=("pair", "given", "n", "d_z", "datasets"),
    result_columns=(*LEVELS, "seconds_per_test"),
    jobs=make_jobs,
    run=run,
    report=report,
    unit=("n",),
)
