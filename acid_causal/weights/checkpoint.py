"""Trained models, and the weights files that hold them.

A weights file is a safetensors file whose header holds the recipe, the null distributions and the
history of the training. Shipped files are checked against the hashes in `SHA256SUMS` beside them,
which `sha256sum *.safetensors` writes.
"""

import hashlib
import json
import secrets
import tempfile
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from acid_causal.calibration.null import NullDistribution, default_null
from acid_causal.errors import AcidError, ModelError, WriteError
from acid_causal.model import ACIDModel
from acid_causal.options import defaults
from acid_causal.weights.recipe import Recipe
from acid_causal.weights.shipped import find_model
from acid_causal.weights.tensor_file import open_tensors, save_tensors

# Fields of the first version of `ModelConfig`. Fields that were added later are only hashed if they
# differ from their default, so that the hash of an old model does not change.
_ALWAYS_HASHED = frozenset(
    {
        "e",
        "layers",
        "attention_heads",
        "dropout",
        "residual_channels",
        "smoother_rank",
        "sample_attention",
        "head",
        "head_count",
        "head_width",
        "classifier_facts",
        "transform",
    }
)


@dataclass(frozen=True, repr=False)
class TrainedModel:
    """A trained model with its null distribution.

    Attributes:
        network: the network, in evaluation mode.
        null: the fitted null distributions.
        recipe: its architecture, data and training.
        history: steps, hours, versions and the like, for the card.
        default_null: the null that is used unless another is asked for.
    """

    network: ACIDModel
    null: NullDistribution
    recipe: Recipe
    history: dict[str, Any] = field(default_factory=dict)
    default_null: str = "conditional"

    @property
    def name(self) -> str:
        """The name in the recipe."""
        return self.recipe.name

    @cached_property
    def sha256(self) -> str:
        """A hash of everything a p-value depends on: weights, architecture and nulls."""
        config = self.recipe.model
        model = {
            f.name: getattr(config, f.name)
            for f in fields(config)
            if f.name in _ALWAYS_HASHED or getattr(config, f.name) != f.default
        }
        digest = hashlib.sha256(json.dumps([model, self.null.to_dict()], sort_keys=True).encode())
        for name, tensor in sorted(self.network.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        weights = sum(parameter.numel() for parameter in self.network.parameters())
        stream = self.recipe.stream
        sizes = f"n = {stream.n[0]} to {stream.n[1]}, |Z| = {stream.d_z[0]} to {stream.d_z[1]}"
        return f"TrainedModel({self.name!r}, {weights} weights, trained on {sizes})"

    def save(self, path: str | Path) -> None:
        """Writes a weights file, atomically.

        Raises:
            WriteError: it cannot be written; an old file stays as it was.
        """
        header = {
            "recipe": self.recipe.to_dict(),
            "null": self.null.to_dict(),
            "default_null": self.default_null,
            "history": self.history,
        }
        save_tensors(path, self.network.state_dict(), header)

    def save_or_keep(self, path: str | Path) -> None:
        """Writes a weights file; if that fails, writes it to the folder for temporary files.

        Raises:
            WriteError: `path` cannot be written; the message says where the model is instead.
        """
        try:
            self.save(path)
        except WriteError as error:
            folder = Path(tempfile.gettempdir())
            other = folder / f"{self.name}-{secrets.token_hex(4)}.safetensors"
            try:
                self.save(other)
            except WriteError as also:
                raise WriteError(f"{error}; nor can the model be kept elsewhere: {also}") from also
            raise WriteError(f"{error}. The model is now in {str(other)!r}") from error


def load_model(name_or_path: str | Path = defaults.MODEL) -> TrainedModel:
    """Loads a trained model by the name of a shipped one, or from a file.

    How it works: a file in the safetensors format holds the tensors, and in its header the recipe,
    the fitted nulls and a SHA-256 of the whole. Nothing in it is executed. Hashes and shapes are
    checked before a tensor is used.

    Limitations: the hash in a file shows damage and not who made it. Files of a later version of
    the format are refused.

    Args:
        name_or_path: a name that `available_models` lists, or the path of a weights file.

    Raises:
        OptionError: no shipped model has this name, and no file is there.
        ModelError: the file is damaged, of another format or version, or its weights do not fit.
    """
    path, sha256 = find_model(name_or_path)
    # Tensors created in inference mode could not be trained later.
    with torch.inference_mode(False), open_tensors(path) as file:
        try:
            recipe = Recipe.from_dict(file.header["recipe"])
            null = NullDistribution.from_dict(file.header["null"])
            history = _history(file.header.get("history", {}))
            # Old files do not name their default null; it follows from the recipe.
            default = str(file.header.get("default_null", default_null(recipe.stream)))
            # On "meta" nothing is allocated before the shapes are checked, and nothing is drawn
            # from torch's global generator.
            with torch.device("meta"):
                network = ACIDModel(recipe.model)
            file.require({name: tuple(t.shape) for name, t in network.state_dict().items()})
        except (AcidError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelError(
                f"{str(path)!r} does not hold a model of this version: {error!s:.300}. "
                "Take the file from its source again, or train with this version."
            ) from error
        network.load_state_dict(file.read(sha256), assign=True)
    return TrainedModel(network.eval(), null, recipe, history, default)


def _history(table: object) -> dict[str, Any]:
    """Checks the entries of the history that fine-tuning and cards use."""
    if not isinstance(table, dict):
        raise ValueError("the history is not a table")
    for name, kind in (("steps", int), ("hours", (int, float)), ("finetuned", list)):
        if name in table and not isinstance(table[name], kind):
            raise ValueError(f"{name} in the history is not of the right type")
    return table
