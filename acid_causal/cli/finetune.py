"""`acid-causal finetune`: a model for the kind of data that a table holds."""

from pathlib import Path
from typing import Annotated

import typer

from acid_causal.cli.destinations import claim_file
from acid_causal.cli.options import (
    METHOD,
    RESULTS,
    Categorical,
    Device,
    Drop,
    Json,
    Keep,
    Missing,
    Model,
    Ordered,
    Overwrite,
    Table,
    Threads,
    check_options,
    set_threads,
)
from acid_causal.cli.output import print_json, warnings_as_lines
from acid_causal.cli.tables import choose_columns, read_columns, with_format_options
from acid_causal.errors import require
from acid_causal.options import defaults
from acid_causal.tables.table_file import Format, read_table_file, table_name

ENDING = ".safetensors"


@with_format_options
def finetune(
    data: Table,
    columns: Keep = None,
    drop: Drop = None,
    missing: Missing = defaults.MISSING,
    categorical: Categorical = None,
    ordered: Ordered = None,
    *,
    form: Format,
    model: Model = defaults.MODEL,
    steps: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Training steps, at most.", rich_help_panel=METHOD),
    ] = defaults.FINETUNING_STEPS,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Random seed.", rich_help_panel=METHOD)
    ] = 0,
    null_questions: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1000,
            rich_help_panel=METHOD,
            help="Independent datasets to fit the null distribution to.",
        ),
    ] = defaults.FINETUNING_NULL_QUESTIONS,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=RESULTS,
            help="The weights file to write; default: NAME-acid.safetensors.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    device: Device = defaults.DEVICE,
    threads: Threads = 0,
) -> None:
    """Adapt a model to the kind of data in a table; no label and no graph is needed.

    \b
    Examples:
      acid-causal finetune data.csv
      acid-causal finetune data.csv --out mine.safetensors --steps 1000
      acid-causal discover data.csv --model mine.safetensors
    """  # noqa: D301
    check_options(model=model, missing=missing)
    with warnings_as_lines():
        whole = read_table_file(data, form)
        table = read_columns(
            whole,
            choose_columns(list(whole.columns), columns or [], drop or []),
            marks=form.marks,
            missing=missing,
            categorical=categorical,
            ordered=ordered,
        )
        # Check the destination now, and not after minutes of work.
        path = out or Path(f"{table_name(data)}-acid{ENDING}")
        require(path.suffix == ENDING, "--out", str(path), f"a {ENDING} file")
        path = claim_file("--out", path, read=[data, Path(model)], overwrite=overwrite)

        from acid_causal.training.finetuning import finetune as adapt

        set_threads(threads)
        adapted = adapt(
            table,
            model=model,
            steps=steps,
            seed=seed,
            device=device,
            null_questions=null_questions,
        )
    adapted.save_or_keep(path)
    if as_json:
        print_json({"name": adapted.name, "path": str(path), "sha256": adapted.sha256})
    else:
        typer.echo(f"wrote {path}; use it with --model {path}")
