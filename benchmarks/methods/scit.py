"""SCIT: a permutation test of the similarity of residuals of linear regressions.

References:
    Zhang, Zhang, Zhang, Zhou and Guan, "Residual Similarity Based Conditional Independence Test and
    Its Application in Causal Discovery", AAAI 2022.
"""

from functools import partial

import numpy as np

from acid_causal.errors import InputError
from benchmarks.methods.method import (
    Array,
    Method,
    one_by_one,
    random_seed,
    single_columns,
    standardised,
)

PERMUTATIONS = 1000
SHARPNESS = 2.0  # of the similarity exp(-2 (r_x - r_y)^2)


def scit(x: Array, y: Array, z: Array | None, *, two_sided: bool = False) -> float:
    """Tests whether the residuals of X and Y given Z are more similar than by chance.

    Args:
        x: Shape (n, 1).
        y: Shape (n, 1).
        z: Shape (n, d_z), or None.
        two_sided: Whether to detect negative dependence, too. The statistic is then the larger of
            the similarities to Y's residuals and to their negatives.

    Returns:
        The share of permutations of Y's residuals, counting the identity, that are at least as
        similar.

    Raises:
        InputError: More than one column each, or residuals that are zero.
    """
    x, y, z = single_columns("SCIT", x, y, z)
    r_x, r_y = residual(x, z), residual(y, z)
    permuted = np.tile(r_y, (PERMUTATIONS + 1, 1))  # the first row stays unpermuted
    np.random.default_rng(random_seed()).permuted(permuted[1:], axis=1, out=permuted[1:])
    similarity = _similarity(r_x, permuted)
    if two_sided:
        similarity = np.maximum(similarity, _similarity(-r_x, permuted))
    return float(np.mean(similarity >= similarity[0]))


def _similarity(r_x: Array, r_y: Array) -> Array:
    return np.exp(-SHARPNESS * (r_x - r_y) ** 2).mean(axis=-1)


def residual(values: Array, z: Array) -> Array:
    """Returns the standardised residuals of least squares on Z with an intercept.

    Args:
        values: Shape (n,).
        z: Shape (n, d_z).

    Raises:
        InputError: The residuals are zero, as always at n <= d_z + 1.
    """
    n, d_z = z.shape
    if n <= d_z + 1:
        raise InputError(f"{n} rows leave no residuals given {d_z} variables")
    design = np.column_stack([np.ones(n), z])
    left = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return standardised(left, size=float(np.abs(values).max()))


METHODS = (
    Method(
        "scit",
        one_by_one(scit),
        lambda n, d_z: n > d_z + 3,
        "one-sided as published, so it misses negative dependence; "
        f"{PERMUTATIONS} permutations; runs at n > d_z + 3.",
    ),
    Method(
        "scit-two-sided",
        one_by_one(partial(scit, two_sided=True)),
        lambda n, d_z: n > d_z + 3,
        "the larger of SCIT's similarities to Y and to -Y, with the same permutations.",
    ),
)
