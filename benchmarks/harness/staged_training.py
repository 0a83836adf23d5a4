"""Training in stages: a run stops at a step, is looked at, and goes on as if it never had stopped.

A run lives in a folder, as every training run does; a later stage goes on from what is there. After
a change of the model's code remove the folder, or its networks will mix old and new.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch
from filelock import FileLock

from acid_causal.errors import InputError
from acid_causal.model import ACIDModel
from acid_causal.training.state import Progress, read_progress, state_file
from acid_causal.training.trainer import Trainer
from acid_causal.weights.recipe import Recipe
from acid_causal.weights.tensor_file import read_tensors, save_tensors


class _StoppedError(Exception):
    """The run has reached the step at which it should stop; its state is saved."""


@dataclass
class StagedTrainer(Trainer):
    """A training run that keeps its network at some steps and stops at one of them.

    Attributes:
        kept: Steps whose networks are kept in files; the recipe makes a checkpoint at each.
        stop: The step at which to stop.
    """

    kept: frozenset[int] = frozenset()
    stop: int = 0

    def _save(self, model: ACIDModel, optimiser: torch.optim.Adam, progressed: Progress) -> None:
        super()._save(model, optimiser, progressed)
        step = progressed.step
        if step in self.kept:
            header = {"recipe": self.recipe.to_dict(), "step": step}
            save_tensors(stage_file(self.folder, step), model.state_dict(), header)
        if step == self.stop:
            raise _StoppedError


def stage_file(folder: Path, step: int) -> Path:
    """Returns where a run keeps its network of a step."""
    return folder / f"step-{step}.safetensors"


def network_at(
    recipe: Recipe, folder: Path, step: int, kept: frozenset[int], device: torch.device
) -> ACIDModel:
    """Returns the network of a run at a step, training on until there if need be.

    Args:
        recipe: What is trained.
        folder: Where the run lives.
        step: One of `kept`.
        kept: Steps whose networks are kept, the same at each call.
        device: Where to train.

    Returns:
        The network in evaluation mode, on the device.

    Raises:
        InputError: The folder holds the run of another recipe, or one that went on without keeping
            this step.
    """
    path = stage_file(folder, step)
    folder.mkdir(parents=True, exist_ok=True)
    # Jobs of one run that are started side by side wait for one another.
    with FileLock(folder / "lock"):
        if not path.exists():
            resume = state_file(folder).exists()
            if resume and read_progress(state_file(folder)).step >= step:
                raise InputError(
                    f"the run in {str(folder)!r} has left step {step} behind; remove it"
                )
            with suppress(_StoppedError):
                StagedTrainer(recipe, folder, device, resume, kept=kept, stop=step).run(
                    progress=False
                )
    tensors, header = read_tensors(path)
    if Recipe.from_dict(header["recipe"]) != recipe:
        raise InputError(f"{str(folder)!r} holds the run of another recipe; remove it")
    network = ACIDModel(recipe.model).to(device)
    network.load_state_dict(tensors)
    return network.eval()
