"""Tests of andrey-core, an optional package: `pip install 'acid-causal[andrey]'`.

They share work between the questions about one table, as its own searches use them. In the
experiments with graphs they run in causal-learn's PC and FCI, like all other tests.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from causallearn.utils.cit import CIT_Base, register_ci_test

from benchmarks.methods.method import Array, Method, import_extra, one_by_one, single_columns

# Columns of the factor that replaces each kernel matrix.
_RANK = 100
# Kernel tests: their names there, and their options.
TESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "andrey-kci": ("kci", {}),
    "andrey-kci-rank": ("kci", {"rank": _RANK}),
    "andrey-rcot": ("rcot", {"seed": 0}),
}
# Tests of mixed tables, which have the same names there.
MIXED_TESTS = ("degen_gauss", "cond_gauss")


def make_test(name: str, table: Array, categorical: Sequence[int] = ()) -> Any:
    """Makes a test for a table; called with columns x, y and a set, it returns p.

    Args:
        name: One of `TESTS` or of `MIXED_TESTS`.
        table: Shape (n, d).
        categorical: The columns that are categories, for tests of mixed tables.

    Raises:
        OptionError: The package is not installed.
    """
    make = import_extra("andrey.core.ci", "andrey", name).make_indep_test
    if name in MIXED_TESTS:
        return make(name, table, categorical=np.isin(range(table.shape[1]), categorical))
    theirs, options = TESTS[name]
    return make(theirs, table, **options)


class AndreyTest(CIT_Base):  # type: ignore[misc]
    """A test of andrey-core in causal-learn's form.

    Args:
        data: The table, shape (n, d).
        test: See `make_test`.
        categorical: See there.
    """

    def __init__(self, data: Array, *, test: str, categorical: Sequence[int] = ()) -> None:
        super().__init__(data)
        self.method = test
        self._test = make_test(test, data, categorical)

    def __call__(self, X: int, Y: int, condition_set: Iterable[int] | None = None) -> float:
        """Returns the p-value; that of a question asked before is kept."""
        cond = tuple(sorted(int(k) for k in condition_set or ()))
        question = (*sorted((int(X), int(Y))), cond)
        if question not in self.pvalue_cache:
            self.pvalue_cache[question] = float(self._test(*question))
        return self.pvalue_cache[question]


register_ci_test("andrey", AndreyTest)


def _single_question(name: str) -> Any:
    def test(x: Array, y: Array, z: Array | None) -> float:
        table = np.column_stack(single_columns(name, x, y, z))
        return make_test(name, table)(0, 1, range(2, table.shape[1]))

    return one_by_one(test)


METHODS = (
    Method(
        "andrey-kci",
        _single_question("andrey-kci"),
        lambda n, d_z: n <= 1000,
        "KCI of andrey-core 0.10; runs at n <= 1000: its cost grows with n^3.",
    ),
    Method(
        "andrey-kci-rank",
        _single_question("andrey-kci-rank"),
        note=f"KCI of andrey-core 0.10 with kernels of rank {_RANK}.",
    ),
    Method("andrey-rcot", _single_question("andrey-rcot"), note="RCoT of andrey-core 0.10."),
)
