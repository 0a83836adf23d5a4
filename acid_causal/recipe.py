"""A recipe: everything that a trained model depends on, as one TOML file."""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from acid_causal.errors import OptionError, unknown
from acid_causal.model import ModelConfig
from acid_causal.synthetic import StreamConfig

T = TypeVar("T")

PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained.

    Attributes:
        steps: optimiser steps; one batch of the stream each.
        learning_rate: Adam's, at its peak.
        warmup: steps of linear increase; a cosine to zero follows.
        clip: largest norm of the gradient.
        checkpoint_every: steps between checkpoints.
        precision: "bfloat16" runs matrix products in bf16 by autocast; on CUDA only.
        compile: compile the network with torch.compile.
    """

    steps: int = 20_000
    learning_rate: float = 2e-3
    warmup: int = 200
    clip: float = 1.0
    checkpoint_every: int = 500
    precision: str = "float32"
    compile: bool = False

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise OptionError(f"precision must be one of {PRECISIONS}, not {self.precision!r}")
        if self.steps < 1:
            raise OptionError(f"steps must be at least 1, not {self.steps}")


@dataclass(frozen=True)
class Recipe:
    """What a weights file was made from.

    Attributes:
        name: the model's name.
        seed: of initialisation, stream and dropout.
        model: the architecture.
        stream: the training data.
        training: the optimisation.
    """

    name: str
    seed: int = 0
    model: ModelConfig = field(default_factory=ModelConfig)
    stream: StreamConfig = field(default_factory=StreamConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    @classmethod
    def read(cls, path: str | Path) -> "Recipe":
        """Reads a TOML file.

        Raises:
            OptionError: an unknown key, a wrong type or value, or no valid TOML.
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(f"cannot read the recipe {str(path)!r}: {error}") from error
        try:
            return cls.from_dict(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise OptionError(f"{str(path)!r} is not valid TOML: {error}") from error

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> "Recipe":
        """Builds a recipe from nested tables, refusing unknown keys."""
        table = dict(table)
        sections = {"model": ModelConfig, "stream": StreamConfig, "training": TrainingConfig}
        for key, section in sections.items():
            if key in table:
                table[key] = _dataclass(section, table[key], f"[{key}]")
        return _dataclass(cls, table, "recipe")

    def to_dict(self) -> dict[str, Any]:
        """Returns the recipe as nested tables that `from_dict` reads."""
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
    """Turns TOML's lists into the pairs that bounds are, and refuses wrong types."""
    if expected in (tuple[int, int], tuple[float, float]):
        kind = int if expected == tuple[int, int] else int | float
        ok = isinstance(value, list | tuple) and len(value) == 2
        if not (ok and all(isinstance(v, kind) for v in value) and value[0] <= value[1]):
            raise OptionError(f"{where} must be two increasing numbers, not {value!r}")
        return tuple(value)
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(expected, type) and type(value) is not expected:
        raise OptionError(f"{where} must be of type {expected.__name__}, not {value!r}")
    return value
