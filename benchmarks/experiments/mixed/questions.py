"""`mixed`: single questions about tables of numbers and categories.

The mechanisms are those of `benchmarks.data.mixed_questions`. There is one row for each (method,
cell); half of a cell's datasets are dependent. Where X, Y and Z are all categories, causal-learn's
chi-square and G-square tests are asked, too.
"""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from acid_causal.synthetic import KINDS_OF_PAIRS, KINDS_OF_Z
from benchmarks.data.mixed_model import RELATIONS
from benchmarks.data.mixed_questions import draw_question
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.tables import aligned
from benchmarks.methods.andrey import MIXED_TESTS
from benchmarks.methods.mixed import ALL_CATEGORICAL, mixed_method
from benchmarks.metrics.ci_metrics import metrics_of
from benchmarks.pictures.mixed import draw_mixed

SAMPLE_SIZES, DIMENSIONS, DATASETS = (500, 2000), (1, 2, 4), 200
QUICK_SAMPLE_SIZES, QUICK_DIMENSIONS, QUICK_DATASETS = (300,), (2,), 20
FIRST_SEED = 11_000_000
LEVEL = 0.05

METHODS = (
    "acid",
    "acid:acid-ranks",
    *MIXED_TESTS,
    "pillai",
    "cmiknn-mixed",
    *ALL_CATEGORICAL,
)
QUICK_METHODS = ("acid", *MIXED_TESTS, *ALL_CATEGORICAL)
ALL = ("category-category", "categorical")
# Pillai's trace takes a second a question, as it grows two forests; CMIknnMixed permutes the rows,
# which takes seven at n = 500. So the latter gets the first datasets of the cells of one |Z|.
SLOW, SLOWEST = "pillai", "cmiknn-mixed"
SLOW_N = 500
SAMPLED_D_Z, SAMPLED_DATASETS = 2, 20
SAMPLED_NOTE = f"{SLOWEST}: n = {SLOW_N}, |Z| = {SAMPLED_D_Z}, {SAMPLED_DATASETS} datasets a cell."


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists one job for each (relation, pair, given, n, d_z, method) that the method can answer."""
    return [
        Job(
            "mixed",
            method,
            (
                ("relation", relation),
                ("pair", pair),
                ("given", given),
                ("n", n),
                ("d_z", d_z),
                ("datasets", _datasets(method, quick)),
            ),
            FIRST_SEED,
        )
        for n in (QUICK_SAMPLE_SIZES if quick else SAMPLE_SIZES)
        for d_z in (QUICK_DIMENSIONS if quick else DIMENSIONS)
        for relation in RELATIONS
        for pair in KINDS_OF_PAIRS
        for given in KINDS_OF_Z
        for method in methods
        if _is_cell(relation, pair, given, d_z) and _can_answer(method, pair, given, n, d_z)
    ]


def _datasets(method: str, quick: bool) -> int:
    usual = QUICK_DATASETS if quick else DATASETS
    return min(usual, SAMPLED_DATASETS) if method == SLOWEST else usual


def _is_cell(relation: str, pair: str, given: str, d_z: int) -> bool:
    """Says whether there are such questions; those of categories alone have one relation."""
    nothing_linear = relation == "linear" and (pair, given) == ALL
    return (given != "mixed" or d_z > 1) and not nothing_linear


def _can_answer(method: str, pair: str, given: str, n: int, d_z: int) -> bool:
    if method in ALL_CATEGORICAL:
        return (pair, given) == ALL
    if method == SLOWEST and d_z != SAMPLED_D_Z:
        return False
    return method not in (SLOW, SLOWEST) or n <= SLOW_N


def run(job: Job) -> Results:
    """Computes a method's metrics on the datasets of a cell."""
    answer = mixed_method(job.method)
    labels = np.arange(job.number("datasets")) % 2
    questions = [
        draw_question(
            str(job["pair"]),
            str(job["given"]),
            job.number("n"),
            job.number("d_z"),
            relation=str(job["relation"]),
            dependent=bool(label),
            seed=job.seed + k,
        )
        for k, label in enumerate(labels)
    ]
    start = time.perf_counter()
    pvalues = np.array([answer(each.values, each.categorical) for each in questions])
    seconds = (time.perf_counter() - start) / len(questions)
    found = metrics_of(pvalues, labels, LEVEL)
    return {
        "auc": found["auc"],
        "type_1": found["type_1"],
        "power": 1 - found["type_2"],
        "seconds_per_test": seconds,
    }


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints means over cells by relation and kinds, and draws them."""
    rows = in_order(rows)
    draw_mixed(rows, LEVEL, picture)
    header = ("relation", "X and Y", "Z", "method", "cells", "AUC", "Type I", "power", "ms a test")
    cells = [
        (
            *key,
            len(group),
            *(float(group[name].mean()) for name in ("auc", "type_1", "power")),
            float(1000 * group["seconds_per_test"].mean()),
        )
        for key, group in rows.groupby(["relation", "pair", "given", "method"], sort=False)
    ]
    count = int(rows["datasets"].max()) // 2
    halves = f"{count} independent and {count} dependent datasets a cell"
    caption = f"Level {LEVEL}; {halves}; means over cells."
    notes = [SAMPLED_NOTE] if SLOWEST in set(rows["method"]) else []
    return "\n".join([caption, *notes, "", aligned(header, cells)])


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Sorts rows by relation, if they have one, and by kinds, which not every |Z| has."""
    orders = {"relation": RELATIONS, "pair": KINDS_OF_PAIRS, "given": KINDS_OF_Z}
    orders = {name: order for name, order in orders.items() if name in rows}
    return rows.sort_values(
        list(orders),
        key=lambda column: column.map(orders[str(column.name)].index),
        kind="stable",
    )


MIXED = Experiment(
    name="mixed",
    methods=METHODS,
    quick_methods=QUICK_METHODS,
    setting_columns=("relation", "pair", "given", "n", "d_z", "datasets"),
    result_columns=("auc", "type_1", "power", "seconds_per_test"),
    jobs=make_jobs,
    run=run,
    report=report,
    unit=("n", "d_z"),
)
