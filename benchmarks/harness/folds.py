"""Experiments on the six data models, in folds: jobs, datasets, and averages over folds.

In half of a fold's datasets X and Y are independent given Z (two chains, a fork), in half they are
dependent (a collider, and a chain and a fork with an edge X -> Y). One row is one fold, and
intervals are over folds. All methods get the same datasets.
"""

import time
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.harness.jobs import Job, Results
from benchmarks.methods import Question, get_method
from benchmarks.metrics.ci_metrics import METRICS, fold_interval, metrics_of

MECHANISM = "mlp16"
FOLDS = 5
DATASETS, QUICK_DATASETS = 40, 20  # in a fold
# Far from the seeds of training streams, which are small.
FIRST_SEED = 7_000_000


def fold_jobs(
    name: str, settings: Iterable[tuple[int, int, str]], methods: Sequence[str], quick: bool
) -> list[Job]:
    """Lists one job for each setting, fold and method, where the method can run.

    Args:
        name: Name of the experiment.
        settings: n, d_z and the family of mechanisms.
        methods: Names of methods.
        quick: Whether to use small folds.
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
    """Runs a method on the datasets of one fold."""
    questions, labels = datasets_of(job)
    pvalues, seconds = ask(job.method, questions)
    return {**metrics_of(pvalues, labels), "seconds_per_test": seconds}


def ask(method: str, questions: Sequence[Question]) -> tuple[NDArray[np.float64], float]:
    """Runs a method on questions.

    Returns:
        The p-values, of shape (questions,), and the seconds per question.
    """
    pvalues_of = get_method(method).pvalues
    pvalues_of(questions[:1])  # so that imports and loading of weights are not timed
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
    """Splits tensors (count, n, d) into questions; z is None if d_z = 0."""
    given = z.double().numpy() if z.shape[-1] else [None] * len(z)
    return list(zip(x.double().numpy(), y.double().numpy(), given, strict=True))


def notes_on(methods: Iterable[str]) -> list[str]:
    """Returns the notes on methods, for the reader of a table."""
    notes = {name: get_method(name).note for name in dict.fromkeys(methods)}
    return [f"{name}: {note}" for name, note in notes.items() if note]


def summarise(rows: pd.DataFrame, *axes: str) -> pd.DataFrame:
    """Averages over folds; settings with a failed fold are left out.

    Args:
        rows: One row for each fold.
        axes: Columns that identify a setting.

    Returns:
        One row for each (axes, method) with the mean of each metric and, in `METRIC_half`, the half
        width of its interval.
    """
    key = [*axes, "method"]
    folds_of: dict[tuple[object, ...], list[int]] = {}
    for place, names in enumerate(rows[key].itertuples(index=False, name=None)):
        folds_of.setdefault(names, []).append(place)
    # Taken out of the table once: pandas takes long to cut it into thousands of small ones.
    scores = rows[list(METRICS)].to_numpy(dtype=float)
    seconds = rows["seconds_per_test"].to_numpy(dtype=float)
    summary = []
    for names, folds in folds_of.items():
        if len(folds) < FOLDS:
            continue
        assert len(folds) == FOLDS, (names, len(folds))
        row: dict[str, object] = dict(zip(key, names, strict=True))
        for name, mean, half in zip(METRICS, *fold_interval(scores[folds]), strict=True):
            row[name], row[f"{name}_half"] = mean, half
        row["seconds_per_test"] = seconds[folds].mean()
        summary.append(row)
    return pd.DataFrame(summary)
