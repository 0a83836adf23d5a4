"""KCI of the package causalts. It is optional, as it is large and under the GPL.

`pip install 'acid-causal[causalts]'` installs it.
"""

import numpy as np

from benchmarks.methods.method import Array, Method, import_extra, one_by_one


def causalts(x: Array, y: Array, z: Array | None) -> float:
    """Runs causalts' KCI with its defaults, on the CPU as all other tests.

    Raises:
        OptionError: The package is not installed.
    """
    tests = import_extra("causalts.ci_tests", "causalts", "causalts")
    table = np.hstack([x, y] if z is None else [x, y, z])
    first, second, cond = np.split(np.arange(table.shape[1]), [x.shape[1], x.shape[1] + y.shape[1]])
    # A new test each time, as it caches results for one table.
    test = tests.create_ci_test("kci", table, device="cpu")
    return float(test(first.tolist(), second.tolist(), cond.tolist())[0])


METHODS = (
    Method(
        "causalts",
        one_by_one(causalts),
        lambda n, d_z: 10 <= n <= 1000,
        "KCI of causalts 0.27; runs at 10 <= n <= 1000: NaN below, its cost grows with n^3.",
    ),
)
