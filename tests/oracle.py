"""Test doubles of the tester, so that causal-learn's side is tested without a trained model.

They are registered with causal-learn under names of their own; importing this module does it, in a
worker process too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
from causallearn.utils.cit import register_ci_test
from scipy.special import ndtr

from acid_causal.causal_learn import ACID
from acid_causal.tables.inputs import Question


@dataclass(frozen=True)
class Answer:
    pvalue: float


class CountingTester:
    """Answers with `pvalue`, and remembers what it was asked."""

    least_alpha = 0.0
    at_one_level = False

    def __init__(self, data: npt.NDArray[np.float64], fingerprint: str = "f" * 64) -> None:
        self.data = np.asarray(data)
        self.n, self.d = self.data.shape
        self.columns = [f"X{i}" for i in range(self.d)]
        self.settings = {"model": {}, "null": "none", "device": "cpu"}
        self.fingerprint = fingerprint
        self.batches: list[list[Question]] = []

    def pvalue(self, question: Question) -> float:
        raise NotImplementedError

    def test_many(self, questions: Sequence[Question], progress: object = None) -> list[Answer]:
        self.batches.append(list(questions))
        return [Answer(self.pvalue(question)) for question in questions]


class FisherZTester(CountingTester):
    """Fisher-z on the rows without missing values; causal-learn's own takes ten times as long."""

    def __init__(self, data: npt.NDArray[np.float64], fingerprint: str = "f" * 64) -> None:
        super().__init__(data, fingerprint)
        complete = self.data[~np.isnan(self.data).any(axis=1)]
        self._rows = len(complete)
        self._correlations = np.atleast_2d(np.corrcoef(complete, rowvar=False))

    def pvalue(self, question: Question) -> float:
        i, j, cond = question
        columns = [i, j, *cond]
        precision = np.linalg.inv(self._correlations[np.ix_(columns, columns)])
        r = -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])
        return float(2 * ndtr(-np.sqrt(self._rows - len(cond) - 3) * abs(np.arctanh(r))))


class DSeparationTester(CountingTester):
    """p = 1 for what the true graph separates, 0 for the rest."""

    def __init__(self, data: npt.NDArray[np.float64], dag: nx.DiGraph) -> None:
        super().__init__(data)
        self.dag = dag

    def pvalue(self, question: Question) -> float:
        i, j, cond = question
        return float(nx.is_d_separator(self.dag, {i}, {j}, set(cond)))


class FisherZThroughACID(ACID):
    """The adapter with Fisher-z behind it."""

    def __init__(
        self, data: Any, *args: Any, fingerprint: str = "f" * 64, model: object = None, **rest: Any
    ) -> None:
        tester = FisherZTester(np.asarray(data), fingerprint)
        super().__init__(data, *args, tester=tester, **rest)


class DSeparationThroughACID(ACID):
    """The adapter with d-separation behind it."""

    def __init__(self, data: Any, *args: Any, dag: nx.DiGraph, **rest: Any) -> None:
        tester = DSeparationTester(np.asarray(data), dag)
        super().__init__(data, *args, tester=tester, **rest)


register_ci_test("acid-fisherz", FisherZThroughACID)
register_ci_test("acid-oracle", DSeparationThroughACID)


def random_dag(d: int, degree: float, seed: int) -> nx.DiGraph:
    """Draws a DAG of the given expected degree, in a random causal order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(d)
    dag = nx.DiGraph()
    dag.add_nodes_from(range(d))
    for a in range(d):
        for b in range(a + 1, d):
            if rng.random() < degree / (d - 1):
                dag.add_edge(int(order[a]), int(order[b]))
    return dag


def linear_data(dag: nx.DiGraph, n: int, seed: int) -> npt.NDArray[np.float64]:
    """Draws `(n, d)` from a linear Gaussian structural equation model on the DAG."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((n, len(dag)))
    for v in nx.topological_sort(dag):
        for parent in dag.predecessors(v):
            data[:, v] += rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 1.0) * data[:, parent]
    return data
