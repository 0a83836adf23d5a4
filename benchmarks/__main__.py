"""The command line: `python -m benchmarks NAME [--methods a,b] [--quick] [--out DIR]`."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from acid_causal.errors import AcidError, unknown
from benchmarks import methods as ci_methods
from benchmarks.experiments import EXPERIMENTS
from benchmarks.jobs import Experiment, Job, Row
from benchmarks.runner import run_jobs
from benchmarks.store import Store, frame

RESULTS = Path(__file__).with_name("results")
# A quick run's rows are too few to publish, so they stay out of the committed results.
QUICK_RESULTS = Path("runs/quick")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(EXPERIMENTS)}.")],
    methods: Annotated[
        str, typer.Option(help="Methods, separated by commas; acid:NAME is another model.")
    ] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A reduced run of minutes.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of NAME.csv and NAME.png [benchmarks/results, or runs/quick]."),
    ] = None,
    n_jobs: Annotated[
        int, typer.Option(help="Jobs at a time; only 1 gives honest seconds.", min=1)
    ] = 1,
    threads: Annotated[int, typer.Option(help="Threads of each job.", min=1)] = 1,
) -> None:
    """Runs an experiment, skipping rows that are there, then prints its table and draws it."""
    try:
        failures = run_experiment(
            name, methods, quick=quick, out=out, n_jobs=n_jobs, threads=threads
        )
    except AcidError as error:
        raise typer.BadParameter(str(error)) from error
    raise typer.Exit(code=1 if failures else 0)


def run_experiment(
    name: str,
    methods: str = "",
    *,
    quick: bool = False,
    out: Path | None = None,
    n_jobs: int = 1,
    threads: int = 1,
) -> int:
    """Does what the command line asks.

    Returns:
        The number of failed jobs.

    Raises:
        OptionError: There is no such experiment, or it has no such method.
        InputError: The CSV cannot be used.
    """
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS)
    experiment = EXPERIMENTS[name]
    offered = experiment.quick_methods if quick else experiment.methods
    chosen = ci_methods.pick(methods.split(","), experiment.methods) if methods else list(offered)
    folder = out or (QUICK_RESULTS if quick else RESULTS)
    jobs = experiment.jobs(chosen, quick)
    store = Store(folder / f"{name}.csv", experiment)
    run_jobs(experiment, jobs, store, n_jobs=n_jobs, threads=threads)
    return _report(experiment, jobs, store, folder)


def _report(experiment: Experiment, jobs: list[Job], store: Store, folder: Path) -> int:
    rows = store.rows(jobs)  # all of them have just been run
    good = [row for row in rows if not row["error"]]
    if good:
        picture = folder / f"{experiment.name}.png"
        typer.echo(experiment.report(frame(good, experiment.columns), picture))
        typer.echo(f"\nRows: {store.path}   Picture: {picture}")
    for line in _notes(good, rows):
        typer.echo(line)
    return len(rows) - len(good)


def _notes(good: list[Row], rows: list[Row]) -> list[str]:
    """Says what a reader of the table must know about its rows."""
    notes = []
    for column in ("machine", "versions", "threads"):
        kinds = sorted({row[column] for row in good})
        if len(kinds) > 1:
            notes.append(f"NOTE: the rows differ in {column}: {' | '.join(kinds)}")
    errors = [f"{row['method']}: {row['error']}" for row in rows if row["error"]]
    for error in dict.fromkeys(errors):
        notes.append(f"FAILED ({errors.count(error)} of {len(rows)} rows): {error}")
    return notes


if __name__ == "__main__":
    # FCI of causal-learn walks through sets, so its graph can change with the hash seed.
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})
    app(prog_name="python -m benchmarks")
