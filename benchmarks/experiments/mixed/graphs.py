"""`mixed-graphs`: PC on tables of numbers and categories, whose graph is known (see `mixed_sems`).

Stable PC with `uc_rule=0`; alpha was fixed at .05 beforehand. There are five graphs for each
(mechanism, d, n), and all methods get the same tables. Where all columns are categories,
causal-learn's chi-square and G-square tests are asked, too.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.data.mixed_sems import ALL_CATEGORIES, MECHANISMS, mixed_table
from benchmarks.data.random_sems import EDGES_A_VARIABLE
from benchmarks.experiments.graphs import RESULT_COLUMNS, scores, side_by_side
from benchmarks.harness import search
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.methods.andrey import MIXED_TESTS
from benchmarks.methods.mixed import ALL_CATEGORICAL

ALPHA = 0.05
CELLS = tuple((d, n) for d in (10, 20) for n in (500, 2000))
QUICK_CELLS = ((10, 500),)
REPETITIONS, QUICK_REPETITIONS = 5, 2
FIRST_SEED = 12_000_000

METHODS = ("acid", *MIXED_TESTS, *ALL_CATEGORICAL)


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists one job for each (mechanism, d, n, graph, method) that the method can answer."""
    return [
        Job(
            "mixed-graphs",
            method,
            (("mechanism", mechanism), ("d", d), ("n", n)),
            FIRST_SEED + graph,
        )
        for mechanism in MECHANISMS
        for d, n in (QUICK_CELLS if quick else CELLS)
        for graph in range(QUICK_REPETITIONS if quick else REPETITIONS)
        for method in methods
        if method not in ALL_CATEGORICAL or mechanism == ALL_CATEGORIES
    ]


def run(job: Job) -> Results:
    """Recovers one graph and scores it."""
    table = mixed_table(job.number("d"), job.number("n"), str(job["mechanism"]), job.seed)
    found = search.search("pc", job.method, table.data, alpha=ALPHA, categorical=table.categorical)
    return scores(found, table.dag)


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints means over graphs, the methods side by side, and draws F1 and SHD."""
    caption = (
        f"PC at alpha = {ALPHA} on random SEMs, Erdos-Renyi with {EDGES_A_VARIABLE} d edges; half "
        "of the columns are categories\n"
        "of 2 to 6 levels (nonlinear, linear), or all of them (categorical):"
    )
    return side_by_side(rows, picture, caption)


MIXED_GRAPHS = Experiment(
    name="mixed-graphs",
    methods=METHODS,
    quick_methods=METHODS,
    setting_columns=("mechanism", "d", "n"),
    result_columns=RESULT_COLUMNS,
    jobs=make_jobs,
    run=run,
    report=report,
    unit=("mechanism", "d", "n"),
)
