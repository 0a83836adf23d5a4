"""causal-learn's tests, with its defaults."""

import joblib
import numpy as np
from causallearn.utils.cit import FisherZ
from causallearn.utils.FastKCI.FastKCI import FastKCI_CInd, FastKCI_UInd
from causallearn.utils.KCI.KCI import KCI_CInd, KCI_UInd
from causallearn.utils.RCIT.RCIT import RCIT, RIT

from benchmarks.methods.method import Array, Method, one_by_one, single_columns


def kcit(x: Array, y: Array, z: Array | None) -> float:
    """The kernel test of Zhang et al. (2011), the paper's KCIT."""
    if z is None:
        return KCI_UInd().compute_pvalue(x, y)[0]
    return KCI_CInd().compute_pvalue(x, y, z)[0]


def rcit(x: Array, y: Array, z: Array | None) -> float:
    """The approximation of KCI by random Fourier features."""
    if z is None:
        return RIT().compute_pvalue(x, y)[0]
    return RCIT().compute_pvalue(x, y, z)[0]


def fastkci(x: Array, y: Array, z: Array | None) -> float:
    """The approximation of KCI that splits the rows into blocks."""
    # FastKCI uses joblib with all cores. In one process its time is comparable, and it draws from
    # the generator that the job has seeded.
    with joblib.parallel_config(backend="sequential"):
        if z is None:
            return FastKCI_UInd().compute_pvalue(x, y)[0]
        return FastKCI_CInd().compute_pvalue(x, y, z)[0]


def fisherz(x: Array, y: Array, z: Array | None) -> float:
    """Fisher's z of the partial correlation; x and y must be one column each."""
    table = np.column_stack(single_columns("Fisher-z", x, y, z))
    return FisherZ(table)(0, 1, range(2, table.shape[1]))


METHODS = (
    Method(
        "kcit",
        one_by_one(kcit),
        lambda n, d_z: n <= 500,
        "runs at n <= 500: its cost grows with n^3.",
    ),
    Method(
        "rcit",
        one_by_one(rcit),
        note="at n <= 100 its 100 features of Z fit every row, and p is always 0.",
    ),
    Method(
        "fisherz",
        one_by_one(fisherz),
        lambda n, d_z: n > d_z + 3,
        "runs at n > d_z + 3, where it has degrees of freedom.",
    ),
    # It has ten blocks of n / 10 rows, and skips blocks with fewer than six. Below n = 60 none is
    # left, and p is always 0.
    Method(
        "fastkci",
        one_by_one(fastkci),
        lambda n, d_z: 100 <= n <= 300,
        "runs at 100 <= n <= 300: blocks are too small below, and a test takes 2 s above.",
    ),
)
