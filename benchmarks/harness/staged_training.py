"""Training in stages: a run stops at given steps for evaluation, and resumes without a difference.

A run is kept in a folder, and the next stage resumes from there. After a change of the model's code
remove the folder, since its networks were trained with the old code.
"""

from contextlib import suppress
from pathlib import Path

import torch
from filelock import FileLock

from acid_causal.errors import InputError
from acid_causal.model import ACIDModel
from acid_causal.training.state import read_progress, state_file
from acid_causal.training.trainer import Trainer
from acid_causal.weights.recipe import Recipe
from acid_causal.weights.tensor_file import read_tensors, save_tensors


class _StoppedError(Exception):
    """The run has reached the step at which it should stop; its state is saved."""


def stage_file(folder: Path, step: int) -> Path:
    """Returns the file of a run's network at a step."""
    return folder / f"step-{step}.safetensors"


def network_at(
    recipe: Recipe, folder: Path, step: int, kept: frozenset[int], device: torch.device
) -> ACIDModel:
    """Returns the network of a run at a step; trains up to that step if necessary.

    Args:
        recipe: The recipe of the run.
        folder: The folder of the run.
        step: One of `kept`.
        kept: Steps whose networks are kept in files, the same at each call; the recipe must make a
            checkpoint at each.
        device: Device of the training.

    Returns:
        The network in evaluation mode, on the device.

    Raises:
        InputError: The folder holds the run of another recipe, or a run that has passed this step
            without keeping it.
    """
    path = stage_file(folder, step)
    folder.mkdir(parents=True, exist_ok=True)
    # Parallel jobs on one run wait for one another.
    with FileLock(folder / "lock"):
        if not path.exists():
            resume = state_file(folder).exists()
            if resume and read_progress(state_file(folder)).step >= step:
                raise InputError(
                    f"the run in {str(folder)!r} has passed step {step} without keeping it; "
                    "remove the folder"
                )

            def keep(model: ACIDModel, reached: int) -> None:
                if reached in kept:
                    header = {"recipe": recipe.to_dict(), "step": reached}
                    save_tensors(stage_file(folder, reached), model.state_dict(), header)
                if reached == step:
                    raise _StoppedError

            with suppress(_StoppedError):
                Trainer(recipe, folder, device, resume, on_save=keep).run(progress=False)
    tensors, header = read_tensors(path)
    if Recipe.from_dict(header["recipe"]) != recipe:
        raise InputError(f"{str(folder)!r} holds the run of another recipe; remove the folder")
    network = ACIDModel(recipe.model).to(device)
    network.load_state_dict(tensors)
    return network.eval()
