"""Which device to compute on."""

import torch

from acid_causal.errors import OptionError

# Where the package is tested; float64 and linear algebra are not to be had on every other device.
TYPES = ("cpu", "cuda")


def resolve_device(name: str | torch.device) -> torch.device:
    """Reads the name of a device.

    Args:
        name: "auto" (a GPU where there is one), "cpu", "cuda", "cuda:1", or such a torch device.

    Returns:
        The device; it is there.

    Raises:
        OptionError: no such device, one of another type, or fewer GPUs than were asked for.
    """
    advice = "use 'auto', 'cpu', 'cuda' or 'cuda:N'"
    # An integer would be a number of a GPU to torch, and None whatever its default device is.
    if not isinstance(name, str | torch.device):
        raise OptionError(f"a device must be a name or a torch.device, not {name!r}; {advice}")
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise OptionError(f"no such device: {name!r}; {advice}") from error
    if device.type not in TYPES:
        raise OptionError(f"the device {str(name)!r} is not supported; {advice}")
    if device.type == "cuda":
        _check_gpu(device)
    return device


def _check_gpu(device: torch.device) -> None:
    if not torch.cuda.is_available():
        raise OptionError(
            f"device={str(device)!r} was asked for, but torch finds no GPU; "
            "'auto' falls back to the CPU"
        )
    count = torch.cuda.device_count()
    if device.index is not None and device.index >= count:
        raise OptionError(
            f"device={str(device)!r} was asked for, but there are {count} GPUs, numbered from 0"
        )


def same_device(a: torch.device, b: torch.device) -> bool:
    """Says whether two names mean one device: "cuda" is "cuda:0" unless torch is told otherwise."""
    return a.type == b.type and (a.index or 0) == (b.index or 0)
