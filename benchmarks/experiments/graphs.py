"""`graphs`: PC on tables from random nonlinear structural equation models (see `random_sems`).

Stable PC with `uc_rule=0`; alpha was fixed at .05 beforehand. There are ten graphs for each
(mechanism, d, n), and fifty in the cheapest cell: over ten graphs the intervals of the SHD are
wider than the differences between tests. All methods get the same tables. The tables of one graph
differ only in their number of rows.
"""

from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import pandas as pd

from benchmarks.data.random_sems import EDGES_A_VARIABLE, MECHANISMS, NOISE, random_table
from benchmarks.harness import search
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.tables import aligned
from benchmarks.harness.timing import seconds_text
from benchmarks.methods import FAST
from benchmarks.methods.andrey import TESTS
from benchmarks.metrics import graph_metrics
from benchmarks.metrics.ci_metrics import fold_interval
from benchmarks.pictures.graphs import draw_graphs

ALPHA = 0.05
CELLS = tuple((d, n) for d in (10, 20, 30) for n in (200, 500, 1000))
QUICK_CELLS = ((10, 200), (10, 500), (20, 200))
REPETITIONS, QUICK_REPETITIONS = 10, 3
CHEAP_CELL, CHEAP_REPETITIONS = (10, 200), 50
FIRST_SEED = 9_100_000

METHODS = ("acid", FAST, "acid-checked", "kcit", "rcit", "fisherz", *TESTS)
QUICK_METHODS = ("acid", "rcit", "fisherz")
SLOW_METHODS = ("kcit", "andrey-kci")
# The checked null takes several times as long: it runs where d * n is at most this.
LARGEST_CHECKED = 5000
NOT_DRAWN = (FAST, "acid-checked")

SCORES = ("f1", "precision", "recall", "cpdag_shd")
RESULT_COLUMNS = ("edges", *SCORES, "tests_asked", "tests_computed", "search_seconds")


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists one job for each (mechanism, d, n, graph, method), without the slow ones of KCI."""
    return [
        Job("graphs", method, (("mechanism", mechanism), ("d", d), ("n", n)), FIRST_SEED + graph)
        for mechanism in MECHANISMS
        for d, n in (QUICK_CELLS if quick else CELLS)
        for graph in range(QUICK_REPETITIONS if quick else repetitions(d, n))
        for method in methods
        if (method not in SLOW_METHODS or is_cheap_for_kcit(d, n))
        and (method != "acid-checked" or d * n <= LARGEST_CHECKED)
    ]


def repetitions(d: int, n: int) -> int:
    """Returns the number of graphs that a full run recovers for each mechanism."""
    return CHEAP_REPETITIONS if (d, n) == CHEAP_CELL else REPETITIONS


def is_cheap_for_kcit(d: int, n: int) -> bool:
    """Says whether KCI recovers a graph within about a minute.

    PC asks about 50 questions per variable at n = 200, and more with more rows. For each of them
    KCI takes .02 s at n = 200, .15 s at 500 and .7 s at 1000.
    """
    return n <= 200 or (d <= 10 and n <= 500)


KCI_NOTE = "runs at n = 200, and at d = 10, n = 500; above, a graph takes minutes to hours."


def run(job: Job) -> Results:
    """Recovers one graph and scores it."""
    table = random_table(job.number("d"), job.number("n"), str(job["mechanism"]), job.seed)
    return scores(search.search("pc", job.method, table.data, alpha=ALPHA), table.dag)


def scores(found: search.Search, dag: nx.DiGraph) -> Results:
    """Scores a recovered graph; returns the values of `RESULT_COLUMNS`."""
    skeleton = graph_metrics.skeleton_scores(found.endpoints, dag)
    return {
        "edges": graph_metrics.number_of_edges(found.endpoints),
        "f1": skeleton.f1,
        "precision": skeleton.precision,
        "recall": skeleton.recall,
        "cpdag_shd": graph_metrics.cpdag_shd(found.endpoints, dag),
        "tests_asked": found.tests_asked,
        "tests_computed": found.tests_computed,
        "search_seconds": found.seconds,
    }


# ---- report --------------------------------------------------------------------


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints means over graphs, the methods side by side, and draws F1 and SHD."""
    methods = set(rows["method"])
    notes = [f"{slow} {KCI_NOTE}" for slow in SLOW_METHODS if slow in methods]
    notes += ["acid-checked runs at d * n of 5,000 or less."] * ("acid-checked" in methods)
    return "\n".join([side_by_side(rows, picture, _caption()), *notes])


def side_by_side(rows: pd.DataFrame, picture: Path, caption: str) -> str:
    """Lists means over graphs below a caption, a column a method, and draws F1 and SHD."""
    summary = summarise(rows)
    draw_graphs(summary[~summary["method"].isin(NOT_DRAWN)], picture)
    methods = list(summary["method"].unique())
    header = ("mechanism", "d", "n")
    parts = [f"{caption}\nmean and 95 % interval over {_graphs_of(rows)}."]
    for title, cell in (
        ("Skeleton F1", lambda row: f"{row['f1']:.3f} ±{row['f1_half']:.3f}"),
        (
            "CPDAG-SHD (the empty graph: twice d)",
            lambda row: f"{row['cpdag_shd']:.1f} ±{row['cpdag_shd_half']:.1f}",
        ),
        (
            "Seconds a graph (tests computed)",
            lambda row: f"{seconds_text(row['search_seconds'])} ({row['tests_computed']:.0f})",
        ),
    ):
        cells = []
        for key, group in summary.groupby(list(header), sort=False):
            of_method = {row["method"]: cell(row) for row in group.to_dict("records")}
            cells.append((*key, *(of_method.get(method) for method in methods)))
        parts += ["", f"{title}:", "", aligned((*header, *methods), cells)]
    return "\n".join(parts)


def _graphs_of(rows: pd.DataFrame) -> str:
    counts = rows.groupby(["d", "n"])["seed"].nunique()
    usual = counts.min()
    return f"{usual} graphs" + "".join(
        f", {count} at d = {d}, n = {n}" for (d, n), count in counts.items() if count > usual
    )


def _caption() -> str:
    low, high = NOISE
    noise = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return (
        f"PC at alpha = {ALPHA} on random SEMs, Erdos-Renyi with {EDGES_A_VARIABLE} d edges, "
        f"standardised; Gaussian noise of {noise} times the signal's sd:"
    )


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Averages over graphs; leaves out the cells in which a graph failed.

    Returns:
        One row for each (mechanism, d, n, method): means, and `f1_half` and `cpdag_shd_half`, the
        half widths of their intervals.
    """
    counts = rows.groupby(["d", "n"])["seed"].nunique()
    summary = []
    key = ["mechanism", "d", "n", "method"]
    for names, graphs in rows.groupby(key, sort=False):
        count = counts[names[1:3]]
        if len(graphs) < count:
            continue
        assert len(graphs) == count, (names, len(graphs))
        row: dict[str, object] = dict(zip(key, names, strict=True))
        for score in ("f1", "cpdag_shd"):
            row[score], row[f"{score}_half"] = fold_interval(graphs[score].to_numpy(dtype=float))
        for cost in ("tests_computed", "search_seconds"):
            row[cost] = graphs[cost].mean()
        summary.append(row)
    return pd.DataFrame(summary)


GRAPHS = Experiment(
    name="graphs",
    methods=METHODS,
    quick_methods=QUICK_METHODS,
    setting_columns=("mechanism", "d", "n"),
    result_columns=RESULT_COLUMNS,
    jobs=make_jobs,
    run=run,
    report=report,
    unit=("mechanism", "d", "n"),
)
