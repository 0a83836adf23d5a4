"""Recipes: TOML files that determine a trained model."""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from acid_causal.errors import OptionError, require, unknown
from acid_causal.files import read_bytes, user_path
from acid_causal.model import ModelConfig
from acid_causal.synthetic import StreamConfig

T = TypeVar("T")

PRECISIONS = ("float32", "bfloat16")
# A name is also used as a folder, a file and an argument on the command line.
_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._-]*")
_MAX_BYTES = 1_000_000
# The seed of a step is that of the run times a million, and must fit in 64 bits.
_MAX_SEED = 2**40


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained.

    Attributes:
        steps: optimiser steps; each uses one batch of the stream.
        learning_rate: peak learning rate of Adam.
        warmup: steps of linear increase, followed by cosine decay to a hundredth of the peak.
        clip: gradients are clipped to this norm.
        checkpoint_every: steps between checkpoints.
        precision: "float32", or "bfloat16" for matrix products in bf16 by autocast, on CUDA only.
        compile: compile the loss with torch.compile. Each d_z needs its own compilation, of about a
            minute on a CPU, so this only helps in long runs on a GPU.
    """

    steps: int = 20_000
    learning_rate: float = 2e-3
    warmup: int = 200
    clip: float = 1.0
    checkpoint_every: int = 500
    precision: str = "float32"
    compile: bool = False

    def __post_init__(self) -> None:
        require(self.steps >= 1, "steps", self.steps, "at least 1")
        for name in ("learning_rate", "clip"):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, "a positive number")
        require(self.warmup >= 0, "warmup", self.warmup, "at least 0")
        every = self.checkpoint_every
        require(every >= 1, "checkpoint_every", every, "at least 1")
        known = self.precision in PRECISIONS
        require(known, "precision", self.precision, f"one of {', '.join(PRECISIONS)}")


@dataclass(frozen=True)
class Recipe:
    """Everything that determines a model's weights.

    Attributes:
        name: the model's name: letters, digits, ".", "_" and "-".
        seed: seed of initialisation, stream and dropout.
        model: the architecture.
        stream: the training data.
        training: the optimisation.
    """

    name: str
    seed: int = 0
    model: ModelConfig = field(default_factory=ModelConfig)
    stream: StreamConfig = field(default_factory=StreamConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        ok = _NAME.fullmatch(self.name) is not None
        expected = "letters, digits, '.', '_' and '-', the first a letter or a digit"
        require(ok, "name", self.name, expected)
        require(0 <= self.seed < _MAX_SEED, "seed", self.seed, "from 0 to 2^40 - 1")

    @classmethod
    def read(cls, path: str | Path) -> "Recipe":
        """Reads a TOML file.

        Raises:
            OptionError: an unknown key, a wrong type or value, or no valid TOML.
        """
        path = user_path(path)
        try:
            text = read_bytes(path, most=_MAX_BYTES).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(f"cannot read the recipe {str(path)!r}: {error}") from error
        try:
            return cls.from_dict(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise OptionError(f"{str(path)!r} is not valid TOML: {error}") from error

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> "Recipe":
        """Builds a recipe from nested dictionaries; unknown keys are errors."""
        table = dict(table)
        sections = {"model": ModelConfig, "stream": StreamConfig, "training": TrainingConfig}
        for key, section in sections.items():
            if key in table:
                table[key] = _dataclass(section, table[key], f"[{key}]")
        return _dataclass(cls, table, "recipe")

    def to_dict(self) -> dict[str, Any]:
        """Returns the recipe as nested dictionaries, the input of `from_dict`."""
        return asdict(self)


def _dataclass(cls: type[T], table: object, where: str) -> T:
    if not isinstance(table, Mapping):
        raise OptionError(f"{where} must be a table, not {table!r}")
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    values = {}
    for key, value in table.items():
        if key not in known:
            raise unknown(f"key in {where}:", key, known)
        values[key] = _checked(value, known[key].type, f"{key} in {where}")
    if "name" in known and "name" not in values:
        raise OptionError(f"{where} needs a name")
    return cls(**values)


def _checked(value: Any, expected: Any, where: str) -> Any:
    """Checks the type of a value, and converts a list of two bounds to a tuple."""
    if expected in (tuple[int, int], tuple[float, float]):
        kinds = (int,) if expected == tuple[int, int] else (int, float)
        # type() and not isinstance(), as a bool is an instance of int.
        ok = isinstance(value, list | tuple) and all(type(v) in kinds for v in value)
        what = "whole numbers" if kinds == (int,) else "numbers"
        require(ok and len(value) == 2, where, value, f"two increasing {what}")
        return tuple(value)
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(expected, type):
        require(type(value) is expected, where, value, f"of type {expected.__name__}")
    return value
