"""Tables from random structural equation models, for PC as a whole.

Graphs are Erdos-Renyi with two edges a variable: exactly 2 d edges among all pairs alike, so that
the empty graph is at distance 2 d from every one of them. The noise is Gaussian with the signal's
standard deviation, the causes of a variable are equally strong, and columns come standardised and
in an order that tells nothing. Of these choices the noise was made by Fisher-z
alone: with linear equations, d = 10 and n = 1000 its skeletons should have an F1 of about .8.
"""

import math
from dataclasses import dataclass

import networkx as nx
import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Generator, Tensor

from acid_causal.errors import unknown
from acid_causal.synthetic.draws import log_uniform, rand, randn, seeded
from acid_causal.synthetic.mechanisms import Mechanism, families
from acid_causal.synthetic.noise import gaussian
from acid_causal.synthetic.sem import Domain, simulate
from acid_causal.synthetic.structures import Structure

EDGES_A_VARIABLE = 2
NOISE = (1.0, 1.0)  # standard deviation relative to the signal's: lowest, highest
STRENGTH = (1.0, 1.0)
# So many rows are drawn whatever is asked for: the smaller tables of a model are its first rows.
LARGEST_N = 2000


@dataclass(frozen=True)
class RandomTable:
    """A table whose graph is known.

    Attributes:
        data: Standardised columns, shape (n, d).
        dag: The truth; its nodes are the columns' numbers, in order.
    """

    data: NDArray[np.float64]
    dag: nx.DiGraph


def additive_gp(
    parents: Float[Tensor, "batch n p"], strength: Float[Tensor, "batch p"], generator: Generator
) -> Float[Tensor, "batch n"]:
    """A sum over parents of draws of one-dimensional Gaussian processes with an RBF kernel.

    Each draw is a sum of 64 random Fourier features; `acid-ranks` never saw such functions.
    """
    batch, _, p = parents.shape
    features = 64
    length = log_uniform(generator, 0.6, 1.5, batch, 1, p, 1)
    omega = randn(generator, batch, 1, p, features) / length
    phase = 2 * math.pi * rand(generator, batch, 1, p, features)
    weight = randn(generator, batch, 1, p, features) * math.sqrt(2 / features)
    draws = (weight * torch.cos(parents[..., None] * omega + phase)).sum(-1)
    return (draws * strength[:, None, :]).sum(-1)


MECHANISMS: dict[str, dict[str, Mechanism]] = {
    "mlp": families("mlp16"),
    "additive-gp": {"additive-gp": additive_gp},
    "linear": families("linear"),
}


def random_table(d: int, n: int, mechanism: str, seed: int) -> RandomTable:
    """Draws a graph, a model on it, and n rows of the model.

    Args:
        d: Number of variables, at least 5.
        n: Rows, at most `LARGEST_N`; tables that differ only in n share their first rows, up to
            standardising.
        mechanism: "mlp" (one hidden layer of 16 units), "additive-gp" or "linear".
        seed: Equal seeds and d give equal graphs, whatever the mechanism.

    Raises:
        OptionError: No such mechanism.
    """
    if mechanism not in MECHANISMS:
        raise unknown("mechanism", mechanism, MECHANISMS)
    assert n <= LARGEST_N, n
    dag = random_dag(d, seed)
    parents = torch.from_numpy(nx.to_numpy_array(dag, dtype=bool)).T[None]
    nodes = torch.empty(1, 0, dtype=torch.long)
    structure = Structure(parents, cond=nodes, targets=nodes)
    domain = Domain(MECHANISMS[mechanism], {"gaussian": gaussian}, NOISE, STRENGTH, 0.0)
    generator = seeded("benchmark", "random sems", mechanism, d, seed)
    values = simulate(structure, LARGEST_N, domain, generator)[0, :n].double().numpy()
    order = np.random.default_rng([d, seed]).permutation(d)
    data = values[:, order]
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    place = {int(node): column for column, node in enumerate(order)}
    return RandomTable(data, _in_order(nx.relabel_nodes(dag, place)))


def random_dag(d: int, seed: int) -> nx.DiGraph:
    """Draws a graph of d nodes and 2 d edges, each from a node to a later one."""
    undirected = nx.gnm_random_graph(d, EDGES_A_VARIABLE * d, seed=np.random.default_rng([d, seed]))
    dag = nx.DiGraph()
    dag.add_nodes_from(range(d))
    dag.add_edges_from(tuple(sorted(edge)) for edge in undirected.edges)
    return dag


def _in_order(dag: nx.DiGraph) -> nx.DiGraph:
    ordered = nx.DiGraph()
    ordered.add_nodes_from(sorted(dag))
    ordered.add_edges_from(dag.edges)
    return ordered
