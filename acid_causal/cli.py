"""The command line: `acid-causal`."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from acid_causal.errors import AcidError

app = typer.Typer(
    help="A learned conditional independence test for causal discovery.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int, typer.Option(min=0, help="CPU threads; 0: as many as cores.")] = 0,
    null_questions: Annotated[
        int, typer.Option(min=1000, help="H0 questions that the null is fitted to at the end.")
    ] = 100_000,
) -> None:
    """Train a model, fit its null distribution and write OUT/NAME.safetensors.

    A stopped run goes on with --resume, with the same data as if it had never stopped. On several
    GPUs: torchrun --nproc_per_node=G -m acid_causal.cli train RECIPE.toml
    """
    import torch

    from acid_causal.recipe import Recipe
    from acid_causal.training import train_model

    if threads:
        torch.set_num_threads(threads)
    path = train_model(
        Recipe.read(recipe), out, resume=resume, start=start, device=device,
        null_questions=null_questions,
    )  # fmt: skip
    if path is not None:
        typer.echo(f"wrote {path}")


@app.command()
def calibrate(
    model: Annotated[str, typer.Argument(help="A model's name or its weights file.")],
    out: Annotated[Path, typer.Argument(help="The weights file to write.")],
    seed: Annotated[int, typer.Option(help="Of the H0 questions.")] = 1,
    questions: Annotated[int, typer.Option(min=1000, help="How many H0 questions.")] = 100_000,
) -> None:
    """Fit the null distributions of a model anew and write it to OUT."""
    from dataclasses import replace

    from acid_causal.calibration import fit_null
    from acid_causal.checkpoint import load_model

    trained = load_model(model)
    null = fit_null(trained.network, trained.recipe.stream, seed=seed, questions=questions)
    replace(trained, null=null).save(out)
    typer.echo(f"wrote {out}")


@app.command()
def models(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
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


def main() -> None:
    """Runs the command line; a user's mistake ends in a message, not in a traceback."""
    try:
        app()
    except AcidError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
