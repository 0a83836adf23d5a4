"""Tables of numbers and categories from random structural equation models, for PC as a whole.

Graphs are those of `benchmarks.data.random_sems`, variables those of `benchmarks.data.mixed_model`.
Half of the columns are categories, or all of them.
"""

from dataclasses import dataclass

import networkx as nx
import numpy as np
from jaxtyping import Float

from acid_causal.errors import unknown
from benchmarks.data.mixed_model import RELATIONS, Array, MixedModel, Variable
from benchmarks.data.random_sems import LARGEST_N, random_dag

ALL_CATEGORIES = "categorical"
MECHANISMS = (*RELATIONS, ALL_CATEGORIES)


@dataclass(frozen=True)
class MixedTable:
    """A table whose graph is known.

    Attributes:
        data: The columns, shape (n, d); categories are codes.
        categorical: The columns that are categories.
        dag: The truth; its nodes are the columns' numbers, in order.
    """

    data: Float[Array, "n d"]
    categorical: list[int]
    dag: nx.DiGraph


def mixed_table(d: int, n: int, mechanism: str, seed: int) -> MixedTable:
    """Draws a graph, a model on it, and n rows of the model.

    Args:
        d: Number of variables, at least 5.
        n: Rows, at most `LARGEST_N`; tables that differ only in n share their first rows.
        mechanism: "nonlinear" or "linear", with half of the columns categories; or "categorical",
            with all of them.
        seed: Equal seeds and d give equal graphs, whatever the mechanism.

    Raises:
        OptionError: No such mechanism.
    """
    if mechanism not in MECHANISMS:
        raise unknown("mechanism", mechanism, MECHANISMS)
    assert n <= LARGEST_N, n
    rng = np.random.default_rng([MECHANISMS.index(mechanism), d, seed])
    model = MixedModel(LARGEST_N, mechanism != "linear", rng)
    dag = random_dag(d, seed)
    every = mechanism == ALL_CATEGORIES
    chosen = set(range(d)) if every else set(rng.choice(d, d // 2, replace=False).tolist())
    variables: list[Variable] = []
    for node in range(d):  # causes come before their effects
        causes = [variables[cause] for cause in dag.predecessors(node)]
        variables.append(model.draw(causes, model.draw_levels(node in chosen)))
    order = rng.permutation(d).tolist()  # a column's place tells nothing
    place = {node: column for column, node in enumerate(order)}
    truth = nx.DiGraph()
    truth.add_nodes_from(range(d))
    truth.add_edges_from((place[cause], place[effect]) for cause, effect in dag.edges)
    return MixedTable(
        np.stack([variables[node].values[:n] for node in order], axis=1),
        [column for column, node in enumerate(order) if node in chosen],
        truth,
    )
