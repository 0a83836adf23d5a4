"""A cache of loaded models, and of their copies on other devices, which testers share."""

import copy
import os
from functools import lru_cache
from pathlib import Path
from weakref import WeakKeyDictionary

import torch

from acid_causal.compute.device import same_device
from acid_causal.model import ACIDModel
from acid_causal.weights.checkpoint import TrainedModel, load_model
from acid_causal.weights.shipped import find_model

# Number of models kept; the shipped ones take a quarter of a megabyte each.
_MAX_MODELS = 8
# Of the networks of these models, by device.
_copies: WeakKeyDictionary[ACIDModel, dict[str, ACIDModel]] = WeakKeyDictionary()


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
    model = load_model(name_or_path)
    _copies[model.network] = {}
    return model


def network_on(model: TrainedModel, device: torch.device) -> ACIDModel:
    """Returns a model's network on a device: itself, or a copy, as others may use it where it is.

    Args:
        model: of a shared model a copy is made once.
        device: where the network is needed.

    Returns:
        The network, in evaluation mode. It may be shared and must not be modified.
    """
    network = model.network
    if same_device(network.device, device):
        return network.eval()
    # The owner of another model may modify it between two tests.
    copies = _copies.get(network, {})
    if str(device) not in copies:
        copies[str(device)] = copy.deepcopy(network).to(device).eval()
    return copies[str(device)]
