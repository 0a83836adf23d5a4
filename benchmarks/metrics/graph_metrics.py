"""Metrics of a recovered graph, given the true DAG.

All functions take an endpoint matrix of shape (d, d) (see `endpoints`) and the DAG, whose nodes are
in the order of the matrix.
"""

from dataclasses import dataclass
from typing import Literal

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_fscore_support

from acid_causal.discovery.mixed_graph import ARROW, CIRCLE, NONE, TAIL
from benchmarks.metrics.endpoints import Endpoints, cpdag_of, from_dag


@dataclass(frozen=True)
class SkeletonScores:
    """Precision, recall and F1 of a skeleton; 0 where the denominator is 0."""

    precision: float
    recall: float
    f1: float


def number_of_edges(estimate: Endpoints) -> int:
    """Counts the edges, whatever their marks."""
    return int(np.count_nonzero(np.triu(estimate)))


def skeleton_scores(estimate: Endpoints, dag: nx.DiGraph) -> SkeletonScores:
    """Scores the skeleton; adjacent pairs are the positive class."""
    pairs = np.triu_indices(len(estimate), k=1)
    precision, recall, f1, _ = precision_recall_fscore_support(
        from_dag(dag)[pairs] != NONE,
        estimate[pairs] != NONE,
        average="binary",
        pos_label=True,
        zero_division=0.0,
    )
    return SkeletonScores(float(precision), float(recall), float(f1))


def skeleton_shd(linked: NDArray[np.bool_], dag: nx.DiGraph) -> int:
    """Counts the pairs whose adjacency is wrong."""
    return int(np.count_nonzero(np.triu(linked != (from_dag(dag) != NONE), k=1)))


def cpdag_shd(estimate: Endpoints, dag: nx.DiGraph) -> int:
    """Structural Hamming distance to the true CPDAG.

    An edge that is missing, extra or has another mark costs 1 (Tsamardinos et al. 2006). An
    estimate without edges scores the number of true edges.
    """
    return _differing_pairs(estimate, cpdag_of(dag))


def pag_shd(estimate: Endpoints, dag: nx.DiGraph) -> int:
    """Structural Hamming distance of a PAG to the true PAG without latents, by arrowheads.

    A pair costs 1 if adjacency or arrowheads differ; a circle counts as a tail. Without latent
    variables the true PAG has the arrowheads of the true CPDAG, so the distance can be compared
    with PC's CPDAG-SHD. Tails are not scored because some of causal-learn 0.1.4.8 are wrong: given
    the d-separations of the 17-edge Sachs network, its rules for selection bias turn circles into
    tails.
    """
    return cpdag_shd(np.where(estimate == CIRCLE, TAIL, estimate), dag)


def dag_shd(estimate: Endpoints, dag: nx.DiGraph, undirected: Literal["wrong", "right"]) -> int:
    """Structural Hamming distance of a CPDAG to the true DAG itself.

    Args:
        estimate: Endpoints of the CPDAG.
        dag: The truth.
        undirected: Whether an undirected edge between adjacent variables costs 1 ("wrong") or 0
            ("right"). Such an edge claims no direction, so the two are bounds.
    """
    wrong = _differing_pairs(estimate, from_dag(dag))
    if undirected == "wrong":
        return wrong
    lenient = (estimate == TAIL) & (estimate.T == TAIL) & (from_dag(dag) != NONE)
    return wrong - int(np.count_nonzero(np.triu(lenient)))


EdgeClass = Literal["undirected", "right", "reversed", "extra", "missing"]


def classify_edges(estimate: Endpoints, dag: nx.DiGraph) -> dict[tuple[int, int], EdgeClass]:
    """Classifies edges by their agreement with the true DAG.

    Returns:
        The class of each pair that is adjacent in either graph. A pair (i, j) stands for an edge
        that is drawn from i to j: as in the DAG if it is missing, otherwise as in the estimate. A
        bidirected edge between adjacent variables counts as reversed.
    """
    truth = from_dag(dag)
    classes: dict[tuple[int, int], EdgeClass] = {}
    for i, j in zip(*np.nonzero(np.triu((estimate != NONE) | (truth != NONE))), strict=True):
        drawn = estimate if estimate[i, j] != NONE else truth
        turned = (j, i) if drawn[i, j] == ARROW != drawn[j, i] else (i, j)
        name: EdgeClass
        if estimate[i, j] == NONE:
            name = "missing"
        elif truth[i, j] == NONE:
            name = "extra"
        elif ARROW not in (estimate[i, j], estimate[j, i]):
            name = "undirected"
        else:
            agrees = (estimate[i, j], estimate[j, i]) == (truth[i, j], truth[j, i])
            name = "right" if agrees else "reversed"
        classes[int(turned[0]), int(turned[1])] = name
    return classes


def _differing_pairs(one: Endpoints, other: Endpoints) -> int:
    """Counts pairs of variables whose two marks are not the same in both graphs."""
    differ = one != other
    return int(np.count_nonzero(np.triu(differ | differ.T, k=1)))
