"""Which device to compute on."""

import torch

from acid_causal.errors import OptionError


def resolve_device(name: str | torch.device) -> torch.device:
    """Reads "auto" (a GPU where there is one), "cpu", "cuda" or a torch device.

    Raises:
        OptionError: no such device, or no GPU although one was asked for.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise OptionError(f"no such device: {name!r}; use 'auto', 'cpu' or 'cuda'") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise OptionError(
            "device='cuda' was asked for, but torch finds no GPU; 'auto' falls back to the CPU"
        )
    return device
