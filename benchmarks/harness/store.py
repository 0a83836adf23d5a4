"""The CSV of an experiment: resumable, and written atomically."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from acid_causal.errors import InputError, WriteError
from acid_causal.files import locked, write_atomically
from benchmarks.harness.jobs import Experiment, Job, Row


class Store:
    """Rows of one experiment, one for each job, on disk after each `save`.

    Args:
        path: The CSV; it and its folder are created by the first `save`.
        experiment: Defines the columns and which of them identify a job.

    Raises:
        InputError: The file has other columns, as after a change of the experiment.
    """

    def __init__(self, path: Path, experiment: Experiment) -> None:
        self.path = path
        self.columns = experiment.columns
        self.key_columns = ("experiment", "method", *experiment.setting_columns, "seed")
        self._read()

    def is_done(self, job: Job, weights: str) -> bool:
        """Returns whether a job has a row that did not fail and was made with these weights."""
        row = self._read().get(self._key(job.identity()))
        return row is not None and not row["error"] and row["weights_sha256"] == weights

    def save(self, row: Row) -> None:
        """Adds a row, or replaces the earlier one of the same job.

        A killed run leaves either the old or the new file, never a part. Runs of different methods
        can share a file: each adds its rows under a lock.

        Raises:
            InputError: The file cannot be written; the old one stays as it was.
        """
        assert set(row) == set(self.columns), set(row) ^ set(self.columns)
        try:
            with locked(self.path):
                rows = self._read()
                rows[self._key(row)] = row
                text = io.StringIO()
                writer = csv.DictWriter(text, self.columns, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows.values())
                write_atomically(self.path, text.getvalue())
        except WriteError as error:
            raise InputError(
                f"{error}. Make room, or choose another --out, and run again."
            ) from error

    def complete(self, jobs: Sequence[Job], unit: Sequence[str]) -> tuple[list[Job], list[str]]:
        """Separates complete from incomplete units of an experiment (see `Experiment.unit`).

        Returns:
            The jobs of complete units, and the names of the incomplete units.
        """
        stored = self._read()
        if not unit or not stored:
            return list(jobs), []

        def name(job: Job) -> str:
            return " ".join(str(job[column]) for column in unit)

        absent = {name(job): None for job in jobs if self._key(job.identity()) not in stored}
        return [job for job in jobs if name(job) not in absent], list(absent)

    def rows(self, jobs: Sequence[Job]) -> list[Row]:
        """Returns the jobs' rows, in the jobs' order.

        Raises:
            InputError: A job has no row.
        """
        stored = self._read()
        keys = [self._key(job.identity()) for job in jobs]
        missing = [key for key in keys if key not in stored]
        if missing:
            raise InputError(
                f"{self.path.name} holds {len(keys) - len(missing)} of the {len(keys)} rows that "
                f"the table needs; the first one missing is {missing[0]}. Run the experiment again."
            )
        return [stored[key] for key in keys]

    def methods(self) -> list[str]:
        """Returns the methods that have rows, in the order of the file, without "empty"."""
        found = dict.fromkeys(row["method"] for row in self._read().values())
        return [method for method in found if method != "empty"]

    def _read(self) -> dict[tuple[str, ...], Row]:
        if not self.path.exists():
            return {}
        with self.path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != self.columns:
                odd = ", ".join(sorted(set(reader.fieldnames or ()) ^ set(self.columns)))
                raise InputError(
                    f"{self.path.name} was written by another version of this experiment: "
                    f"columns {odd or 'in another order'}. Move it away, or choose another --out."
                )
            return {self._key(row): row for row in reader}

    def _key(self, row: Row) -> tuple[str, ...]:
        return tuple(row[name] for name in self.key_columns)


def frame(rows: Iterable[Row], columns: Sequence[str]) -> pd.DataFrame:
    """Returns rows as a table; columns with only numbers become numeric."""
    table = pd.DataFrame(list(rows), columns=list(columns)).replace("", None)
    for name in table:
        try:
            table[name] = pd.to_numeric(table[name])
        except ValueError:
            continue
    return table
