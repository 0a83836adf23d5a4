"""Weights files: safetensors with a JSON header. Nothing in them is ever executed.

The header's one entry, "acid", holds the format's version, the recipe, the null distribution and
how the weights were made.
"""

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from acid_causal.calibration.null import NullDistribution
from acid_causal.errors import AcidError, ModelError, unknown
from acid_causal.files import write_atomically
from acid_causal.model import ACIDModel
from acid_causal.weights.recipe import Recipe

_FORMAT, _VERSION = "acid-causal", 1


@dataclass(frozen=True)
class TrainedModel:
    """A trained model with its null distribution.

    Attributes:
        network: the network, in evaluation mode.
        null: the fitted null distributions.
        recipe: what it was trained on, and how.
        history: steps, hours, versions and the like, for the card.
    """

    network: ACIDModel
    null: NullDistribution
    recipe: Recipe
    history: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name in the recipe."""
        return self.recipe.name

    @cached_property
    def sha256(self) -> str:
        """A hash over all that a p-value depends on: weights, architecture and null."""
        digest = hashlib.sha256(
            json.dumps(
                [self.recipe.to_dict()["model"], self.null.to_dict()], sort_keys=True
            ).encode()
        )
        for name, tensor in sorted(self.network.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def save(self, path: str | Path) -> None:
        """Writes a weights file, atomically."""
        header = {
            "recipe": self.recipe.to_dict(),
            "null": self.null.to_dict(),
            "history": self.history,
        }
        save_tensors(path, self.network.state_dict(), header)


def load_model(name_or_path: str | Path = "acid-base") -> TrainedModel:
    """Loads a trained model by the name of a shipped one, or from a file.

    Args:
        name_or_path: a name that `available_models` lists, or the path of a weights file.

    Raises:
        OptionError: no shipped model has this name, and no file is there.
        ModelError: the file is damaged, of another format or version, or its weights do not fit.
    """
    path = Path(name_or_path)
    shipped = available_models()
    if str(name_or_path) in shipped:
        path = shipped[str(name_or_path)]
    elif not path.suffix and len(path.parts) == 1 and not path.exists():
        raise unknown("model", str(name_or_path), shipped)
    tensors, header = read_tensors(path)
    try:
        recipe = Recipe.from_dict(header["recipe"])
        null = NullDistribution.from_dict(header["null"])
        network = ACIDModel(recipe.model)
        network.load_state_dict(tensors)
    except (AcidError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelError(
            f"{str(path)!r} does not hold a model of this version: {error}. "
            "Take the file from its source again, or train with this version."
        ) from error
    return TrainedModel(network.eval(), null, recipe, header.get("history", {}))


def available_models() -> dict[str, Path]:
    """Returns the shipped models by name, with their files."""
    folder = Path(str(files("acid_causal") / "weights"))
    return {path.stem: path for path in sorted(folder.glob("*.safetensors"))}


def save_tensors(path: str | Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    """Writes tensors and a header to a safetensors file, atomically."""
    text = json.dumps({"format": _FORMAT, "version": _VERSION, **header})
    # Copies, because safetensors refuses tensors that share memory.
    own = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    write_atomically(path, lambda part: save_file(own, part, metadata={"acid": text}))


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Reads tensors and header, and checks that they can be trusted as data.

    Raises:
        ModelError: no such file, not safetensors, cut short, not ours, another version, or values
            that are not finite.
    """
    shown = repr(str(path))
    if not Path(path).is_file():
        raise ModelError(f"there is no weights file {shown}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        header = json.loads(metadata["acid"])
        if not isinstance(header, dict) or header.get("format") != _FORMAT:
            raise ValueError("no header of ours")
    except (SafetensorError, OSError, KeyError, ValueError, UnicodeDecodeError) as error:
        raise ModelError(
            f"{shown} is not a weights file of acid-causal, or is damaged: {error}"
        ) from error
    if header.get("version") != _VERSION:
        raise ModelError(
            f"{shown} is of format version {header.get('version')}; this package reads {_VERSION}"
        )
    bad = [k for k, v in tensors.items() if v.is_floating_point() and not v.isfinite().all()]
    if bad:
        raise ModelError(f"{shown} holds values that are not finite, in {', '.join(bad[:3])}")
    return tensors, header
