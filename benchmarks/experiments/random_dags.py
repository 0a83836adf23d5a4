"""`random-dags`: questions that PC could ask, on random DAGs whose d-separations are known.

One domain has the mechanisms of training, one is linear and Gaussian, and three have mechanisms
that `acid-ranks` never saw. A cell has 200 datasets of one question each, in five folds of 40. Half
of the questions are independent; `acid_causal.synthetic.random_dag_questions` says how questions
are chosen. Rows store the p-values, so that power can be computed at any actual level.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.harness.folds import (
    DATASETS,
    FOLDS,
    QUICK_DATASETS,
    as_questions,
    ask,
    notes_on,
    summarise,
)
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.tables import aligned
from benchmarks.methods import FAST, get_method
from benchmarks.metrics.ci_metrics import METRICS, metrics_of
from benchmarks.pictures.domains import draw_domains

Cell = tuple[int, int]  # (n, d_z)


def _grid(sample_sizes: Sequence[int], dimensions: Sequence[int]) -> tuple[Cell, ...]:
    return tuple((n, d_z) for n in sample_sizes for d_z in dimensions)


_FAMILIAR = _grid((100, 300, 500), (0, 3, 10))
_UNSEEN = _grid((100, 200, 300), (0, 1, 3, 5, 8))
CELLS = {
    "training": _FAMILIAR,
    "linear-gaussian": _FAMILIAR,
    "steps": _UNSEEN,
    "gp": _UNSEEN,
    "switching": _UNSEEN,
}
QUICK_CELLS: tuple[Cell, ...] = _grid((100, 300), (0, 3))
# Domains whose cells are printed one by one, and the columns that are printed.
PRINTED = ("training", "linear-gaussian")
PRINTED_COLUMNS = {"auc": "AUC", "actual_power": "power*", "type_1": "Type I error"}
FIRST_SEED = 9_500_000
LEVEL = 0.05

METHODS = (
    "acid",
    FAST,
    "kcit",
    "rcit",
    "andrey-rcot",
    "fisherz",
    "scit",
    "scit-two-sided",
    "lcit",
    "gcm",
)
QUICK_METHODS = ("acid", "kcit", "rcit", "fisherz")
# With fewer rows RCIT rejects everything; see the note on it in `benchmarks.methods`.
RCIT_SMALLEST_N = 101


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists one job for each (domain, cell, fold, method), if the method runs there."""
    datasets = QUICK_DATASETS if quick else DATASETS
    return [
        Job(
            "random-dags",
            method,
            (
                ("domain", domain),
                ("n", n),
                ("d_z", d_z),
                ("datasets", datasets),
                ("fold", fold),
            ),
            FIRST_SEED + fold,
        )
        for domain, cells in CELLS.items()
        for n, d_z in (QUICK_CELLS if quick else cells)
        for fold in range(FOLDS)
        for method in methods
        if is_asked(method, n, d_z)
    ]


def is_asked(method: str, n: int, d_z: int) -> bool:
    """Says whether a method runs in a cell."""
    if method == "rcit" and d_z and n < RCIT_SMALLEST_N:
        return False
    return get_method(method).reaches(n, d_z)


def run(job: Job) -> Results:
    """Scores a method on the datasets of one fold."""
    from acid_causal.synthetic import random_dag_questions

    drawn = random_dag_questions(
        str(job["domain"]),
        job.number("datasets"),
        job.number("n"),
        job.number("d_z"),
        seed=job.seed,
    )
    labels = drawn.label.numpy().astype(np.int64)
    pvalues, seconds = ask(job.method, as_questions(drawn.x, drawn.y, drawn.z))
    return {
        **metrics_of(pvalues, labels, LEVEL),
        "pvalues_independent": _to_text(pvalues[labels == 0]),
        "pvalues_dependent": _to_text(pvalues[labels == 1]),
        "seconds_per_test": seconds,
    }


def _to_text(pvalues: NDArray[np.float64]) -> str:
    return " ".join(f"{pvalue:.4g}" for pvalue in pvalues)


def _from_text(texts: "pd.Series[str]") -> NDArray[np.float64]:
    return np.array([float(number) for text in texts for number in str(text).split()])


# ---- report --------------------------------------------------------------------


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints means over the cells of each domain and some cells one by one; draws the domains."""
    summary = with_power(rows)
    draw_domains(summary, picture)
    datasets = FOLDS * int(rows["datasets"].iloc[0])
    parts = [f"{datasets} datasets a cell, half of them independent. {CAPTION}", ""]
    parts += [_domain_table(summary), *notes_on(summary["method"])]
    if "rcit" in set(summary["method"]):
        parts.append(f"rcit runs at n >= {RCIT_SMALLEST_N} only, unless Z is empty.")
    printed = summary[summary["domain"].isin(PRINTED)]
    for column, title in PRINTED_COLUMNS.items():
        if len(printed):
            parts += ["", f"{title}, cell by cell:", "", _cell_table(printed, column)]
    return "\n".join(parts)


CAPTION = f"""Means over the cells (n x d_z) in which a test runs.
power, Type I: at level {LEVEL}. power*: with the threshold that rejects {LEVEL:.0%} of the cell's
independent datasets, so that tests with different Type I errors can be compared."""


def with_power(rows: pd.DataFrame) -> pd.DataFrame:
    """Averages over folds, and pools the folds' p-values.

    Returns:
        The columns of `summarise` for each (domain, n, d_z, method); `power`, at the nominal level;
        and `actual_power`, with the threshold at which the Type I error in the cell is `LEVEL`.
    """
    axes = ["domain", "n", "d_z", "method"]
    summary = summarise(rows, *axes[:-1])
    summary["power"] = 1 - summary["type_2"]
    folds = dict(list(rows.groupby(axes, sort=False)))
    summary["actual_power"] = [
        power_at(
            _from_text(folds[cell]["pvalues_independent"]),
            _from_text(folds[cell]["pvalues_dependent"]),
        )
        for cell in summary[axes].itertuples(index=False, name=None)
    ]
    return summary


def power_at(
    independent: NDArray[np.float64], dependent: NDArray[np.float64], level: float = LEVEL
) -> float:
    """Returns the power of a test at an actual Type I error.

    Args:
        independent: p-values of independent datasets, shape (datasets,). The threshold is such that
            at most a share `level` of them is rejected.
        dependent: p-values of dependent datasets, shape (datasets,).
        level: The Type I error.
    """
    allowed = int(level * len(independent) + 1e-9)
    threshold = np.sort(independent)[allowed]
    return float((dependent < threshold).mean())


def _domain_table(summary: pd.DataFrame) -> str:
    header = ("domain", "method", "cells", "AUC", "power", "Type I", "worst Type I", "power*")
    cells = []
    for (domain, method), group in summary.groupby(["domain", "method"], sort=False):
        worst = group.loc[group["type_1"].idxmax()]
        cells.append(
            (
                *(domain, method, len(group)),
                *(float(group[name].mean()) for name in ("auc", "power", "type_1")),
                f"{worst['type_1']:.2f} (n={worst['n']}, d_z={worst['d_z']})",
                float(group["actual_power"].mean()),
                f"{group['seconds_per_test'].mean():.2g}",
            )
        )
    return aligned((*header, "s/test"), cells)


def _cell_table(summary: pd.DataFrame, column: str) -> str:
    """Lays out one figure of each cell, the methods side by side."""
    methods = list(summary["method"].unique())
    cells = []
    for cell, group in summary.groupby(["domain", "n", "d_z"], sort=False):
        figures = dict(zip(group["method"], group[column], strict=True))
        cells.append((*cell, *(figures.get(method) for method in methods)))
    return aligned(("domain", "n", "d_z", *methods), cells)


RANDOM_DAGS = Experiment(
    name="random-dags",
    methods=METHODS,
    quick_methods=QUICK_METHODS,
    setting_columns=("domain", "n", "d_z", "datasets", "fold"),
    result_columns=(*METRICS, "pvalues_independent", "pvalues_dependent", "seconds_per_test"),
    jobs=make_jobs,
    run=run,
    report=report,
    unit=("domain",),
)
