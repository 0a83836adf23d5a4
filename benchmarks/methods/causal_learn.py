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
    """Its approximation by random Fourier features."""
    if z is None:
        return RIT().compute_pvalue(x, y)[0]
    return RCIT().compute_pvalue(x, y, z)[0]


def fastkci(x: Array, y: Array, z: Array | None) -> float:
    """Its approximation by blocks of rows."""
    # FastKCI asks joblib for all cores. In one process it is timed like the others, and it draws
    # from the generator that the job has seeded.
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
        "asked at n <= 500: its cost grows with n^3.",
    ),
    Method(
        "rcit",
        one_by_one(rcit),
        note="at n <= 100 its 100 features of Z fit every row, and p is 0 whatever the data.",
    ),
    Method(
        "fisherz",
        one_by_one(fisherz),
        lambda n, d_z: n > d_z + 3,
        "asked at n > d_z + 3, where it has degrees of freedom.",
    ),
    # Its ten blocks hold n / 10 rows; those with fewer than six are skipped, and below n of about
    # 60 none is left and p is 0 whatever the data.
    Method(
        "fastkci",
        one_by_one(fastkci),
        lambda n, d_z: 100 <= n <= 300,
        "asked at 100 <= n <= 300: blocks too small below, 2 s a test above.",
    ),
)
