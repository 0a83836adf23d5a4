"""`sachs-edges`: which edges of the consensus network each test can find in the 853 cells.

PC removes an edge as soon as one test of its pair does not reject independence. It therefore never
keeps a pair that looks independent without a conditioning set. It keeps a pair that looks dependent
without one and given each other protein, unless a larger set separates it. A row has both p-values
of a pair: without a conditioning set, and the largest one given another protein.
"""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from acid_causal.data.sachs import load_sachs
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.tables import aligned
from benchmarks.methods import Question, get_method
from benchmarks.pictures.sachs.edges import draw_edges

ALPHA = 0.05
METHODS = ("acid", "kcit", "rcit", "fisherz")
QUICK_METHODS = ("acid", "rcit", "fisherz")  # KCI takes some minutes

RESULT_COLUMNS = ("p_marginal", "p_given_one", "given")


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists one job for each (method, pair)."""
    pairs = combinations(load_sachs().columns, 2)
    return [
        Job("sachs-edges", method, (("x", x), ("y", y)), seed=0)
        for x, y in pairs
        for method in methods
    ]


def run(job: Job) -> Results:
    """Tests a pair without a conditioning set, and given each other protein alone."""
    sachs = load_sachs()
    table = dict(zip(sachs.columns, np.log(sachs.data).T[..., None], strict=True))
    x, y = table.pop(str(job["x"])), table.pop(str(job["y"]))
    ask = get_method(job.method).pvalues
    given_none: list[Question] = [(x, y, None)]
    given_one: list[Question] = [(x, y, z) for z in table.values()]
    (marginal,), pvalues = ask(given_none), ask(given_one)
    largest = int(np.argmax(pvalues))
    return {
        "p_marginal": marginal,
        "p_given_one": pvalues[largest],
        "given": list(table)[largest],
    }


# ---- report --------------------------------------------------------------------


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints and draws the consensus edges, and the other pairs that some test keeps."""
    shown = edges(rows)
    draw_edges(shown, ALPHA, picture)
    methods = list(dict.fromkeys(shown["method"]))
    cells = []
    for (x, y, in_network), pair in shown.groupby(["x", "y", "in_network"], sort=False):
        by_method = pair.set_index("method")
        pvalues = [
            by_method[column].get(method)  # None where it failed
            for column in ("p_marginal", "p_given_one")
            for method in methods
        ]
        texts = (None if p is None else f"{p:.2g}" for p in pvalues)
        cells.append((f"{x} - {y}", "yes" if in_network else "no", *texts))
    header = ("pair", "consensus", *methods, *(f"{method} | 1" for method in methods))
    return "\n".join([CAPTION, "", aligned(header, cells), "", _summary(shown)])


CAPTION = f"""Sachs et al. 2005, 853 cells, log input: p-values of the 17 consensus edges, and of
the other pairs that some test keeps. First without a conditioning set, where PC loses an edge at
once if its p-value is above alpha = {ALPHA}; "| 1": the largest p-value given one other protein.
Kept: both are below alpha."""


def edges(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows of pairs that are in the consensus or kept by some test, in a fixed order.

    Args:
        rows: One row for each (method, pair).

    Returns:
        With two more columns, `in_network` and `kept`: first the edges that all tests keep, then
        those that some do, those that none does, and the pairs outside the network.
    """
    network = load_sachs().graph(17).to_undirected()
    rows = rows.assign(
        in_network=[network.has_edge(*pair) for pair in zip(rows["x"], rows["y"], strict=True)],
        kept=rows[["p_marginal", "p_given_one"]].max(axis=1) < ALPHA,
    )
    share = rows.groupby(["x", "y"])["kept"].transform("mean")
    place = share - 2 * ~rows["in_network"]
    order = rows.assign(place=-place, row=range(len(rows))).sort_values(["place", "row"]).index
    return rows.loc[order][(share > 0)[order] | rows["in_network"][order]]


def _summary(shown: pd.DataFrame) -> str:
    network = shown[shown["in_network"]]
    smallest = network.groupby(["x", "y"], sort=False)["p_marginal"].min()
    unseen = smallest[smallest >= ALPHA]
    lines = [f"independent by every test, without any conditioning set: {len(unseen)} of 17 edges"]
    if len(unseen):
        names = ", ".join(f"{x} - {y}" for x, y in unseen.index)
        lines[0] += f" (p >= {unseen.min():.2g}): {names}"
    for method, of_method in shown.groupby("method", sort=False):
        right = int((of_method["kept"] & of_method["in_network"]).sum())
        wrong = int((of_method["kept"] & ~of_method["in_network"]).sum())
        f1 = 2 * right / (17 + right + wrong)
        lines.append(f"{method}: keeps {right} of 17 edges, and {wrong} besides: F1 {f1:.3f}")
    return "\n".join(lines)


SACHS_EDGES = Experiment(
    name="sachs-edges",
    methods=METHODS,
    quick_methods=QUICK_METHODS,
    setting_columns=("x", "y"),
    result_columns=RESULT_COLUMNS,
    jobs=make_jobs,
    run=run,
    report=report,
)
