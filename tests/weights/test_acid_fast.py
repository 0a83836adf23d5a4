"""`acid-fast` answers nearly as `acid-base` does, for a part of the work."""

import time
import warnings
from collections.abc import Sequence

import numpy as np
import pytest

from acid_causal import Tester, discover, load_sachs
from acid_causal.errors import AcidWarning
from acid_causal.synthetic import null_datasets
from benchmarks.data.plain_cases import draw_case
from benchmarks.harness.folds import as_questions
from benchmarks.methods import FAST, get_method
from benchmarks.methods.method import Question


def p_values(questions: Sequence[Question]) -> np.ndarray:
    """Computes the p-values of questions of one shape, which are asked together."""
    in_batches = get_method(FAST).in_batches
    assert in_batches is not None
    return np.array(in_batches(questions))


def seconds_of(name: str) -> float:
    """Times the questions of all pairs of twelve columns given three others, at best."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(1000, 15))
    pairs = [(i, j, (12, 13, 14)) for i in range(12) for j in range(i)]
    taken = []
    for _ in range(3):
        tester, begun = Tester(table, model=name), time.process_time()
        tester.test_many(pairs)
        taken.append(time.process_time() - begun)
    return min(taken)


def test_it_takes_a_part_of_the_time() -> None:
    """A third, where nothing else is at work."""
    assert seconds_of("acid-fast") < 0.6 * seconds_of("acid-base")


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("case", ["two sensors, 10 % noise", "clusters", "volatility", "counts"])
def test_plain_relations(case: str, n: int) -> None:
    for dependent in (False, True):
        questions = [draw_case(case, n, 1, dependent=dependent, seed=seed) for seed in range(40)]
        rejected = int((p_values(questions) < 0.05).sum())
        # Of 40 independent ones more than 6 come by chance once in 300 times.
        assert rejected == 40 if dependent else rejected <= 6


def test_the_level_holds_on_the_stream() -> None:
    drawn = null_datasets("training", 400, 100, 2, seed=1)
    pvalues = p_values(as_questions(drawn.x, drawn.y, drawn.z))
    assert 0.02 <= (pvalues < 0.05).mean() <= 0.08


def test_sachs_has_the_same_graph() -> None:
    sachs = load_sachs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AcidWarning)
        graphs = [discover(np.log(sachs.data), model=name) for name in ("acid-fast", "acid-base")]
    fast, base = ({(edge.a, edge.b) for edge in graph.edges} for graph in graphs)
    assert fast == base


def test_categories_are_compared_as_one() -> None:
    rng = np.random.default_rng(3)
    level = rng.integers(0, 6, 300)
    effect = rng.normal(size=6)[level] + 0.5 * rng.normal(size=300)
    other = rng.integers(0, 6, 300)
    tester = Tester(np.column_stack([level, effect, other]), model="acid-fast", categorical=[0, 2])
    assert tester.test(0, 1, (2,)).pvalue < 1e-6
    assert tester.test(2, 1, (0,)).pvalue > 0.01
    assert tester.test(0, 2, (1,)).pvalue > 0.01
