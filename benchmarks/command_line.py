"""The command line: `python -m benchmarks NAME [--methods a,b] [--quick] [--out DIR]`.

NAME is an experiment, or `all` for one after another.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from acid_causal.cli.output import INTERRUPTED
from acid_causal.errors import AcidError, OptionError, unknown
from benchmarks import methods as ci_methods
from benchmarks.experiments import EXPERIMENTS
from benchmarks.harness import provenance
from benchmarks.harness.committed import RESULTS
from benchmarks.harness.jobs import Experiment, Job, Row, select_jobs
from benchmarks.harness.runner import run_jobs
from benchmarks.harness.store import Store, frame
from benchmarks.harness.tables import aligned

ALL = "all"
NONE_OF_THEM = "has none of these methods"
# A quick run's rows are too few to publish, so they stay out of the committed results.
QUICK_RESULTS = Path("runs/quick")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(EXPERIMENTS)}; or {ALL}.")],
    methods: Annotated[
        str, typer.Option(help="Methods, separated by commas; acid:NAME is another model.")
    ] = "",
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Only jobs of this setting, as in n=200; repeatable, and for another value of the "
            "same name, too. Its rows are stored; there is no table and no picture.",
        ),
    ] = None,
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
    options: Options = {"quick": quick, "out": out, "n_jobs": n_jobs, "threads": threads}
    try:
        if name == ALL:
            if only:
                raise OptionError("--only selects jobs of one experiment, not of all")
            failures = run_all(methods, options)
        else:
            failures = run_experiment(name, methods, only=only or (), **options)
    except AcidError as error:
        raise typer.BadParameter(str(error)) from error
    raise typer.Exit(code=1 if failures else 0)


class Options(TypedDict):
    """What all experiments of a call share; see the command's help."""

    quick: bool
    out: Path | None
    n_jobs: int
    threads: int


def run_all(methods: str, options: Options) -> int:
    """Runs every experiment, whatever becomes of the ones before it, and sums up.

    Args:
        methods: Names, separated by commas; each experiment takes those that it offers.
        options: Of every experiment.

    Returns:
        The number of experiments that failed, as a whole or in some of their jobs.

    Raises:
        OptionError: No experiment has such a method.
    """
    requested = methods.split(",") if methods else []
    offered = {name for experiment in EXPERIMENTS.values() for name in experiment.methods}
    ci_methods.pick(requested, sorted(offered))
    ends = []
    for name, experiment in EXPERIMENTS.items():
        chosen = [method for method in requested if method.partition(":")[0] in experiment.methods]
        start = time.perf_counter()
        end = _outcome(name, chosen, options) if chosen or not requested else NONE_OF_THEM
        ends.append((name, end, f"{time.perf_counter() - start:.0f}"))
        typer.echo()
    typer.echo(aligned(("experiment", "outcome", "seconds"), ends))
    return sum(end not in ("ok", NONE_OF_THEM) for _, end, _ in ends)


def _outcome(name: str, methods: Sequence[str], options: Options) -> str:
    """Runs an experiment and says in a few words how it went."""
    typer.echo(f"---- {name} ----")
    try:
        failures = run_experiment(name, ",".join(methods), **options)
    except Exception as error:  # the others still run, and the summary says what happened
        return provenance.error_text(error)
    return f"{failures} jobs failed" if failures else "ok"


def run_experiment(
    name: str,
    methods: str = "",
    *,
    only: Sequence[str] = (),
    quick: bool = False,
    out: Path | None = None,
    n_jobs: int = 1,
    threads: int = 1,
) -> int:
    """Does what the command line asks.

    Returns:
        The number of failed jobs.

    Raises:
        OptionError: There is no such experiment, or it has no such method or setting.
        InputError: The CSV cannot be used, or not be written.
    """
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS)
    experiment = EXPERIMENTS[name]
    offered = experiment.quick_methods if quick else experiment.methods
    chosen = ci_methods.pick(methods.split(","), experiment.methods) if methods else list(offered)
    folder = out or (QUICK_RESULTS if quick else RESULTS)
    jobs = [job for job in experiment.jobs(chosen, quick) if experiment.runs_here(job)]
    jobs = select_jobs(jobs, only)
    store = Store(folder / f"{name}.csv", experiment)
    run_jobs(experiment, jobs, store, n_jobs=n_jobs, threads=threads)
    return _report(experiment, jobs, store, None if only else folder)


def _report(experiment: Experiment, jobs: list[Job], store: Store, folder: Path | None) -> int:
    """Prints the table and draws the picture into a folder; None: says where the rows are."""
    rows = store.rows(jobs)  # all of them have just been run
    good = [row for row in rows if not row["error"]]
    if good and folder:
        picture = folder / f"{experiment.name}.png"
        typer.echo(experiment.report(frame(good, experiment.columns), picture))
        typer.echo(f"\nRows: {store.path}   Picture: {picture}")
    elif good:
        typer.echo(f"Rows: {store.path}")
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


def run() -> None:
    """Runs the command line; Ctrl-C ends in one line and with exit code 130.

    Raises:
        SystemExit: Always.
    """
    try:
        app(prog_name="python -m benchmarks")
    except SystemExit as end:
        if end.code == INTERRUPTED:  # Typer's, which says nothing
            typer.echo("stopped; finished rows are kept, and the same command goes on", err=True)
        raise
