"""`sample-size` and `dimensionality`: the paper's six data models, 200 datasets a setting.

Half of the datasets are independent given Z (two chains, a fork), half are not (a collider, and a
chain and a fork with an edge X -> Y); links are MLP-16. They come in five folds of 40, one row
each, and intervals are over folds. All methods of a setting get the same datasets.
"""

import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.tables import aligned
from benchmarks.methods import Question, get_method
from benchmarks.metrics.ci_metrics import METRICS, fold_interval, metrics_of
from benchmarks.pictures.curves import draw_metrics

Setting = tuple[int, int]  # (n, d_z)

SAMPLE_SIZES: tuple[Setting, ...] = tuple((n, 10) for n in (5, 10, 20, 50, 100, 200, 300, 500))
DIMENSIONS: tuple[Setting, ...] = tuple((300, d_z) for d_z in (3, 5, 10, 20, 50, 100))
QUICK_SAMPLE_SIZES: tuple[Setting, ...] = tuple((n, 10) for n in (20, 100, 300))
QUICK_DIMENSIONS: tuple[Setting, ...] = tuple((300, d_z) for d_z in (3, 10, 50))

MECHANISM = "mlp16"
FOLDS = 5
DATASETS, QUICK_DATASETS = 40, 20  # in a fold
# Seeds of training streams are small numbers; the tests' are far from them.
FIRST_SEED = 7_000_000

METHODS = ("acid", "kcit", "rcit", "fisherz", "fastkci", "scit", "scit-two-sided", "lcit", "gcm")
QUICK_METHODS = ("acid", "kcit", "rcit", "fisherz")


def make_jobs(
    name: str,
    full: Sequence[Setting],
    reduced: Sequence[Setting],
    methods: Sequence[str],
    quick: bool,
) -> list[Job]:
    """Lists the jobs of a range of settings."""
    settings = reduced if quick else full
    return fold_jobs(name, [(n, d_z, MECHANISM) for n, d_z in settings], methods, quick)


def fold_jobs(
    name: str, settings: Iterable[tuple[int, int, str]], methods: Sequence[str], quick: bool
) -> list[Job]:
    """Lists one job for each (setting, fold, method that is asked there).

    Args:
        name: Of the experiment.
        settings: n, d_z and the family of the links.
        methods: Names of methods.
        quick: Whether folds are small.
    """
    datasets = QUICK_DATASETS if quick else DATASETS
    return [
        Job(
            name,
            method,
            (
                ("n", n),
                ("d_z", d_z),
                ("mechanism", mechanism),
                ("datasets", datasets),
                ("fold", fold),
            ),
            FIRST_SEED + fold,
        )
        for n, d_z, mechanism in settings
        for fold in range(FOLDS)
        for method in methods
        if get_method(method).reaches(n, d_z)
    ]


def run(job: Job) -> Results:
    """Asks a method about the datasets of one fold."""
    questions, labels = datasets_of(job)
    pvalues, seconds = ask(job.method, questions)
    return {**metrics_of(pvalues, labels), "seconds_per_test": seconds}


def ask(method: str, questions: Sequence[Question]) -> tuple[NDArray[np.float64], float]:
    """Asks a method.

    Returns:
        The p-values, of shape (questions,), and the seconds of one question.
    """
    pvalues_of = get_method(method).pvalues
    pvalues_of(questions[:1])  # imports and weights are not timed
    start = time.perf_counter()
    pvalues = np.asarray(pvalues_of(questions))
    return pvalues, (time.perf_counter() - start) / len(questions)


def datasets_of(job: Job) -> tuple[list[Question], NDArray[np.int64]]:
    """Draws the fold's datasets, and their labels of shape (datasets,)."""
    from acid_causal.synthetic import six_models

    drawn = six_models(
        job.number("datasets"),
        job.number("n"),
        job.number("d_z"),
        mechanism=str(job["mechanism"]),
        seed=job.seed,
    )
    return as_questions(drawn.x, drawn.y, drawn.z), drawn.label.numpy().astype(np.int64)


def as_questions(x: Tensor, y: Tensor, z: Tensor) -> list[Question]:
    """Splits tensors (count, n, d) into questions; without a conditioning set z is None."""
    given = z.double().numpy() if z.shape[-1] else [None] * len(z)
    return list(zip(x.double().numpy(), y.double().numpy(), given, strict=True))


# ---- report --------------------------------------------------------------------


def report(axis: str, title: str, rows: pd.DataFrame, picture: Path) -> str:
    """Prints means with intervals over folds, and draws them."""
    summary = summarise(rows, axis)
    draw_metrics(summary, axis, title, picture)
    header = (axis, "method", *METRICS, "s/test")
    cells = [
        (
            row[axis],
            row["method"],
            *(f"{row[name]:.3f} ±{row[name + '_half']:.3f}" for name in METRICS),
            f"{row['seconds_per_test']:.2g}",
        )
        for row in summary.to_dict("records")
    ]
    count = int(rows["datasets"].iloc[0])
    caption = (
        f"{title}: mean and 95 % interval over {FOLDS} folds of {count} datasets; level .05; "
        "F1 with dependence, then independence, as the positive class."
    )
    return "\n".join([caption, "", aligned(header, cells), *notes_on(summary["method"])])


def notes_on(methods: Iterable[str]) -> list[str]:
    """Returns what a reader of the methods' figures should know."""
    said = {name: get_method(name).note for name in dict.fromkeys(methods)}
    return [f"{name}: {note}" for name, note in said.items() if note]


def summarise(rows: pd.DataFrame, *axes: str) -> pd.DataFrame:
    """Averages over folds; a setting of which a fold failed is left out.

    Args:
        rows: One row for each fold.
        axes: Columns that tell settings apart.

    Returns:
        One row for each (axes, method) with the mean of each metric and, in `METRIC_half`, the half
        width of its interval.
    """
    summary = []
    key = [*axes, "method"]
    for names, folds in rows.groupby(key, sort=False):
        if len(folds) < FOLDS:
            continue
        assert len(folds) == FOLDS, (names, len(folds))
        row: dict[str, object] = dict(zip(key, names, strict=True))
        for name in METRICS:
            row[name], row[f"{name}_half"] = fold_interval(folds[name].to_numpy(dtype=float))
        row["seconds_per_test"] = folds["seconds_per_test"].mean()
        summary.append(row)
    return pd.DataFrame(summary)


def _experiment(
    name: str, axis: str, title: str, full: Sequence[Setting], reduced: Sequence[Setting]
) -> Experiment:
    return Experiment(
        name=name,
        methods=METHODS,
        quick_methods=QUICK_METHODS,
        setting_columns=("n", "d_z", "mechanism", "datasets", "fold"),
        result_columns=(*METRICS, "seconds_per_test"),
        jobs=partial(make_jobs, name, full, reduced),
        run=run,
        report=partial(report, axis, title),
    )


SAMPLE_SIZE = _experiment(
    "sample-size",
    "n",
    "Six data models, d_z = 10, MLP-16",
    SAMPLE_SIZES,
    QUICK_SAMPLE_SIZES,
)
DIMENSIONALITY = _experiment(
    "dimensionality",
    "d_z",
    "Six data models, n = 300, MLP-16",
    DIMENSIONS,
    QUICK_DIMENSIONS,
)
