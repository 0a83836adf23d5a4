"""Firmness of edges: other levels give the graphs that searches at them give; the FDR is kept."""

from itertools import combinations

import numpy as np
import pytest
from oracle import linear_data, random_dag

from acid_causal.causal_learn import acid  # noqa: F401  # registers the name
from acid_causal.discovery.knowledge import Knowledge
from acid_causal.discovery.search.graph_search import search_graph
from acid_causal.discovery.stability import ALPHAS, adjusted_pvalues, stability_path
from acid_causal.tables.inputs import Question, Table

COLUMNS = tuple("abcdefg")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("method", "orient_by"), [("pc", "first"), ("pc", "separation"), ("fci", "maxp")]
)
def test_a_level_without_open_questions_is_a_search_at_that_level(
    seed: int, method: str, orient_by: str
) -> None:
    data = linear_data(random_dag(7, 2.5, seed), 80, seed)
    table = Table(data, COLUMNS, None)
    known = Knowledge(forbid=(("a", "b"),))
    shared = {"method": method, "orient_by": orient_by, "knowledge": known, "max_size": 3}
    options = {"test": "fisherz", **shared}
    found = search_graph(table, alpha=0.1, **options)  # type: ignore[arg-type]
    path = stability_path(found.pvalues, COLUMNS, alpha=0.1, **shared)  # type: ignore[arg-type]
    assert path.alphas == ALPHAS
    exact = [k for k, count in enumerate(path.open) if count == 0]
    assert path.alphas.index(0.1) in exact
    assert len(exact) > 3
    for k in exact:
        again = search_graph(table, alpha=path.alphas[k], **options)  # type: ignore[arg-type]
        np.testing.assert_array_equal(path.graphs[k], again.endpoints)


def test_open_questions_keep_edges() -> None:
    """At a larger level an edge stays whose further tests are not known, and they are counted."""
    pvalues: dict[Question, float] = {(0, 1, ()): 0.08, (0, 2, ()): 0.001, (1, 2, ()): 0.001}
    pvalues |= {(0, 2, (1,)): 0.9, (1, 2, (0,)): 0.9}  # never asked at .05, as 0 - 1 is gone
    del pvalues[1, 2, (0,)]
    path = stability_path(pvalues, "abc", alpha=0.05, orient_by="first", alphas=(0.01, 0.1))
    assert path.alphas == (0.01, 0.05, 0.1)
    assert path.open == (1, 1, 2)  # of b and c given a; at .1 also of a and b given c
    assert path.marks(0, 1) == ("", "", "---")
    assert path.marks(2, 1)[0] in ("-->", "---")


@pytest.mark.parametrize("method", ["pc", "fci"])
def test_levels_of_too_many_open_questions_are_left_out(method: str) -> None:
    """Twelve variables without edges; at .1 all pairs have one, with 2 ** 10 unknown sets each."""
    columns = [f"v{k}" for k in range(12)]
    pvalues: dict[Question, float] = {(i, j, ()): 0.07 for i, j in combinations(range(12), 2)}
    path = stability_path(
        pvalues, columns, method=method, alpha=0.05, orient_by="maxp", alphas=(0.01, 0.1)
    )
    assert path.alphas == (0.01, 0.05)
    assert path.open == (0, 0)
    assert not path.graphs.any()


def test_adjusted_pvalues() -> None:
    pvalues = np.array([0.01, 0.5, 0.02, 0.03, 0.9])
    tested = np.array([True, True, True, True, False])
    adjusted = adjusted_pvalues(pvalues, tested)
    np.testing.assert_allclose(adjusted[:4], [0.04, 0.5, 0.04, 0.04])
    assert np.isnan(adjusted[4])
    assert np.isnan(adjusted_pvalues(pvalues, np.zeros(5, dtype=bool))).all()


def test_the_false_discovery_rate_is_kept() -> None:
    """Of 45 pairs five have effects; of edges with an adjusted p up to .1 a tenth is false."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(400):
        pvalues = np.r_[rng.beta(0.05, 10, size=5), rng.random(40)]
        chosen = adjusted_pvalues(pvalues, np.ones(45, dtype=bool)) <= 0.1
        shares.append(chosen[5:].sum() / max(chosen.sum(), 1))
    assert np.mean(shares) < 0.1 + 3 * np.std(shares) / 20


def test_pairs_tested_given_nothing_allow_no_more_open_questions() -> None:
    """Of 150 independent columns 559 pairs are adjacent at .05, and 7,000 questions open."""
    rng = np.random.default_rng(0)
    columns = [f"v{k}" for k in range(150)]
    pvalues: dict[Question, float] = {
        (i, j, ()): rng.uniform() for j in range(150) for i in range(j)
    }
    path = stability_path(pvalues, columns, alpha=0.001, orient_by="separation", max_size=1)
    assert path.alphas == (0.001, 0.002, 0.005, 0.01, 0.02)
    assert max(path.open) <= 2000
