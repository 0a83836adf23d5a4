"""Questions on random DAGs: the answers by d-separation, and what an exact test makes of them."""

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import stats

from acid_causal.errors import OptionError
from acid_causal.synthetic import QUESTION_DOMAINS, random_dag_questions
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
