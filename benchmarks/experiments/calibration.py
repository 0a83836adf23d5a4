"""`calibration`: are p-values uniform when H0 is true?

All datasets are independent, 1000 for each cell (n, d_z), 400 with 500 rows or more. They come
from `acid_causal.synthetic.NULL_STREAMS`. There is one row for each (method, stream, cell). Where
there are categories, the tests of mixed tables are asked, and causal-learn's chi-square and
G-square where there is nothing else.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from acid_causal.synthetic import LabelledDatasets
from benchmarks.harness.folds import as_questions
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.tables import aligned
from benchmarks.methods import AS_IN_THE_PAPER, CHECKED, FAST, PERMUTATION, get_method
from benchmarks.methods.andrey import MIXED_TESTS
from benchmarks.methods.mixed import ALL_CATEGORICAL, mixed_method, questions_of
from benchmarks.pictures.quantiles import draw_quantiles

# The training stream, its hardest part (strong common causes), three mechanisms that `acid-ranks`
# never saw, continuous and discrete columns, X and Y of two or three values, heavy-tailed noise,
# and the paper's data models.
NUMERIC = (
    *("training", "hard", "steps", "gp", "switching"),
    *("mixed", "few-values", "heavy-tails", "six-models"),
)
# Unordered categories among numbers, and alone.
ALL_CATEGORIES = "all-categories"
WITH_CATEGORIES = ("some-categories", ALL_CATEGORIES)
STREAMS = (*NUMERIC, *WITH_CATEGORIES)
SAMPLE_SIZES = (50, 100, 200, 500, 1000, 2000)
DIMENSIONS = (0, 1, 2, 3, 5, 10, 20)
# With many rows a question takes longer, so there are fewer datasets.
DATASETS, FEW_DATASETS = 1000, 400
LARGE = 500
QUICK_SAMPLE_SIZES = (100, 300)
QUICK_DIMENSIONS = (0, 1, 3, 10)
QUICK_DATASETS = 200
FIRST_SEED = 8_000_000

# AS_IN_THE_PAPER was trained on the six data models alone, and is tested on these alone.
METHODS = (
    "acid",
    FAST,
    AS_IN_THE_PAPER,
    PERMUTATION,
    CHECKED,
    "kcit",
    "rcit",
    "fisherz",
    *MIXED_TESTS,
    *ALL_CATEGORICAL,
)
QUICK_METHODS = ("acid", "rcit", "fisherz")
# The other methods run up to these n, which takes an hour on one core.
LARGEST_N = {"kcit": 100, "rcit": 200, "fisherz": 200, AS_IN_THE_PAPER: 1000}
# A permutation null costs as much as 200 tests, so it runs in three cells only; the checked null
# costs ten, and runs with one number of rows, as does the fast model.
PERMUTATION_SETTING = (100, 3)
PERMUTATION_STREAMS = ("training", "hard", "steps")
CHECKED_N, CHECKED_DIMENSIONS = 200, (1, 3, 10)

LEVELS = {"type_1_at_01": 0.01, "type_1_at_05": 0.05, "type_1_at_10": 0.1}
# A row stores the quantiles of its p-values at these probabilities, for the QQ plot.
PROBABILITIES = (0.002, 0.005, 0.01, 0.02, 0.05, *(round(0.1 * k, 1) for k in range(1, 10)), 0.95)


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists one job for each (stream, cell, method), if the method can run and is fast enough."""
    cells = [
        (stream, n, d_z)
        for n in (QUICK_SAMPLE_SIZES if quick else SAMPLE_SIZES)
        for stream in STREAMS
        for d_z in (QUICK_DIMENSIONS if quick else DIMENSIONS)
    ]
    return [
        Job(
            "calibration",
            method,
            (
                ("stream", stream),
                ("n", n),
                ("d_z", d_z),
                ("datasets", _datasets(n, quick)),
            ),
            FIRST_SEED,
        )
        for stream, n, d_z in cells
        for method in methods
        if _is_asked(method, stream, n, d_z)
    ]


def _datasets(n: int, quick: bool) -> int:
    if quick:
        return QUICK_DATASETS
    return DATASETS if n < LARGE else FEW_DATASETS


def _is_asked(method: str, stream: str, n: int, d_z: int) -> bool:
    """Says whether a method can answer a cell, and is fast enough there."""
    if method in ALL_CATEGORICAL:
        return stream == ALL_CATEGORIES
    if method in MIXED_TESTS:
        return stream in WITH_CATEGORIES
    if method.partition(":")[0] == CHECKED:
        return n == CHECKED_N and d_z in CHECKED_DIMENSIONS
    if method == FAST and n != CHECKED_N:
        return False
    if stream in WITH_CATEGORIES:
        return method.partition(":")[0] == "acid" and method != AS_IN_THE_PAPER
    return get_method(method).reaches(n, d_z) and _affordable(method, stream, n, d_z)


def _affordable(method: str, stream: str, n: int, d_z: int) -> bool:
    if method.partition(":")[0] == PERMUTATION:
        return stream in PERMUTATION_STREAMS and (n, d_z) == PERMUTATION_SETTING
    if method == AS_IN_THE_PAPER and stream != "six-models":
        return False
    return n <= LARGEST_N.get(method, n)


def run(job: Job) -> Results:
    """Computes a method's p-values on the independent datasets of one cell."""
    from acid_causal.synthetic import null_datasets

    drawn = null_datasets(
        str(job["stream"]), job.number("datasets"), job.number("n"), job.number("d_z"), job.seed
    )
    pvalues, seconds = ask(job.method, drawn)
    quantiles = np.quantile(pvalues, PROBABILITIES)
    return {
        **errors_of(pvalues),
        "ks_distance": float(stats.kstest(pvalues, "uniform").statistic),
        "quantiles": " ".join(f"{quantile:.5g}" for quantile in quantiles),
        "seconds_per_test": seconds,
    }


def ask(name: str, drawn: LabelledDatasets) -> tuple[NDArray[np.float64], float]:
    """Asks a test about datasets.

    Args:
        name: of the test; where the datasets have categories, of one of mixed tables.
        drawn: the datasets.

    Returns:
        The p-values, and the seconds a question.
    """
    if drawn.categorical is None:
        method = get_method(name)
        questions = as_questions(drawn.x, drawn.y, drawn.z)
        return _timed(method.in_batches or method.pvalues, questions)
    answer = mixed_method(name)
    return _timed(
        lambda asked: [answer(table, codes) for table, codes in asked], questions_of(drawn)
    )


def errors_of(pvalues: NDArray[np.float64]) -> dict[str, float]:
    """Returns the Type I error at each level, by its column."""
    return {name: float((pvalues < level).mean()) for name, level in LEVELS.items()}


def _timed(
    answer: Callable[[list[Any]], Sequence[float]], questions: list[Any]
) -> tuple[NDArray[np.float64], float]:
    """Asks questions; returns their p-values and the seconds a question."""
    answer(questions[:1])  # imports and weights are not timed
    start = time.perf_counter()
    pvalues = np.asarray(answer(questions))
    return pvalues, (time.perf_counter() - start) / len(questions)


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints means and worst cells of each stream and method, then by n; draws the QQ plot."""
    draw_quantiles(rows, PROBABILITIES, picture)
    header = ("stream", "method", "n", "cells", *LEVELS, "worst at .05", "KS distance", "s/test")
    cells = []
    for (stream, method), group in rows.groupby(["stream", "method"], sort=False):
        worst = group.loc[group["type_1_at_05"].idxmax()]
        cells.append(
            (
                stream,
                method,
                _range(group["n"]),
                len(group),
                *(float(group[name].mean()) for name in LEVELS),
                f"{worst['type_1_at_05']:.3f} (n={worst['n']}, d_z={worst['d_z']})",
                float(group["ks_distance"].mean()),
                f"{group['seconds_per_test'].mean():.2g}",
            )
        )
    caption = f"H0 only, {datasets_of(rows)} a cell; means over cells (n x d_z)."
    by_n = "Type I error at .05 by n: mean [worst] over d_z up to 10:"
    return "\n".join([caption, "", aligned(header, cells), "", by_n, "", _by_n(rows)])


def datasets_of(rows: pd.DataFrame) -> str:
    """Says how many datasets the cells have."""
    count = rows.groupby("datasets", sort=False)["n"].agg(_range)
    if len(count) == 1:
        return f"{count.index[0]} datasets"
    return ", ".join(f"{datasets} (n = {n})" for datasets, n in count.items()) + " datasets"


def _by_n(rows: pd.DataFrame) -> str:
    rows = rows[rows["d_z"] <= 10]
    sizes = sorted(rows["n"].unique())
    cells = []
    for (stream, method), group in rows.groupby(["stream", "method"], sort=False):
        error = group.groupby("n")["type_1_at_05"].agg(["mean", "max"])
        of_n = {n: f"{row['mean']:.3f} [{row['max']:.3f}]" for n, row in error.iterrows()}
        cells.append((stream, method, *(of_n.get(n) for n in sizes)))
    return aligned(("stream", "method", *map(str, sizes)), cells)


def _range(values: "pd.Series[int]") -> str:
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low}-{high}"


CALIBRATION = Experiment(
    name="calibration",
    methods=METHODS,
    quick_methods=QUICK_METHODS,
    setting_columns=("stream", "n", "d_z", "datasets"),
    result_columns=(*LEVELS, "ks_distance", "quantiles", "seconds_per_test"),
    jobs=make_jobs,
    run=run,
    report=report,
    unit=("stream", "n"),
)
