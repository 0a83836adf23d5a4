"""Memory beyond the data stays within bounds, however long or wide the table."""

from itertools import combinations

import numpy as np
import pytest

from acid_causal.errors import AcidWarning, InputError
from acid_causal.inference.batching import Task, require_room
from acid_causal.inference.tester import Tester
from benchmarks.harness.fresh_process import in_fresh_process, peak_bytes, reset_peak
from benchmarks.harness.timing import time_test

MIB = 2**20


def mib_of_one_test(n: int, d_z: int = 5) -> float:
    cost = in_fresh_process(
        time_test, "acid", n, d_z, mode="default", device="cpu", threads=1, seed=0, repeats=1
    )
    assert cost.peak_mib is not None
    return cost.peak_mib


def mib_of_a_wide_table(n: int, d: int) -> float:
    """Asks about all pairs given one set of three, in a process of its own."""
    data = np.random.default_rng(0).normal(size=(n, d))
    tester = Tester(data)
    tester.test(0, 1, (2,))
    reset_peak()
    start = peak_bytes()
    tester.test_many([(i, j, (0, 1, 2)) for i, j in combinations(range(3, d), 2)])
    return (peak_bytes() - start) / MIB


def test_one_test_on_many_rows() -> None:
    """7 to 9 MiB for each thousand rows; without blocks of rows it would be 11 and more."""
    assert mib_of_one_test(20_000) < 205


def mib_of_a_large_set(n: int, size: int) -> float:
    data = np.random.default_rng(0).normal(size=(n, size + 2))
    tester = Tester(data)
    tester.test(0, 1, (2,))
    reset_peak()
    start = peak_bytes()
    tester.test(0, 1, tuple(range(2, size + 2)))
    return (peak_bytes() - start) / MIB


def test_a_large_conditioning_set() -> None:
    """A number for each pair of its variables, row and head would take 150 MiB, thrice."""
    assert in_fresh_process(mib_of_a_large_set, 60, 400) < 100


@pytest.mark.slow
@pytest.mark.parametrize(("n", "size"), [(100, 1000), (1000, 500), (4000, 100)])
def test_larger_conditioning_sets(n: int, size: int) -> None:
    assert in_fresh_process(mib_of_a_large_set, n, size) < 500


def test_a_set_too_large_for_memory_is_refused() -> None:
    task = Task(0, (0,), (1,), tuple(range(2, 9502)))
    with pytest.raises(InputError, match="a conditioning set of 9500 variables with 9600 rows"):
        require_room(task, 9600, 9500)
    # With fewer rows than variables the answer takes no memory.
    tester = Tester(np.random.default_rng(0).normal(size=(20, 9600)), model="acid-mlp16")
    with pytest.warns(AcidWarning, match=r"few for \(X1, X2 \| X3, X4, .* and 9,?490 more\)"):
        assert tester.test(0, 1, task.cond).pvalue == 1


@pytest.mark.slow
def test_one_test_on_a_million_rows() -> None:
    assert mib_of_one_test(1_000_000, d_z=4) < 2048


@pytest.mark.slow
def test_all_pairs_of_a_wide_table() -> None:
    assert in_fresh_process(mib_of_a_wide_table, 36_000, 40) < 2048


def test_all_pairs_of_hundreds_of_columns() -> None:
    """Most of it are the encodings; products of all pairs at once would take 370 MiB."""
    assert in_fresh_process(mib_of_a_wide_table, 100, 150) < 200
