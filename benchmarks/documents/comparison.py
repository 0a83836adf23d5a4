"""README's comparison of both general models with other tests, from several experiments."""

import pandas as pd

from benchmarks.experiments.graphs import GRAPHS
from benchmarks.experiments.random_dags import RANDOM_DAGS
from benchmarks.experiments.sachs.graph import SACHS_GRAPH
from benchmarks.harness.committed import committed
from benchmarks.harness.tables import aligned, markdown
from benchmarks.harness.timing import seconds_text
from benchmarks.methods import FAST

# Name in the table: names in the rows of `sachs-graph` and of the other experiments.
TESTS = {
    "ACID": ("acid", "acid"),
    "ACID, fast": (FAST, FAST),
    "KCI": ("kci", "kcit"),
    "RCIT": ("rcit", "rcit"),
    "RCoT": ("andrey-rcot", "andrey-rcot"),
    "Fisher-z": ("fisherz", "fisherz"),
}
ROUGH = ("gp", "steps", "switching")
# The only size for which every test has rows of all mechanisms.
GRAPH_SIZE = {"d": 10, "n": 200}
LINEAR = "linear"


def table() -> str:
    """Returns README's table, with one row for each test."""
    sachs, graphs, questions = (
        committed(experiment)[0] for experiment in (SACHS_GRAPH, GRAPHS, RANDOM_DAGS)
    )
    for column, value in GRAPH_SIZE.items():
        graphs = graphs[graphs[column] == value]
    header = (
        "",
        "Sachs, PC: F1 / SHD / s",
        "random graphs, F1: nonlinear / linear",
        "GP, step and switching functions: AUC / Type I",
    )
    lines = [
        (name, _on_sachs(sachs, in_sachs), _on_graphs(graphs, in_rows), _on(questions, in_rows))
        for name, (in_sachs, in_rows) in TESTS.items()
    ]
    return markdown(header, lines)


def _on_sachs(rows: pd.DataFrame, method: str) -> str:
    ((_, row),) = rows[
        (rows["method"] == method)
        & (rows["algorithm"] == "pc")
        & (rows["transform"] == "log")
        & (rows["rows"] == "all")
    ].iterrows()
    shd, seconds = int(row["cpdag_shd_17"]), seconds_text(row["search_seconds"])
    return f"{row['f1_17']:.2f} / {shd} / {seconds}"


def _on_graphs(rows: pd.DataFrame, method: str) -> str:
    rows = rows[rows["method"] == method]
    linear = rows["mechanism"] == LINEAR
    return f"{rows[~linear]['f1'].mean():.2f} / {rows[linear]['f1'].mean():.2f}"


def _on(rows: pd.DataFrame, method: str) -> str:
    rows = rows[(rows["method"] == method) & rows["domain"].isin(ROUGH)]
    return f"{rows['auc'].mean():.2f} / {rows['type_1'].mean():.2f}"


def by_domain() -> str:
    """Returns AUC, Type I error and power of each test by the domain of the questions."""
    rows, _ = committed(RANDOM_DAGS)
    lines = []
    for (domain, method), cells in rows.groupby(["domain", "method"], sort=False):
        auc, type_1, type_2 = (float(cells[name].mean()) for name in ("auc", "type_1", "type_2"))
        if method in {in_rows for _, in_rows in TESTS.values()}:
            lines.append((domain, method, auc, type_1, 1 - type_2))
    header = ("domain", "method", "AUC", "Type I error", "power")
    return aligned(header, sorted(lines))
