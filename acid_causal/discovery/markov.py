"""Does a graph agree with the data? The independences that it implies are tested.

A graph that is wrong implies independences that the data do not have. How many is much? As many as
the same graph with its names permuted, which knows the number and the pattern of the edges, and not
where they are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np

from acid_causal.discovery.mixed_graph import ARROW, TAIL, Endpoints
from acid_causal.errors import InputError, check_level, whole_number
from acid_causal.inference.tester import Tester
from acid_causal.options import defaults
from acid_causal.tables.column_types import Ordered, Selection
from acid_causal.tables.inputs import Question, as_table

Names = tuple[str, ...]


@dataclass(frozen=True)
class Violation:
    """Two variables that the graph separates, and the data do not.

    Attributes:
        a, b: the variables.
        given: the conditioning set.
        pvalue: the p-value of their test.
    """

    a: str
    b: str
    given: Names
    pvalue: float


@dataclass(frozen=True)
class MarkovCheck:
    """How many of the independences that a graph implies the data contradict.

    Attributes:
        implied: number of implied independences that were tested.
        violations: those with a p-value of at most alpha, the smallest p-value first.
        permuted: the failing share of each graph with permuted names; NaN where it implies none.
        alpha: level of each test.
        max_size: size of the largest conditioning set.
    """

    implied: int
    violations: tuple[Violation, ...]
    permuted: tuple[float, ...]
    alpha: float
    max_size: int

    @property
    def failed(self) -> float:
        """The share of implied independences that the data contradict; NaN if none is implied."""
        return len(self.violations) / self.implied if self.implied else float("nan")

    @property
    def pvalue(self) -> float:
        """The share of graphs with permuted names that fail no more often than the graph.

        Large: the graph fits no better than chance. 1 if it implies nothing.
        """
        if not self.implied:
            return 1.0
        as_good = sum(share <= self.failed for share in self.permuted)
        return (1 + as_good) / (1 + len(self.permuted))

    def __str__(self) -> str:
        if not self.implied:
            return "the graph implies no independence that could be tested"
        usual = float(np.nanmedian(self.permuted)) if self.permuted else float("nan")
        return (
            f"{len(self.violations)} of {self.implied} implied independences fail "
            f"({self.failed:.0%}; with permuted names {usual:.0%}; p = {self.pvalue:.2g})"
        )


def check_markov(
    table: Any,
    endpoints: Endpoints,
    *,
    alpha: float = defaults.ALPHA,
    max_size: int = 1,
    relabelings: int = 99,
    seed: int = 0,
    known: Mapping[Question, float] | None = None,
    missing: str = defaults.MISSING,
    categorical: Selection = (),
    ordered: Ordered = (),
    **options: Any,
) -> MarkovCheck:
    """Tests the independences that PC's graph implies.

    The graph was chosen on these data, so a share near alpha is no proof; a large one, or one that
    permuted names reach, speaks against the graph, against a missing common cause, or for errors of
    the test. All pairs are tested with all sets up to the size: d^3 / 2 tests for size 1.

    Args:
        table: the data, (n, d).
        endpoints: PC's graph.
        alpha: level of each test.
        max_size: size of the largest conditioning set.
        relabelings: number of graphs with permuted names.
        seed: of the permuted names.
        known: p-values that need not be computed.
        missing: "raise" or "drop"; see `Tester`.
        categorical: columns of unordered categories; see `Tester`.
        ordered: columns to be ranked; see `Tester`.
        **options: of the tester.

    Raises:
        InputError: the graph has hidden causes (FCI's), or is that of another table.
        OptionError: an invalid value.

    References:
        Eulig, Mastakouri, Bloebaum, Hardt, Janzing (2023), Toward falsifying causal graphs using a
        permutation-based test.
    """
    alpha = check_level(alpha)
    max_size = whole_number("max_size", max_size, 0)
    relabelings = whole_number("relabelings", relabelings, 1)
    seed = whole_number("seed", seed, 0)
    data = as_table(table, missing=missing, categorical=categorical, ordered=ordered)
    d = len(data.columns)
    if endpoints.shape != (d, d):
        raise InputError(f"the graph has {len(endpoints)} variables, and the table {d} columns")
    dag = extend(endpoints)
    implied = set(_separations(dag, max_size))
    pvalues = dict(known or {})
    asked = [(i, j, s) for i, j in combinations(range(d), 2) for s in _sets(d, i, j, max_size)]
    missing_ones = [question for question in asked if question not in pvalues]
    if implied and missing_ones:
        results = Tester(data, alpha=alpha, **options).test_many(missing_ones)
        pvalues |= {q: float(r.pvalue) for q, r in zip(missing_ones, results, strict=True)}
    rng = np.random.default_rng(seed)
    shares = [
        _failing(
            ((order[i], order[j], [order[k] for k in s]) for i, j, s in implied), pvalues, alpha
        )
        for order in (rng.permutation(d).tolist() for _ in range(relabelings))
    ]
    failed = sorted((pvalues[q], q) for q in implied if pvalues[q] <= alpha)
    names = data.columns
    violations = tuple(
        Violation(names[i], names[j], tuple(names[k] for k in s), p) for p, (i, j, s) in failed
    )
    return MarkovCheck(len(implied), violations, tuple(shares), alpha, max_size)


def _sets(d: int, i: int, j: int, max_size: int) -> Iterator[tuple[int, ...]]:
    others = [k for k in range(d) if k not in (i, j)]
    for size in range(min(max_size, len(others)) + 1):
        yield from combinations(others, size)


def _separations(dag: "nx.DiGraph", max_size: int) -> Iterator[Question]:
    for i, j in combinations(dag.nodes, 2):
        if not dag.has_edge(i, j) and not dag.has_edge(j, i):
            for cond in _sets(len(dag), i, j, max_size):
                if nx.is_d_separator(dag, {i}, {j}, set(cond)):
                    yield i, j, cond


def _failing(
    questions: Iterator[tuple[int, int, list[int]]], pvalues: Mapping[Question, float], alpha: float
) -> float:
    """Returns the share of questions with a p-value of at most alpha."""
    found = [pvalues[min(i, j), max(i, j), tuple(sorted(s))] <= alpha for i, j, s in questions]
    return float(np.mean(found)) if found else float("nan")


def extend(endpoints: Endpoints) -> "nx.DiGraph":
    """Returns a DAG of the equivalence class that a CPDAG stands for, or a near one.

    Where the CPDAG contradicts itself no DAG has all its arrows. Then an edge is directed by the
    order of the columns, and edges `<->` likewise.

    Raises:
        InputError: the graph has circles, as FCI's have.

    References:
        Dor, Tarsi (1992), A simple algorithm to construct a consistent extension of a partially
        oriented graph.
    """
    if (np.abs(endpoints) > 1).any():
        raise InputError("the check of implied independences takes PC's graphs, and this is FCI's")
    marks = endpoints.copy()
    contradictory = (marks == ARROW) & (marks.T == ARROW)
    marks[contradictory] = TAIL
    left = list(range(len(marks)))
    order: list[int] = []
    while left:
        sink = next((k for k in left if _is_sink(marks, k, left)), left[-1])
        order.append(sink)
        left.remove(sink)
    place = {k: -number for number, k in enumerate(order)}
    dag = nx.DiGraph()
    dag.add_nodes_from(range(len(marks)))
    for i, j in np.argwhere(np.triu(marks)).tolist():
        dag.add_edge(*sorted((i, j), key=place.__getitem__))
    return dag


def _is_sink(marks: Endpoints, k: int, left: list[int]) -> bool:
    """Says whether a node can be the last one of those that are left."""
    near = [j for j in left if marks[k, j]]
    if any(marks[k, j] == TAIL and marks[j, k] == ARROW for j in near):
        return False
    undirected = [j for j in near if marks[k, j] == TAIL]
    return all(marks[i, j] for i in undirected for j in near if i != j)
