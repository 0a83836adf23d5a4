"""What a method is, and what the adapters share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from acid_causal.errors import InputError

Array = NDArray[np.float64]
# x of shape (n, d_x), y (n, d_y), z (n, d_z) or None.
Question = tuple[Array, Array, Array | None]

# A column whose spread is rounding, next to its own size, holds no information.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Method:
    """A test and the settings in which it is asked.

    Attributes:
        name: Name in the CSV.
        pvalues: From many questions of one shape to their p-values.
        reaches: Whether the experiments on synthetic data ask it at (n, d_z).
        note: What a reader of its figures should know, such as its reach; printed below tables.
        in_batches: The same p-values sooner, for experiments that do not compare seconds.
    """

    name: str
    pvalues: Callable[[Sequence[Question]], list[float]]
    reaches: Callable[[int, int], bool] = lambda n, d_z: True
    note: str = ""
    in_batches: Callable[[Sequence[Question]], list[float]] | None = None


def one_by_one(
    test: Callable[[Array, Array, Array | None], float],
) -> Callable[[Sequence[Question]], list[float]]:
    """Makes the `pvalues` of a test that takes one question at a time; NaN becomes an error."""

    def pvalues(questions: Sequence[Question]) -> list[float]:
        return [_checked(float(test(x, y, z))) for x, y, z in questions]

    return pvalues


def _checked(pvalue: float) -> float:
    if math.isnan(pvalue):
        raise ValueError("the test returned NaN as its p-value")
    return pvalue


def single_columns(name: str, x: Array, y: Array, z: Array | None) -> tuple[Array, Array, Array]:
    """Takes a question of a test of two single variables apart.

    Args:
        name: The test's, for the error.
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
        size: What counts as large for the column; its own largest value if None.

    Raises:
        InputError: Nothing but rounding is left of it, so there is nothing to test.
    """
    centred = values - values.mean()
    sd = centred.std()
    size = float(np.abs(values).max()) if size is None else size
    if not sd > _ROUNDING * size:
        raise InputError("a variable does not vary, or not beyond what Z explains")
    return centred / sd


def random_seed() -> int:
    """Draws a seed for a generator of a method's own, so that it follows from the job's seed."""
    return int(torch.randint(2**32, ()))
