"""`Method`, and helpers that the methods share."""

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from acid_causal.errors import InputError, OptionError

Array = NDArray[np.float64]
# x of shape (n, d_x), y (n, d_y), z (n, d_z) or None.
Question = tuple[Array, Array, Array | None]

# A column whose standard deviation is below this share of its size counts as constant.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Method:
    """A test and the settings in which it runs.

    Attributes:
        name: Name in the CSV.
        pvalues: Maps questions of one shape to their p-values.
        reaches: Whether it runs at (n, d_z) in the experiments on synthetic data.
        note: What a reader of its figures should know, such as its sizes; printed below tables.
        in_batches: A faster `pvalues`, for experiments that do not measure time.
    """

    name: str
    pvalues: Callable[[Sequence[Question]], list[float]]
    reaches: Callable[[int, int], bool] = lambda n, d_z: True
    note: str = ""
    in_batches: Callable[[Sequence[Question]], list[float]] | None = None


def one_by_one(
    test: Callable[[Array, Array, Array | None], float],
) -> Callable[[Sequence[Question]], list[float]]:
    """Turns a test of one question into `Method.pvalues`, which raises an error if p is NaN."""

    def pvalues(questions: Sequence[Question]) -> list[float]:
        return [_checked(float(test(x, y, z))) for x, y, z in questions]

    return pvalues


def _checked(pvalue: float) -> float:
    if math.isnan(pvalue):
        raise ValueError("the test returned NaN as its p-value")
    return pvalue


def single_columns(name: str, x: Array, y: Array, z: Array | None) -> tuple[Array, Array, Array]:
    """Checks that X and Y have one column each, and returns the question's arrays.

    Args:
        name: Name of the test, for the message.
        x: Shape (n, 1).
        y: Shape (n, 1).
        z: Shape (n, d_z), or None.

    Returns:
        X and Y of shape (n,), and Z of shape (n, d_z), where d_z may be 0.

    Raises:
        InputError: X or Y has several columns.
    """
    if x.shape[1] != 1 or y.shape[1] != 1:
        raise InputError(f"{name} takes one column each, got {x.shape[1]} and {y.shape[1]}")
    return x[:, 0], y[:, 0], np.empty((len(x), 0)) if z is None else z


def standardised(values: Array, size: float | None = None) -> Array:
    """Centres a column and divides it by its standard deviation.

    Args:
        values: Shape (n,).
        size: Scale of the original column; None: the largest absolute value.

    Raises:
        InputError: The column is constant up to rounding.
    """
    centred = values - values.mean()
    sd = centred.std()
    size = float(np.abs(values).max()) if size is None else size
    if not sd > _ROUNDING * size:
        raise InputError("a variable does not vary, or not beyond what Z explains")
    return centred / sd


def random_seed() -> int:
    """Draws a seed for a method's own generator from torch's, which the job has seeded."""
    return int(torch.randint(2**32, ()))


def import_extra(module: str, extra: str, method: str) -> Any:
    """Imports a module of an optional package.

    Args:
        module: Full name of the module.
        extra: The extra of acid-causal that installs the package.
        method: Name of the method that needs it.

    Raises:
        OptionError: The package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise OptionError(
            f"method {method!r} needs a package that is not installed ({error}). "
            f"Install it with: pip install 'acid-causal[{extra}]'"
        ) from error
