"""Functions that torch.compile leaves alone.

`torch.compiler.disable` would import the compiler, more than a thousand modules, already where such
a function is defined, and only compiled training needs it.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch
from torch import nn

P = ParamSpec("P")
R = TypeVar("R")

# What each marked function calls: itself, or its version that the compiler leaves alone.
_called: list[list[Callable[..., Any]]] = []


def uncompiled(function: Callable[P, R]) -> Callable[P, R]:
    """Marks a function that `compile_module` shall not compile."""
    called: list[Callable[P, R]] = [function]
    _called.append(called)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return called[0](*args, **kwargs)

    return call


def compile_module(module: nn.Module) -> nn.Module:
    """Compiles a module for inputs of any size, all but the functions marked by `uncompiled`."""
    for called in _called:
        called[0] = torch.compiler.disable(called[0])
    _called.clear()
    compiled: nn.Module = torch.compile(module, dynamic=True)  # type: ignore[assignment]
    return compiled
