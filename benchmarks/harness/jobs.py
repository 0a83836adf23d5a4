"""Jobs, rows and experiments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from acid_causal.errors import OptionError, unknown

Scalar = str | int | float
# None: the figure does not apply to the job; blank in the CSV. NaN is never written.
Results = dict[str, Scalar | None]
Row = dict[str, str]


@dataclass(frozen=True)
class Job:
    """The work for one row; these four fields identify it.

    Attributes:
        experiment: Name of the experiment.
        method: Name of the method.
        setting: Pairs (name, value), in the order of the experiment's `setting_columns`.
        seed: Seed of everything random in the job.
    """

    experiment: str
    method: str
    setting: tuple[tuple[str, Scalar], ...]
    seed: int

    def __getitem__(self, name: str) -> Scalar:
        """Returns the method, or the value of a setting."""
        return self.method if name == "method" else dict(self.setting)[name]

    def number(self, name: str) -> int:
        """Returns an integer setting."""
        return int(self[name])

    @property
    def settings(self) -> Row:
        """The setting and the seed as they are in the CSV."""
        return {name: str(value) for name, value in (*self.setting, ("seed", self.seed))}

    def identity(self) -> Row:
        """Returns the fields as they are in the CSV."""
        return {"experiment": self.experiment, "method": self.method, **self.settings}


@dataclass(frozen=True)
class Experiment:
    """An experiment as the harness runs it.

    Attributes:
        name: Argument of `python -m benchmarks`.
        methods: The methods of a full run; `--methods` selects from them.
        quick_methods: The methods of a quick run.
        setting_columns: Columns that identify a setting.
        result_columns: Columns that `run` fills.
        jobs: Maps (methods, quick) to the jobs, in the order in which they run.
        run: Maps a job to its results. If it raises, the row holds the error.
        unit: Setting columns, or "method". The values of these are reported as soon as all their
            jobs are done, since each value takes hours. Empty if the report needs all jobs.
        report: Maps (rows of all jobs, path of the picture) to the text to print, and draws the
            picture. The rows have numeric columns where possible, and no failed rows.
        runs_here: Whether this machine can run a job; other jobs are left out.
    """

    name: str
    methods: tuple[str, ...]
    quick_methods: tuple[str, ...]
    setting_columns: tuple[str, ...]
    result_columns: tuple[str, ...]
    jobs: Callable[[Sequence[str], bool], list[Job]]
    run: Callable[[Job], Results]
    report: Callable[[pd.DataFrame, Path], str]
    unit: tuple[str, ...] = ()
    runs_here: Callable[[Job], bool] = lambda job: True

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the experiment's CSV."""
        identity = ("experiment", "method", *self.setting_columns, "seed")
        return (*identity, *self.result_columns, *PROVENANCE_COLUMNS)


def select_jobs(jobs: Sequence[Job], conditions: Sequence[str]) -> list[Job]:
    """Selects jobs by their settings.

    Args:
        jobs: Jobs of one experiment.
        conditions: As in "n=200"; of several about one setting, one must hold.

    Raises:
        OptionError: A condition has another form, or a name or a value that no job has.
    """
    wanted: dict[str, set[str]] = {}
    for condition in conditions:
        name, mark, value = condition.partition("=")
        if not mark:
            raise OptionError(f"a condition is NAME=VALUE, as in n=200, and not {condition!r}")
        there = {job.settings[name] for job in jobs if name in job.settings}
        if not there:
            raise unknown("setting", name, jobs[0].settings if jobs else ())
        if value not in there:
            raise unknown(f"value of {name}", value, there)
        wanted.setdefault(name, set()).add(value)
    return [
        job
        for job in jobs
        if all(job.settings.get(name) in values for name, values in wanted.items())
    ]


PROVENANCE_COLUMNS = ("seconds", "threads", "machine", "versions", "weights_sha256", "error")
