"""Models that are read once and shared by all who only ask them."""

import os
from functools import lru_cache
from pathlib import Path

from acid_causal.weights.checkpoint import TrainedModel, load_model
from acid_causal.weights.shipped import find_model

# So many models are kept; the shipped ones take a quarter of a megabyte each.
_MOST = 8


def shared_model(name_or_path: str | Path) -> TrainedModel:
    """Loads a model as `load_model` does, and reads a file again only once it has changed.

    Args:
        name_or_path: a name that `available_models` lists, or the path of a weights file.

    Returns:
        The model, which others use, too: nothing in it may be changed.

    Raises:
        OptionError, ModelError: see `load_model`.
    """
    path, _ = find_model(name_or_path)
    try:
        found = os.stat(path)
        place, asked = os.path.realpath(path), os.fspath(name_or_path)
    except (OSError, TypeError, ValueError):
        return load_model(name_or_path)  # which says what is wrong
    return _load(asked, place, found.st_mtime_ns, found.st_size, found.st_ino)


@lru_cache(_MOST)
def _load(name_or_path: str, *_: str | int) -> TrainedModel:
    return load_model(name_or_path)
