"""The checkpoint of a training run, from which it can be resumed exactly."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from acid_causal.errors import AcidError, ModelError
from acid_causal.model import ACIDModel
from acid_causal.training.processes import rank_and_world
from acid_causal.weights.recipe import Recipe
from acid_causal.weights.tensor_file import TensorFile, open_tensors, save_tensors

_ADAM = ("step", "exp_avg", "exp_avg_sq")
# Share of the old value in the running mean of the loss.
_MEMORY = 0.99


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Attributes:
        step: steps done.
        seconds: time that they took.
        loss: running mean of the loss, in nats; None before the first step.
    """

    step: int = 0
    seconds: float = 0.0
    loss: float | None = None

    def after(self, loss: float, seconds: float) -> "Progress":
        """Adds a step."""
        mean = loss if self.loss is None else _MEMORY * self.loss + (1 - _MEMORY) * loss
        return Progress(self.step + 1, self.seconds + seconds, mean)


def state_file(folder: Path) -> Path:
    """Returns where a run keeps its last checkpoint; there is none before the first."""
    return folder / "state.safetensors"


def save_state(
    path: Path, model: ACIDModel, optimiser: torch.optim.Adam, recipe: Recipe, progress: Progress
) -> None:
    """Writes the state, atomically.

    Raises:
        WriteError: it cannot be written; the last one stays whole.
    """
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        for key, value in optimiser.state[parameter].items():
            tensors[f"adam.{key}.{name}"] = value
    _, world = rank_and_world()
    save_tensors(path, tensors, {**asdict(progress), "world": world, "recipe": recipe.to_dict()})


def read_progress(path: Path) -> Progress:
    """Reads how far a run has come.

    Raises:
        ModelError: there is no such file, or it is damaged.
    """
    with open_tensors(path) as file:
        return _read_header(path, file)[0]


def load_state(
    path: Path, model: ACIDModel, optimiser: torch.optim.Adam, recipe: Recipe
) -> Progress:
    """Restores the saved state of a model and its optimiser.

    Raises:
        ModelError: there is none; it is damaged, and then it is left as it is; or it was made by
            another recipe or by another number of processes.
    """
    if not path.exists():
        raise ModelError(
            f"there is no checkpoint yet in {str(path.parent)!r}: start without --resume"
        )
    with open_tensors(path) as file:
        progress, made_by, before = _read_header(path, file)
        if made_by != recipe:
            raise ModelError(f"{str(path)!r} was made by another recipe; resume with that recipe")
        _, world = rank_and_world()
        # Each process draws its own batches, so another number of processes changes the data.
        if before != world:
            raise ModelError(
                f"{str(path)!r} was made by {before} processes, and this run has {world}; "
                f"resume with {before}"
            )
        if not 1 <= progress.step <= recipe.training.steps:
            raise ModelError(
                f"{str(path)!r} is damaged: it tells of step {progress.step}, of "
                f"{recipe.training.steps}; it was left as it is"
            )
        file.require(_expected(model, file))
        tensors = file.read()
    model.load_state_dict(
        {k.removeprefix("model."): v for k, v in tensors.items() if k.startswith("model.")}
    )
    for name, parameter in model.named_parameters():
        optimiser.state[parameter] = {
            # Adam keeps its step count on the CPU.
            key: (value if key == "step" else value.to(model.device))
            for key in _ADAM
            if (value := tensors.get(f"adam.{key}.{name}")) is not None
        }
    return progress


def _read_header(path: Path, file: TensorFile) -> tuple[Progress, Recipe, int]:
    """Reads progress, recipe and the number of processes."""
    header = file.header
    try:
        # Old files lack time, loss and the number of processes.
        loss = header.get("loss")
        progress = Progress(
            step=int(_number(header["step"])),
            seconds=_number(header.get("seconds", 0.0)),
            loss=None if loss is None else float(loss),
        )
        world = int(_number(header.get("world", 1)))
        return progress, Recipe.from_dict(header["recipe"]), world
    except (AcidError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{str(path)!r} is not the state of a training run of this version "
            f"({type(error).__name__}: {error!s:.300}); it was left as it is. Start again in "
            "another folder"
        ) from error


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        raise ValueError(f"{value!r:.100} where a number was expected")
    return float(value)


def _expected(model: ACIDModel, file: TensorFile) -> dict[str, tuple[int, ...]]:
    """Returns the tensors a state must hold; Adam has none for weights without a gradient yet."""
    shapes = {f"model.{name}": tuple(value.shape) for name, value in model.state_dict().items()}
    parameters: dict[str, Tensor] = dict(model.named_parameters())
    for name, parameter in parameters.items():
        if any(f"adam.{key}.{name}" in file.shapes for key in _ADAM):
            of_each = ((), tuple(parameter.shape), tuple(parameter.shape))
            shapes |= {f"adam.{k}.{name}": s for k, s in zip(_ADAM, of_each, strict=True)}
    return shapes
