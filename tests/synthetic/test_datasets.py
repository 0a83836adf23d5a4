"""Questions on random DAGs: the answers by d-separation, and what an exact test makes of them.

And independent datasets with categories.
"""

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import stats

from acid_causal.errors import OptionError
from acid_causal.synthetic import (
    KINDS_OF_PAIRS,
    KINDS_OF_Z,
    QUESTION_DOMAINS,
    null_datasets,
    null_datasets_of_kinds,
    random_dag_questions,
)
from acid_causal.synthetic.datasets import _eligible
from acid_causal.synthetic.draws import seeded
from acid_causal.synthetic.structures import Structure, driven, random_dags


@pytest.mark.parametrize("domain", sorted(QUESTION_DOMAINS))
@pytest.mark.parametrize("d_z", [0, 3])
def test_questions_of_each_domain(domain: str, d_z: int) -> None:
    data = random_dag_questions(domain, 7, 60, d_z, seed=1)
    assert data.x.shape == data.y.shape == (7, 60, 1)
    assert data.z.shape == (7, 60, d_z)
    assert data.label.tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert torch.cat([data.x, data.y, data.z], dim=2).isfinite().all()
    again = random_dag_questions(domain, 7, 60, d_z, seed=1)
    assert torch.equal(data.x, again.x)
    assert torch.equal(data.z, again.z)
    assert not torch.equal(data.x, random_dag_questions(domain, 7, 60, d_z, seed=2).x)


def test_unknown_domain_is_told_with_the_closest() -> None:
    with pytest.raises(OptionError, match="Did you mean 'switching'"):
        random_dag_questions("switch", 2, 50, 1, seed=0)


@pytest.mark.parametrize("sampler", [random_dags, driven])
@pytest.mark.parametrize("d_z", [0, 1, 4])
def test_answers_are_those_of_d_separation(sampler: Callable[..., Structure], d_z: int) -> None:
    generator = seeded("eligible", d_z)
    structure = sampler(12, d_z, 5, 3, generator)
    independent, dependent = _eligible(structure, generator)
    assert independent.any()
    assert dependent.any()
    for b in range(12):
        graph, cond = digraph(structure, b)
        for i in range(5):
            for j in range(i):
                x, y = (int(structure.targets[b, k]) for k in (i, j))
                separated = nx.is_d_separator(graph, {x}, {y}, cond)
                causes = set(graph.predecessors(x)) & set(graph.predecessors(y))
                effects = set(graph.successors(x)) & set(graph.successors(y))
                assert independent[b, i, j] == (separated and (d_z == 0 or bool(causes & cond)))
                adjacent = graph.has_edge(x, y) or graph.has_edge(y, x)
                assert dependent[b, i, j] == (adjacent or bool(effects & cond))
                assert not (dependent[b, i, j] and separated)


def digraph(structure: Structure, b: int) -> tuple[nx.DiGraph, set[int]]:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(structure.parents.shape[1]))
    graph.add_edges_from((int(i), int(j)) for j, i in structure.parents[b].nonzero())
    return graph, set(structure.cond[b].tolist())


def test_fisher_z_is_exact_where_links_are_linear_and_noise_is_gaussian() -> None:
    data = random_dag_questions("linear-gaussian", 400, 200, 3, seed=0)
    pvalues = np.empty(400)
    for k, (x, y, z) in enumerate(zip(data.x, data.y, data.z, strict=True)):
        design = np.hstack([np.ones((200, 1)), z.numpy()])
        left = [
            v[:, 0].numpy() - design @ np.linalg.lstsq(design, v[:, 0].numpy())[0] for v in (x, y)
        ]
        fisher = np.arctanh(np.corrcoef(*left)[0, 1]) * np.sqrt(200 - 3 - 3)
        pvalues[k] = 2 * stats.norm.sf(abs(fisher))
    rejected = pvalues < 0.05
    # 200 datasets a class: the binomial bounds of 5 % at 1 in 10,000 on each side.
    assert 0.005 <= rejected[data.label.numpy() == 0].mean() <= 0.12
    assert rejected[data.label.numpy() == 1].mean() >= 0.6


@pytest.mark.parametrize("d_z", [0, 3, 20])
def test_kinds_of_the_streams_with_categories(d_z: int) -> None:
    some, every = (
        null_datasets(stream, 16, 80, d_z, seed=1)
        for stream in ("some-categories", "all-categories")
    )
    assert some.categorical is not None
    assert every.categorical is not None
    assert every.categorical.all()
    assert 0.2 < float(some.categorical.float().mean()) < 0.8
    assert len(some.categorical.float().mean(dim=1).unique()) > 2  # shares differ
    for drawn, kinds in ((some, some.categorical), (every, every.categorical)):
        table = torch.cat([drawn.x, drawn.y, drawn.z], dim=2)
        assert table.shape == (16, 80, 2 + d_z)
        assert not drawn.label.any()
        for columns, categorical in zip(table, kinds, strict=True):
            for column, is_category in zip(columns.T, categorical, strict=True):
                levels = column.unique()
                if is_category:
                    assert levels.tolist() == levels.long().tolist()
                    assert levels.min() >= 0
                    assert levels.max() < 12
                else:
                    assert len(levels) > 40


@pytest.mark.parametrize("pair", KINDS_OF_PAIRS)
@pytest.mark.parametrize("given", KINDS_OF_Z)
def test_datasets_have_the_kinds_asked_for(pair: str, given: str) -> None:
    drawn = null_datasets_of_kinds(pair, given, 20, 60, 3, seed=1)
    assert drawn.x.shape == drawn.y.shape == (20, 60, 1)
    assert not drawn.label.any()
    assert drawn.categorical is not None
    of_both, of_z = drawn.categorical.split([2, 3], dim=1)
    assert (of_both.sum(dim=1) == pair.split("-").count("category")).all()
    if pair == "numeric-category":  # either of them
        assert 2 < int(of_both[:, 0].sum()) < 18
    expected = {"numeric": [0, 0, 0], "categorical": [1, 1, 1], "mixed": [0, 1, 0]}[given]
    assert of_z.int().tolist() == [expected] * 20
    table = torch.cat([drawn.x, drawn.y, drawn.z], dim=2)
    few = torch.stack([(column.sort().values.diff() > 0).sum() < 12 for column in columns(table)])
    assert torch.equal(few.view(20, 5), drawn.categorical)


def columns(table: torch.Tensor) -> torch.Tensor:
    return table.mT.flatten(0, 1)


def test_unknown_kinds_are_told_with_the_closest() -> None:
    with pytest.raises(OptionError, match="Did you mean 'numeric-category'"):
        null_datasets_of_kinds("numeric-categories", "mixed", 2, 50, 1, seed=0)
    with pytest.raises(OptionError, match="kind of Z 'none'"):
        null_datasets_of_kinds("numeric-category", "none", 2, 50, 1, seed=0)


def test_without_z_exact_tests_reject_as_many_as_they_should() -> None:
    """Rank correlation, Kruskal and Wallis' test, chi-square: by the kinds of X and Y."""
    drawn = null_datasets("some-categories", 200, 300, 0, seed=3)
    assert drawn.categorical is not None
    pvalues: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for x, y, kinds in zip(drawn.x[..., 0], drawn.y[..., 0], drawn.categorical, strict=True):
        one, other = (y.numpy(), x.numpy()) if kinds[0] else (x.numpy(), y.numpy())
        count = int(kinds.sum())
        if count == 0:
            pvalue = stats.spearmanr(one, other).pvalue
        elif count == 1:
            pvalue = stats.kruskal(*(one[other == level] for level in np.unique(other))).pvalue
        else:
            pvalue = chi_square(one, other, np.zeros(300))
        pvalues[count].append(pvalue)
    for of_kinds in pvalues.values():
        assert len(of_kinds) > 40
        assert stats.binomtest(sum(p < 0.05 for p in of_kinds), len(of_kinds), 0.05).pvalue > 0.001


def test_given_a_category_groups_of_a_number_differ_as_often_as_they_should() -> None:
    """Kruskal and Wallis' test of the number by the category, within each level of Z."""
    drawn = null_datasets_of_kinds("numeric-category", "categorical", 80, 400, 1, seed=5)
    assert drawn.categorical is not None
    rejected = marginally = 0
    for x, y, z, kinds in zip(drawn.x, drawn.y, drawn.z, drawn.categorical, strict=True):
        number, level = (y, x) if kinds[0] else (x, y)
        rejected += kruskal(number[:, 0].numpy(), level[:, 0].numpy(), z[:, 0].numpy()) < 0.05
        marginally += kruskal(number[:, 0].numpy(), level[:, 0].numpy(), np.zeros(400)) < 0.05
    assert rejected <= stats.binom.ppf(0.999, 80, 0.05)
    assert marginally > stats.binom.ppf(0.9999, 80, 0.05)  # Z is a common cause of some


def kruskal(number: np.ndarray, levels: np.ndarray, z: np.ndarray) -> float:
    """Tests within each level of Z, and combines the statistics, which add up to chi-square."""
    statistic, freedom = 0.0, 0
    for value in np.unique(z):
        groups = [number[(z == value) & (levels == level)] for level in np.unique(levels)]
        groups = [group for group in groups if len(group) >= 5]
        if len(groups) > 1:
            statistic += stats.kruskal(*groups).statistic
            freedom += len(groups) - 1
    return float(stats.chi2.sf(statistic, freedom)) if freedom else 1.0


def test_given_a_category_chi_square_rejects_as_many_as_it_should() -> None:
    drawn = null_datasets("all-categories", 100, 1000, 1, seed=2)
    rejected = marginally = 0
    for x, y, z in zip(drawn.x[..., 0], drawn.y[..., 0], drawn.z[..., 0], strict=True):
        rejected += chi_square(x.numpy(), y.numpy(), z.numpy()) < 0.05
        marginally += chi_square(x.numpy(), y.numpy(), np.zeros(1000)) < 0.05
    assert rejected <= stats.binom.ppf(0.999, 100, 0.05)
    assert marginally > 13  # Z is a common cause of some


def chi_square(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> float:
    """Sums chi-square statistics over the levels of Z."""
    total, degrees = 0.0, 0
    for level in np.unique(z):
        one, other = x[z == level], y[z == level]
        counts = stats.contingency.crosstab(one, other).count
        if min(counts.shape) > 1:
            found = stats.chi2_contingency(counts, correction=False)
            total, degrees = total + found.statistic, degrees + found.dof
    return float(stats.chi2.sf(total, degrees)) if degrees else 1.0
