"""What `acid-next` brings: its null knows how the tail changes with the number of rows."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.methods import get_method
from benchmarks.methods.method import Question


@pytest.mark.parametrize("n", [50, 500])
def test_without_z_the_level_holds(n: int) -> None:
    """Without Z the statistic depends on ranks alone, so this is the level on all such tables."""
    rng, count = np.random.default_rng(0), 600
    questions: list[Question] = [(*rng.normal(size=(2, n, 1)), None) for _ in range(count)]
    in_batches = get_method("acid:acid-next").in_batches
    assert in_batches is not None
    p = np.array(in_batches(questions))
    for level in (0.05, 0.01):
        low, high = stats.binom.interval(0.998, count, level)
        assert low <= (p < level).sum() <= high
