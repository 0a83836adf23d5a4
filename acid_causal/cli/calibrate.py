"""`acid-causal calibrate`: fits the null distributions of a model again."""

from pathlib import Path
from typing import Annotated

import typer

from acid_causal.cli.destinations import claim_file
from acid_causal.cli.options import Device, Json, Overwrite, Threads, check_options, set_threads
from acid_causal.cli.output import print_json
from acid_causal.options import defaults


def calibrate(
    model: Annotated[str, typer.Argument(help="A model's name or its weights file.")],
    out: Annotated[Path, typer.Argument(help="The weights file to write.")],
    seed: Annotated[int, typer.Option(help="Random seed.")] = 1,
    questions: Annotated[
        int, typer.Option(min=1000, help="How many independent datasets to fit to.")
    ] = defaults.NULL_QUESTIONS,
    overwrite: Overwrite = False,
    device: Device = defaults.DEVICE,
    threads: Threads = 0,
    as_json: Json = False,
) -> None:
    """Fit the null distributions of a model again, and write the model to OUT.

    \b
    Example:
      acid-causal calibrate acid-base recalibrated.safetensors --seed 2
    """  # noqa: D301
    check_options(model=model)
    # Check the destination now, and not after minutes of work.
    out = claim_file("OUT", out, read=[Path(model)], overwrite=overwrite)

    from dataclasses import replace

    from acid_causal.calibration.fitting import fit_null
    from acid_causal.compute.device import resolve_device
    from acid_causal.weights.checkpoint import load_model

    set_threads(threads)
    where = resolve_device(device)
    trained = load_model(model)
    null = fit_null(
        trained.network.to(where),
        trained.recipe.stream,
        seed=seed,
        questions=questions,
        device=where,
    )
    history = {**trained.history, "null_questions": questions}
    fitted = replace(trained, null=null, history=history)
    fitted.save_or_keep(out)
    if as_json:
        print_json({"name": fitted.name, "path": str(out), "sha256": fitted.sha256})
    else:
        typer.echo(f"wrote {out}")
