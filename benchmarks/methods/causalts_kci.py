"""KCI of the package causalts, which is not among our dependencies: GPL, and heavy.

`pip install 'acid-causal[causalts]'` brings it; its version is fixed there.
"""

import importlib

import numpy as np

from acid_causal.errors import OptionError
from benchmarks.methods.method import Array, Method, one_by_one


def causalts(x: Array, y: Array, z: Array | None) -> float:
    """Asks causalts' KCI with its defaults, on the CPU as all the others.

    Raises:
        OptionError: The package is not installed.
    """
    try:
        tests = importlib.import_module("causalts.ci_tests")
    except ModuleNotFoundError as error:
        raise OptionError(
            f"method 'causalts' needs a package that is not installed ({error}). "
            "Install it with: pip install 'acid-causal[causalts]'"
        ) from error
    table = np.hstack([x, y] if z is None else [x, y, z])
    first, second, cond = np.split(np.arange(table.shape[1]), [x.shape[1], x.shape[1] + y.shape[1]])
    # A new test each time: it keeps its answers for one table.
    test = tests.create_ci_test("kci", table, device="cpu")
    return float(test(first.tolist(), second.tolist(), cond.tolist())[0])


METHODS = (
    Method(
        "causalts",
        one_by_one(causalts),
        lambda n, d_z: 10 <= n <= 1000,
        "KCI of causalts 0.27; asked at 10 <= n <= 1000: NaN below, its cost grows with n^3.",
    ),
)
