"""A cache of loaded models, which testers share."""

import os
from functools import lru_cache
from pathlib import Path

from acid_causal.weights.checkpoint import TrainedModel, load_model
from acid_causal.weights.shipped import find_model

# Number of models kept; the shipped ones take a quarter of a megabyte each.
_MAX_MODELS = 8


def shared_model(name_or_path: str | Path) -> TrainedModel:
    """Loads a model as `load_model` does, from a cache if its file has not changed.

    Args:
        name_or_path: a name that `available_models` lists, or the path of a weights file.

    Returns:
        The model. It is shared and must not be modified.

    Raises:
        OptionError, ModelError: see `load_model`.
    """
    path, _ = find_model(name_or_path)
    try:
        found = os.stat(path)
        place, asked = os.path.realpath(path), os.fspath(name_or_path)
    except (OSError, TypeError, ValueError):
        return load_model(name_or_path)  # raises the error
    return _load(asked, place, found.st_mtime_ns, found.st_size, found.st_ino)


@lru_cache(_MAX_MODELS)
def _load(name_or_path: str, *_: str | int) -> TrainedModel:
    return load_model(name_or_path)
