"""The command line: `acid-causal`."""

import json
import math
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from acid_causal.errors import AcidError, AcidWarning, InputError, require, unknown

# What a shell says of a command that Ctrl-C ended.
_INTERRUPTED = 130

app = typer.Typer(
    help="A learned conditional independence test for causal discovery.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

# Options that several commands have.
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Threads = Annotated[int, typer.Option(min=0, help="CPU threads; 0: as many as cores.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("test")
def ask(
    data: Annotated[Path, typer.Argument(help="The table: CSV, or TSV, with a header.")],
    x: Annotated[str, typer.Argument(metavar="X", help="A column's name.")],
    y: Annotated[str, typer.Argument(metavar="Y", help="Another column's name.")],
    given: Annotated[
        str, typer.Option(help="Columns of the conditioning set, separated by commas.")
    ] = "",
    model: Annotated[str, typer.Option(help="A model's name or its weights file.")] = "acid-base",
    null: Annotated[str, typer.Option(help="conditional or pooled.")] = "conditional",
    missing: Annotated[str, typer.Option(help="raise, or drop incomplete rows.")] = "raise",
    alpha: Annotated[float, typer.Option(min=0, max=1, help="Level of the test.")] = 0.05,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Test whether X and Y are independent given other columns of a table."""
    from acid_causal.table_file import read_table_file
    from acid_causal.tester import Tester

    frame = read_table_file(data)
    cond = _read_columns(x, y, given, list(frame.columns))
    with _warnings_as_lines():
        # Only the columns of the question, so that the others may hold anything.
        asked = frame[[x, y, *cond]]
        tester = Tester(asked, model=model, device=device, null=null, missing=missing)
        answer = tester.test(0, 1, range(2, 2 + len(cond)))
    dependent = answer.pvalue <= alpha
    if as_json:
        # JSON knows no infinity, which is the statistic of a constant column.
        finite = answer.statistic if math.isfinite(answer.statistic) else None
        row = {
            "x": x, "y": y, "given": cond, "pvalue": answer.pvalue, "log_pvalue": answer.log_pvalue,
            "statistic": finite, "probability": answer.probability, "n": answer.n, "alpha": alpha,
            "dependent": dependent, "model": tester.model.name, "null": null,
        }  # fmt: skip
        typer.echo(json.dumps(row, indent=2, allow_nan=False))
        return
    verdict = "is rejected" if dependent else "is not rejected"
    question = f"{x} and {y}" + (f" given {', '.join(cond)}" if cond else "")
    typer.echo(f"independence of {question} {verdict} at alpha = {alpha:g}")
    typer.echo(f"p-value      {answer.pvalue:.4g}")
    typer.echo(f"statistic    {answer.statistic:.4g}")
    typer.echo(f"probability  {answer.probability:.4g} of dependence")
    typer.echo(f"n            {answer.n}")


def _read_columns(x: str, y: str, given: str, columns: Sequence[str]) -> list[str]:
    """Splits the names of the conditioning set, and checks that all names make a question."""
    # A name may hold commas itself.
    parts = [given] if given in columns else [part.strip() for part in given.split(",")]
    cond = [name for name in dict.fromkeys(parts) if name]
    for name in (x, y, *cond):
        if name not in columns:
            raise unknown("column", name, columns)
    if x == y:
        raise InputError(f"the column {x!r} cannot be tested against itself")
    for name in (x, y):
        if name in cond:
            raise InputError(f"the column {name!r} is tested and conditioned on at once")
    return cond


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Prints warnings of ours at the end, without a line of code that means nothing here."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AcidWarning)
        yield
    for warning in caught:
        typer.echo(f"warning: {warning.message}", err=True)


@app.command()
def train(
    recipe: Annotated[Path, typer.Argument(help="The recipe, a TOML file.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; default: runs/NAME of the recipe.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last checkpoint.")
    ] = False,
    start: Annotated[
        str | None, typer.Option("--from", help="Start from a model's weights (a name or a file).")
    ] = None,
    device: Device = "auto",
    threads: Threads = 0,
    null_questions: Annotated[
        int, typer.Option(min=1000, help="H0 questions that the null is fitted to at the end.")
    ] = 100_000,
) -> None:
    """Train a model, fit its null distribution and write OUT/NAME.safetensors.

    A stopped run goes on with --resume, with the same data as if it had never stopped. On several
    GPUs: torchrun --nproc_per_node=G -m acid_causal.cli train RECIPE.toml
    """
    from acid_causal.recipe import Recipe
    from acid_causal.training import default_folder, state_file, train_model

    _set_threads(threads)
    read = Recipe.read(recipe)
    folder = out or default_folder(read)
    try:
        path = train_model(
            read, folder, resume=resume, start=start, device=device, null_questions=null_questions
        )
    except KeyboardInterrupt:
        if state_file(folder).exists():
            again = ["acid-causal", "train", str(recipe), "--out", str(folder), "--resume"]
            again += ["--from", start] if start else []
            typer.echo(f"stopped; go on from the last checkpoint: {shlex.join(again)}", err=True)
        else:
            typer.echo("stopped before the first checkpoint; start again", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    if path is not None:
        typer.echo(f"wrote {path}")


@app.command()
def calibrate(
    model: Annotated[str, typer.Argument(help="A model's name or its weights file.")],
    out: Annotated[Path, typer.Argument(help="The weights file to write.")],
    seed: Annotated[int, typer.Option(help="Of the H0 questions.")] = 1,
    questions: Annotated[int, typer.Option(min=1000, help="How many H0 questions.")] = 100_000,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Fit the null distributions of a model anew and write it to OUT."""
    from dataclasses import replace

    from acid_causal.calibration import fit_null
    from acid_causal.checkpoint import load_model
    from acid_causal.device import resolve_device

    _set_threads(threads)
    where = resolve_device(device)
    trained = load_model(model)
    # A place that cannot be written to is told now, and not after minutes of work.
    out.parent.mkdir(parents=True, exist_ok=True)
    require(not out.is_dir(), "OUT", str(out), "a file")
    null = fit_null(
        trained.network.to(where), trained.recipe.stream, seed=seed, questions=questions,
        device=where,
    )  # fmt: skip
    history = {**trained.history, "null_questions": questions}
    replace(trained, null=null, history=history).save(out)
    typer.echo(f"wrote {out}")


@app.command()
def models(
    as_json: Json = False,
) -> None:
    """List the models that come with the package."""
    from acid_causal.checkpoint import available_models, load_model

    rows = []
    for name in available_models():
        model = load_model(name)
        rows.append({"name": name, "sha256": model.sha256, **model.history})
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        typer.echo(
            f"{row['name']:<14}{row.get('steps', '?'):>8} steps   sha256 {row['sha256'][:16]}"
        )


def _set_threads(threads: int) -> None:
    import torch

    if threads:
        torch.set_num_threads(threads)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line; a user's mistake ends in a message, not in a traceback.

    Args:
        arguments: instead of those of the process.

    Raises:
        SystemExit: always; the status is 0, 1 (the system), 2 (the user) or 130 (Ctrl-C).
    """
    try:
        app(args=arguments, prog_name="acid-causal")
    except AcidError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
