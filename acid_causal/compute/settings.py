"""Sets global settings of numpy, torch and Python during a computation, and restores them.

So the user's settings have no effect on results.

| setting | while a question is answered | while a network is trained |
|---|---|---|
| `np.seterr` | nothing raises or warns | the same |
| warnings as errors | not those of torch, numpy and scipy | the same |
| torch's autocast, default device | off, the CPU | the same |
| torch's precision of matrix products, deterministic algorithms | full, not required | the same |
| torch's threads | one in a forked process, whose parent's threads are gone | the same |
| torch's gradients | inference mode | on |
| torch's default dtype | not used | float32 |
| torch's global generator | not used | copied, and restored |

Some of these are shared by all threads of a process. They are changed only if they differ from
torch's defaults, and restored when the last computation of this package ends.
"""

import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch

# Warnings from these modules are not for users; the package's own point to the user's line.
_FOREIGN = re.compile(r"(torch|numpy|scipy|acid_causal)\b")
_IGNORE_FOREIGN = ("ignore", None, Warning, _FOREIGN, 0)


@contextmanager
def answering_settings(device: torch.device) -> Iterator[None]:
    """Computes without gradients, under standard settings.

    Args:
        device: where the network is.
    """
    with _standard_settings(device, _ANSWERING), torch.inference_mode():
        yield


@contextmanager
def training_settings(device: torch.device) -> Iterator[None]:
    """Computes with gradients, under standard settings.

    Args:
        device: where the network is.
    """
    generators = [device] if device.type == "cuda" else []
    with (
        _standard_settings(device, _TRAINING),
        torch.inference_mode(False),
        torch.enable_grad(),
        # Dropout draws from torch's global generator.
        torch.random.fork_rng(generators),
    ):
        yield


@contextmanager
def _standard_settings(device: torch.device, shared: "tuple[_Shared, ...]") -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(np.errstate(all="ignore"))
        stack.enter_context(_foreign_warnings_are_no_errors())
        for setting in shared:
            stack.enter_context(setting.standard())
        if torch.is_autocast_enabled(device.type):
            stack.enter_context(torch.autocast(device.type, enabled=False))
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        yield


@contextmanager
def _foreign_warnings_are_no_errors() -> Iterator[None]:
    # `warnings.catch_warnings` is not thread-safe and resets the record of warnings already shown.
    # Inserting and removing one filter does neither.
    filters = cast(list[Any], warnings.filters)
    if not any(entry[0] == "error" for entry in filters):
        yield
        return
    filters.insert(0, _IGNORE_FOREIGN)
    try:
        yield
    finally:
        filters.remove(_IGNORE_FOREIGN)


# ---- settings that all threads of a process share ----------------------------------------------


@dataclass(eq=False)
class _Shared:
    """A global setting of torch that is kept at its default while any thread computes.

    Attributes:
        read: returns the setting.
        write: sets it.
        defaults: values that need no change; the first is the one to set.
    """

    read: Callable[[], Any]
    write: Callable[[Any], None]
    defaults: tuple[Any, ...]
    _users: int = 0
    _found: Any = None

    @contextmanager
    def standard(self) -> Iterator[None]:
        """Keeps the setting at its default."""
        with _LOCK:
            found = self.read()
            if not self._users:
                self._found = found
            self._users += 1
            if found not in self.defaults:
                self.write(self.defaults[0])
        try:
            yield
        finally:
            with _LOCK:
                self._users -= 1
                if not self._users:
                    self._restore()

    def forget_users(self) -> None:
        """Restores the setting in a forked process, where the parent's threads do not exist."""
        if self._users:
            self._users = 0
            self._restore()

    def _restore(self) -> None:
        if self._found not in self.defaults:
            self.write(self._found)


def _precision_of(backend: Any) -> _Shared:
    """Returns the precision setting of a backend's matrix products, in torch 2.9 and later."""
    products = backend.matmul

    def write(precision: str) -> None:
        products.fp32_precision = precision

    return _Shared(lambda: products.fp32_precision, write, ("ieee", "none"))


def _precisions() -> tuple[_Shared, ...]:
    if hasattr(torch.backends.cuda.matmul, "fp32_precision"):  # torch 2.9
        return _precision_of(torch.backends.cuda), _precision_of(torch.backends.mkldnn)
    read, write = torch.get_float32_matmul_precision, torch.set_float32_matmul_precision
    return (_Shared(read, write, ("highest",)),)


def _threads() -> int:
    # In a process that was not forked, the number of threads is left alone.
    return torch.get_num_threads() if _forked else 1


_LOCK = threading.Lock()
_forked = False
_DETERMINISM = _Shared(torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, (0,))
_THREADS = _Shared(_threads, torch.set_num_threads, (1,))
_DTYPE = _Shared(torch.get_default_dtype, torch.set_default_dtype, (torch.float32,))
_ANSWERING = (_THREADS, _DETERMINISM, *_precisions())
_TRAINING = (_DTYPE, *_ANSWERING)


def _after_fork() -> None:
    """Resets locks and users in a forked process, as the parent's other threads do not exist."""
    global _LOCK, _forked
    _LOCK, _forked = threading.Lock(), True
    for setting in _TRAINING:
        setting.forget_users()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
