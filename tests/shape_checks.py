"""Checks the types and shapes in signatures on some of the calls, so that tests stay fast.

`--jaxtyping-packages` in pyproject.toml decorates every function of the package with jaxtyping's
check. Where a signature has no shape the check is left out: mypy knows the types. One check takes
longer than many a function, and loops call a function a thousand times with arguments alike. So a
check is made on the first calls of each kind in a file of tests, and then on the 8th, 16th, 32nd
and so on. Two calls are of one kind if their arguments have the same types, as many axes, and the
same axes of size 0 and 1, where mistakes of shape hide. To tell the kind takes time, too: of a
function that a file has called 500 times only every 16th call is looked at.

Import this module before the package: the decorator is looked up when a module is loaded.
"""

import dataclasses
import functools
import inspect
from collections import defaultdict
from collections.abc import Callable, Hashable
from types import CodeType
from typing import Any, get_args

import jaxtyping
import numpy as np
import torch

_ARRAYS = (np.ndarray, torch.Tensor)
# So many calls of each kind are checked in any case.
ALWAYS = 4
# After so many calls of a function only every so-manyth is looked at.
MANY, EVERY = 500, 16

_check_every_call = jaxtyping.jaxtyped
_calls: defaultdict[Hashable, int] = defaultdict(int)
_calls_of_all_kinds: defaultdict[CodeType, int] = defaultdict(int)


def forget_calls() -> None:
    """Starts counting anew, as at the start of a file of tests."""
    _calls.clear()
    _calls_of_all_kinds.clear()


def jaxtyped(target: Any = None, *, typechecker: Any) -> Any:
    """Does what jaxtyping's decorator of this name does, on some of the calls."""
    if target is None:
        return functools.partial(jaxtyped, typechecker=typechecker)
    if inspect.isfunction(target):
        return _check_some_calls(target, typechecker) if _has_shapes(target) else target
    init = vars(target).get("__init__") if dataclasses.is_dataclass(target) else None
    if init is not None and not hasattr(init, "__wrapped__") and _has_shapes(init):
        setattr(target, "__init__", _check_some_calls(init, typechecker))  # noqa: B010
    return target


def _has_shapes(function: Any) -> bool:
    return any(map(_is_shape, function.__annotations__.values()))


def _is_shape(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, jaxtyping.AbstractArray):
        return True
    return any(map(_is_shape, hint if isinstance(hint, list) else get_args(hint)))


def _check_some_calls(function: Any, typechecker: Any) -> Callable[..., Any]:
    checked: list[Callable[..., Any]] = []  # made when first needed: it takes a millisecond
    # A function within a function is made anew at each call, and its code is not.
    code = function.__code__

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        _calls_of_all_kinds[code] = number = _calls_of_all_kinds[code] + 1
        if number > MANY and number % EVERY:
            return function(*args, **kwargs)
        kind = (code, *map(_kind, args), *map(_kind, kwargs.values()))
        _calls[kind] = number = _calls[kind] + 1
        if number > ALWAYS and number & (number - 1):
            return function(*args, **kwargs)
        if not checked:
            checked.append(_check_every_call(function, typechecker=typechecker))
        return checked[0](*args, **kwargs)

    return call


def _kind(argument: Any) -> Any:
    if not isinstance(argument, _ARRAYS):
        return type(argument)
    return type(argument), argument.dtype, _axes(argument.shape)


# A run asks half a million times, mostly about the same shapes.
@functools.lru_cache(100_000)
def _axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(min(size, 2) for size in shape)


jaxtyping.jaxtyped = jaxtyped  # type: ignore[assignment]
