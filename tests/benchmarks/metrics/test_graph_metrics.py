"""Graph metrics on graphs small enough to score by hand."""

import contextlib
import io
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from causallearn.graph.SHD import SHD
from causallearn.search.ConstraintBased.FCI import fci
from causallearn.search.ConstraintBased.PC import pc

from acid_causal.data.sachs import load_sachs
from acid_causal.discovery.mixed_graph import ARROW, CIRCLE, NONE, TAIL
from benchmarks.metrics.endpoints import (
    Endpoints,
    cpdag_of,
    from_dag,
    from_text,
)
from benchmarks.metrics.graph_metrics import (
    classify_edges,
    cpdag_shd,
    dag_shd,
    number_of_edges,
    pag_shd,
    skeleton_scores,
)

NODES = "abcd"


def dag_of(edges: str) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(NODES)
    graph.add_edges_from(edges.split())
    return graph


# Collider a -> c <- b with a descendant d of c. Its CPDAG is the DAG itself: c -> d is compelled,
# as c - d turned round would be a new collider.
COLLIDER = dag_of("ac bc cd")
# A chain a -> b -> c -> d: no collider, so its CPDAG is all undirected.
CHAIN = dag_of("ab bc cd")


def test_skeleton_scores_by_hand() -> None:
    # Truth: ac, bc, cd. Found: ac, bc, ab, bd. Two of four found are right (.5), two of three true
    # ones are found (.667); F1 = 2 * 2 / (4 + 3).
    found = from_text("a --- c; b --- c; a --- b; b --- d", NODES)
    scores = skeleton_scores(found, COLLIDER)
    assert scores.precision == pytest.approx(1 / 2)
    assert scores.recall == pytest.approx(2 / 3)
    assert scores.f1 == pytest.approx(4 / 7)


def test_distances_by_hand_where_the_cpdag_is_directed() -> None:
    # CPDAG of the truth: a --> c, b --> c, c --> d.
    # Found:               a --> c (right), b --- c (another mark: 1), c --> d missing (1),
    #                      a --- b extra (1), b --> d extra (1).
    found = from_text("a --> c; b --- c; a --- b; b --> d", NODES)
    assert cpdag_shd(found, COLLIDER) == 4
    assert dag_shd(found, COLLIDER, "wrong") == 4
    # Taken as right, b --- c costs nothing; a --- b still does, it is not an edge.
    assert dag_shd(found, COLLIDER, "right") == 3
    assert number_of_edges(found) == 4


def test_distances_by_hand_where_the_cpdag_is_undirected() -> None:
    # Found, with the cost against the CPDAG and against the DAG: a --> b (1, 0), c --> b (1, 1),
    # c --- d (0, 1 or 0).
    found = from_text("a --> b; c --> b; c --- d", NODES)
    assert cpdag_shd(found, CHAIN) == 2
    assert dag_shd(found, CHAIN, "wrong") == 2
    assert dag_shd(found, CHAIN, "right") == 1


def test_bidirected_edge_is_another_mark() -> None:
    found = from_text("a <-> b; b --- c; c --- d", NODES)
    assert cpdag_shd(found, CHAIN) == 1
    assert dag_shd(found, CHAIN, "right") == 1


def test_pag_shd_scores_arrowheads_and_adjacencies() -> None:
    # True PAG of the collider: a o-> c <-o b, c --> d.
    exact = from_text("a o-> c; b o-> c; c --> d", NODES)
    assert pag_shd(exact, COLLIDER) == 0
    # A wrong arrowhead at d's other end, a missing edge, and a circle where an arrowhead belongs.
    found = from_text("a o-o c; c <-> d", NODES)
    assert pag_shd(found, COLLIDER) == 3
    assert pag_shd(from_text("a o-o b; b o-o c; c o-o d", NODES), CHAIN) == 0


@pytest.mark.parametrize("edges", [17, 20])
def test_fci_with_true_answers_is_at_distance_nought(edges: int) -> None:
    # What the convention is for: FCI that is told d-separation scores 0, though causal-learn's
    # rules for selection bias turn circles into tails on the way.
    dag = load_sachs().graph(edges)  # type: ignore[arg-type]
    numbered = nx.convert_node_labels_to_integers(dag)
    with contextlib.redirect_stdout(io.StringIO()):
        graph, _ = fci(np.zeros((11, 11)), "d_separation", true_dag=numbered, show_progress=False)
    assert pag_shd(graph.graph, dag) == 0
    assert (graph.graph == TAIL).any()
    assert (graph.graph == CIRCLE).any()


@pytest.mark.parametrize("edges", [17, 20])
def test_pc_with_true_answers_is_at_distance_nought(edges: int) -> None:
    dag = load_sachs().graph(edges)  # type: ignore[arg-type]
    numbered = nx.convert_node_labels_to_integers(dag)
    graph = pc(np.zeros((11, 11)), 0.05, "d_separation", true_dag=numbered, show_progress=False).G
    assert cpdag_shd(graph.graph, dag) == 0
    assert skeleton_scores(graph.graph, dag).f1 == 1.0


def test_facts_of_the_17_edge_network() -> None:
    dag = load_sachs().graph(17)
    cpdag = cpdag_of(dag)
    assert not (cpdag == ARROW).any()
    assert number_of_edges(cpdag) == 17
    empty = np.zeros((11, 11), dtype=np.int64)
    assert cpdag_shd(empty, dag) == 17
    assert dag_shd(empty, dag, "wrong") == dag_shd(empty, dag, "right") == 17
    assert skeleton_scores(empty, dag).f1 == 0.0
    # All adjacencies right and nothing oriented: wrong 17 times, or never.
    assert dag_shd(cpdag, dag, "wrong") == 17
    assert dag_shd(cpdag, dag, "right") == 0


def test_classes_by_hand() -> None:
    # Truth a -> b -> c -> d. a --- b undirected, c --> b reversed, c -> d missing, d --> a extra.
    found = from_text("a --- b; c --> b; d --> a", NODES)
    assert classify_edges(found, CHAIN) == {
        (0, 1): "undirected",
        (2, 1): "reversed",
        (2, 3): "missing",
        (3, 0): "extra",
    }
    assert classify_edges(from_dag(CHAIN), CHAIN) == dict.fromkeys(
        [(0, 1), (1, 2), (2, 3)], "right"
    )


def random_dag(seed: int) -> nx.DiGraph:
    generator = np.random.default_rng(seed)
    order = generator.permutation(4)
    dag = nx.DiGraph()
    dag.add_nodes_from(NODES)
    for i in range(4):
        for j in range(i):
            if generator.random() < 0.6:
                dag.add_edge(NODES[order[j]], NODES[order[i]])
    return dag


def equivalents(dag: nx.DiGraph) -> list[Endpoints]:
    """All DAGs with the same skeleton and the same unshielded colliders, by trying all orders."""

    def colliders(graph: nx.DiGraph) -> set[tuple[frozenset[str], str]]:
        return {
            (frozenset((i, j)), k)
            for k in graph
            for i in graph.predecessors(k)
            for j in graph.predecessors(k)
            if i < j and not (graph.has_edge(i, j) or graph.has_edge(j, i))
        }

    members = []
    for order in permutations(NODES):
        member = nx.DiGraph()
        member.add_nodes_from(NODES)
        for i, j in dag.edges:
            member.add_edge(*sorted((i, j), key=order.index))
        if colliders(member) == colliders(dag):
            members.append(from_dag(member))
    return members


@pytest.mark.parametrize("seed", range(25))
def test_cpdag_of_causal_learn_is_the_union_of_the_class(seed: int) -> None:
    dag = random_dag(seed)
    members = np.array(equivalents(dag))
    # An end is an arrowhead in the CPDAG if it is one in every member of the class.
    adjacent = members[0] != NONE
    expected = np.where(adjacent, np.where((members == ARROW).all(axis=0), ARROW, TAIL), NONE)
    np.testing.assert_array_equal(cpdag_of(dag), expected)


@pytest.mark.parametrize("seed", range(5))
def test_distance_agrees_with_causal_learns(seed: int) -> None:
    generator = np.random.default_rng(seed)
    sachs = load_sachs()
    data = generator.normal(size=(60, 11)) @ generator.normal(size=(11, 11))
    found = pc(data, 0.3, "fisherz", node_names=sachs.columns, show_progress=False).G
    truth = pc(
        np.zeros((11, 11)),
        0.05,
        "d_separation",
        true_dag=nx.convert_node_labels_to_integers(sachs.graph(20)),
        node_names=sachs.columns,
        show_progress=False,
    ).G
    assert cpdag_shd(found.graph, sachs.graph(20)) == SHD(truth, found).get_shd()
