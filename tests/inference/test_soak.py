"""A hundred thousand tests: as a service would ask them, and memory stays where it was."""

import resource
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from acid_causal import ci_test
from acid_causal.inference.tester import Tester
from benchmarks.harness.fresh_process import in_fresh_process

MIB = 2**20
TABLES, SINGLE = 86, 20  # of 1176 questions, and single questions beside each
# Tables of many sizes leave holes in the allocator's heap, which are not ours.
ROWS = 100


def resident_mib() -> float:
    """Memory held now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / MIB


def soak() -> tuple[int, list[float]]:
    """Asks about table after table; returns how many questions, and memory after each table."""
    rng = np.random.default_rng(0)
    pairs = [
        (i, j, given)
        for i, j in combinations(range(8), 2)
        for size in range(4)
        for given in combinations([k for k in range(8) if k not in (i, j)], size)
    ]
    asked, held = 0, []
    for _ in range(TABLES):
        data = rng.normal(size=(ROWS, 8)) @ rng.normal(size=(8, 8))
        tester = Tester(data, cache_bytes=32 * MIB)
        answers = tester.test_many(pairs)
        answers += [ci_test(data[:, 0], data[:, 1], data[:, 2:4]) for _ in range(SINGLE)]
        assert all(0 <= answer.pvalue <= 1 for answer in answers)
        asked += len(answers)
        held.append(resident_mib())
    return asked, held


@pytest.mark.slow
def test_memory_is_flat_over_a_hundred_thousand_tests() -> None:
    asked, held = in_fresh_process(soak)
    print(f"{asked} tests; MiB after tables 10, 20, ...: {[round(m) for m in held[9::10]]}")
    assert asked > 100_000
    # What is allocated once is there after the first tables; what leaks grows with each.
    assert max(held[-10:]) - max(held[10:20]) < 20
