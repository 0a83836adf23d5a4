"""Reads the committed results, from which documents are made."""

from functools import cache
from pathlib import Path

import pandas as pd

from acid_causal.errors import InputError
from benchmarks.harness.jobs import Experiment
from benchmarks.harness.store import Store, frame

RESULTS = Path(__file__).parents[1] / "results"


def committed(experiment: Experiment) -> tuple[pd.DataFrame, list[str]]:
    """Reads an experiment's committed rows.

    Returns:
        The rows that did not fail, and the units without rows (see `Experiment.unit`).

    Raises:
        InputError: Rows are missing; tables need all rows.
    """
    path = RESULTS / f"{experiment.name}.csv"
    modified = path.stat().st_mtime_ns if path.exists() else None
    rows, absent = _read(experiment, path, modified)
    return rows.copy(), list(absent)


# Documents ask for the same rows many times.
@cache
def _read(
    experiment: Experiment, path: Path, modified: int | None
) -> tuple[pd.DataFrame, list[str]]:
    """Reads the rows once for each time at which the file was modified."""
    store = Store(path, experiment)
    methods = _in_order(store.methods(), experiment)
    if not methods:
        command = f"python -m benchmarks {experiment.name}"
        raise InputError(f"{store.path.name} has no rows; {command} makes them.")
    jobs, absent = store.complete(experiment.jobs(methods, False), experiment.unit)
    good = [row for row in store.rows(jobs) if not row["error"]]
    return frame(good, experiment.columns), absent


def _in_order(methods: list[str], experiment: Experiment) -> list[str]:
    """Sorts methods as the experiment lists them, whatever the order in which they were run."""

    def place(method: str) -> int:
        for name in (method, method.partition(":")[0]):
            if name in experiment.methods:
                return experiment.methods.index(name)
        return len(experiment.methods)

    return sorted(methods, key=place)
