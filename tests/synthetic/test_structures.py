"""Labels against networkx, and where conditioning sets lie."""

from collections.abc import Callable

import networkx as nx
import pytest
import torch

from acid_causal.synthetic import structures
from acid_causal.synthetic.draws import seeded
from acid_causal.synthetic.structures import Structure


def graph_of(structure: Structure, b: int) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(structure.parents.shape[1]))
    graph.add_edges_from((i, j) for j, i in structure.parents[b].nonzero().tolist())
    return graph


def mismatches(structure: Structure, dependent: torch.Tensor) -> tuple[int, int]:
    """Counts pairs whose label is not networkx's d-separation, and all pairs."""
    wrong = asked = 0
    for b in range(len(dependent)):
        graph, cond = graph_of(structure, b), set(structure.cond[b].tolist())
        targets = structure.targets[b].tolist()
        for p, x in enumerate(targets):
            for q, y in enumerate(targets[:p]):
                separated = nx.is_d_separator(graph, {x}, {y}, cond)
                wrong += bool(dependent[b, p, q]) == separated
                asked += 1
    return wrong, asked


@pytest.mark.parametrize("d_z", [0, 1, 3, 10])
@pytest.mark.parametrize("sampler", [structures.random_dags, structures.driven])
def test_label_is_d_separation(sampler: Callable[..., Structure], d_z: int) -> None:
    wrong = asked = 0
    for seed in range(12):
        generator = seeded("labels", seed)
        structure = sampler(16, d_z, 6, 3, generator)
        w, a = mismatches(structure, structure.dependent(generator))
        wrong, asked = wrong + w, asked + a
    assert asked == 12 * 16 * 15
    assert wrong == 0


def test_roles_are_disjoint_and_graphs_acyclic() -> None:
    structure = structures.random_dags(50, 4, 6, 3, seeded("roles"))
    for b in range(50):
        roles = structure.cond[b].tolist() + structure.targets[b].tolist()
        assert len(set(roles)) == 10
        assert nx.is_directed_acyclic_graph(graph_of(structure, b))


def test_conditioning_sets_lie_near_the_focus_pair_more_often_than_far() -> None:
    structure = structures.random_dags(400, 4, 2, 14, seeded("near"))
    near = drawn = base = possible = 0
    for b in range(400):
        graph = graph_of(structure, b).to_undirected()
        x, y = structure.targets[b].tolist()
        neighbours = (set(graph[x]) | set(graph[y])) - {x, y}
        near += len(neighbours & set(structure.cond[b].tolist()))
        drawn += 4
        base += len(neighbours)
        possible += graph.number_of_nodes() - 2
    assert near / drawn > 1.3 * base / possible
