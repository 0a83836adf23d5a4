"""Runs an experiment's jobs and stores one row for each, also for failed ones."""

import math
import random
import time
from collections.abc import Callable, Sequence

import joblib
import numpy as np
import torch
from threadpoolctl import threadpool_limits

from acid_causal.progress import progress_bar
from benchmarks.harness import provenance
from benchmarks.harness.jobs import Experiment, Job, Results, Row
from benchmarks.harness.store import Store
from benchmarks.methods import weights_sha256


def run_jobs(
    experiment: Experiment, jobs: Sequence[Job], store: Store, *, n_jobs: int = 1, threads: int = 1
) -> None:
    """Runs the jobs that have no successful row yet.

    Args:
        experiment: The experiment of the jobs.
        jobs: The jobs; those with a row that did not fail are skipped.
        store: Stores each row as soon as its job ends.
        n_jobs: Number of jobs at a time; with more than one, measured times are longer.
        threads: Threads of each job's numerical libraries.
    """
    weights = {method: weights_sha256(method) for method in {job.method for job in jobs}}
    pending = [job for job in jobs if not store.is_done(job, weights[job.method])]
    work = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        joblib.delayed(attempt)(experiment, job, threads) for job in pending
    )
    with progress_bar(work, total=len(pending), label=experiment.name, unit="job") as rows:
        for row in rows:
            store.save(row)


def attempt(experiment: Experiment, job: Job, threads: int) -> Row:
    """Runs one job; an exception becomes the row's error."""
    results: Results = {}
    error = ""
    seed_everything(job.seed)
    start = time.perf_counter()
    try:
        with threadpool_limits(threads):
            results = _with_torch_threads(threads, lambda: experiment.run(job))
        _check(results, experiment.result_columns)
    except Exception as caught:
        results = {}
        error = provenance.error_text(caught)
    seconds = time.perf_counter() - start
    filled = {name: _text(results.get(name)) for name in experiment.result_columns}
    return {
        **job.identity(),
        **filled,
        "seconds": f"{seconds:.3f}",
        "threads": str(threads),
        "machine": provenance.machine(),
        "versions": provenance.versions(),
        "weights_sha256": weights_sha256(job.method),
        "error": error,
    }


def seed_everything(seed: int) -> None:
    """Seeds the global generators: causal-learn's RCIT and FastKCI draw from numpy's."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)


def _with_torch_threads(threads: int, work: Callable[[], Results]) -> Results:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return work()
    finally:
        torch.set_num_threads(before)


def _check(results: Results, columns: Sequence[str]) -> None:
    assert set(results) == set(columns), set(results) ^ set(columns)
    for name, value in results.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} is {value}")


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
