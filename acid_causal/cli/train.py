"""`acid-causal train`: trains a model from a recipe."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from acid_causal.cli.destinations import claim_file
from acid_causal.cli.options import Device, Json, Overwrite, Threads, set_threads
from acid_causal.cli.output import Stopped, print_json, warnings_as_lines
from acid_causal.errors import WriteError
from acid_causal.options import defaults

# Value of `--from` for random weights.
_RANDOM = "random"


def train(
    recipe: Annotated[
        Path, typer.Argument(help="The recipe: a TOML file, or the name of a shipped model.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the run. Default: runs/NAME, by the recipe's name."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last checkpoint.")
    ] = False,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Start from a model's weights (a name or a file), or from random ones "
            f"({_RANDOM}). Default: random for a recipe of your own; a shipped model goes on from "
            "its weights.",
        ),
    ] = None,
    device: Device = defaults.DEVICE,
    threads: Threads = 0,
    null_questions: Annotated[
        int, typer.Option(min=1000, help="Independent datasets to fit the null distribution to.")
    ] = defaults.NULL_QUESTIONS,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Train a model, fit its null distribution and write OUT/NAME.safetensors.

    --resume continues a stopped run; the data are the same as without the stop.

    \b
    Examples:
      acid-causal train recipe.toml --out runs/mine
      acid-causal train recipe.toml --out runs/mine --resume
      acid-causal train acid-base --out runs/longer
      torchrun --nproc_per_node=4 -m acid_causal.cli train recipe.toml
    """  # noqa: D301
    from acid_causal.training.state import state_file
    from acid_causal.training.trainer import default_folder, train_model
    from acid_causal.weights.recipe import Recipe
    from acid_causal.weights.shipped import earlier_stages, find_recipe

    set_threads(threads)
    file = find_recipe(recipe)
    read = Recipe.read(file)
    given, shipped = start, file != recipe
    if shipped and given is None:
        start = read.name
        typer.echo(
            f"{read.name} was trained in stages. {earlier_stages(file)} This run repeats the last "
            f"stage from the shipped weights, so the model goes through all stages, and the last "
            f"one twice; --from {_RANDOM} starts from random weights and has this stage alone.",
            err=True,
        )
    elif given == _RANDOM:
        start = None
    folder = out or default_folder(read)
    if not resume:
        weights = folder / f"{read.name}.safetensors"
        sources = [recipe] if start is None else [recipe, Path(start)]
        replaces = overwrite or state_file(folder).exists()
        claim_file("--out", weights, read=sources, overwrite=replaces)
    try:
        with warnings_as_lines(at_once=True):
            path = train_model(
                read,
                folder,
                resume=resume,
                start=start,
                device=device,
                null_questions=null_questions,
            )
    except (KeyboardInterrupt, WriteError) as stop:
        if state_file(folder).exists():
            again = ["acid-causal", "train", str(recipe), "--out", str(folder), "--resume"]
            again += ["--from", given] if given else []
            hint = f"go on from the last checkpoint: {shlex.join(again)}"
        else:
            hint = "no checkpoint was made; start again"
        if isinstance(stop, WriteError):
            raise WriteError(f"{stop}. Make room; then {hint}") from stop
        raise Stopped(hint) from None
    if path is None:  # one of several processes, and not the one that writes
        return
    if as_json:
        print_json({"name": read.name, "path": str(path)})
    else:
        typer.echo(f"wrote {path}")
