"""What a benchmark consists of: jobs, rows and experiments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

Scalar = str | int | float
# None is a figure that does not apply to the job (blank in the CSV); NaN is never written.
Results = dict[str, Scalar | None]
Row = dict[str, str]


@dataclass(frozen=True)
class Job:
    """One row's worth of work, told apart from all others by these four fields.

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
        return dict(self.setting)[name]

    def number(self, name: str) -> int:
        """Returns a setting that is a whole number."""
        return int(self[name])

    def identity(self) -> Row:
        """Returns the fields as the CSV holds them."""
        setting = {name: str(value) for name, value in self.setting}
        fixed = {"experiment": self.experiment, "method": self.method}
        return {**fixed, **setting, "seed": str(self.seed)}


@dataclass(frozen=True)
class Experiment:
    """An experiment as the harness runs it.

    Attributes:
        name: What is typed after `python -m benchmarks`.
        methods: The methods of a full run; `--methods` picks from them.
        quick_methods: The methods of a quick run.
        setting_columns: Columns that tell settings apart.
        result_columns: Columns that `run` fills.
        jobs: From (methods, quick) to the jobs, in the order of running.
        run: From a job to its results. It may raise: then the row holds the error.
        unit: Setting columns whose values can be reported one without another, because each takes
            hours: a table is made of the complete ones. Empty if the table needs every job.
        report: From (rows of all jobs, path of the picture) to the text to print; draws the
            picture.
            The rows are numbers where they look like numbers; failed ones are not among them.
        runs_here: Whether this machine can run a job; others are left out of a run.
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


PROVENANCE_COLUMNS = ("seconds", "threads", "machine", "versions", "weights_sha256", "error")
