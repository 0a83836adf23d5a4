"""The skeleton is causal-learn's: the same questions, graph and separating sets, at less cost."""

import time
import zlib
from typing import Any

import numpy as np
import pytest
from causallearn.graph.GraphNode import GraphNode
from causallearn.utils.cit import CIT_Base
from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge
from causallearn.utils.PCUtils.SkeletonDiscovery import skeleton_discovery

from acid_causal.discovery.search.skeleton import find_skeleton


class Noise(CIT_Base):  # type: ignore[misc]  # causal-learn has no types
    """P-values that depend on the question and on nothing else; a third of them are small."""

    def __init__(self, d: int, seed: int) -> None:
        super().__init__(np.zeros((10, d)))
        self.method = "noise"
        self.seed = seed
        self.asked: set[Any] = set()

    def __call__(self, X: Any, Y: Any, condition_set: Any = None, *args: Any) -> float:
        question = sorted((int(X), int(Y))), sorted(map(int, condition_set))
        self.asked.add(str(question))
        return 0.15 * (zlib.crc32(f"{self.seed} {question}".encode()) / 2**32)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("max_size", [None, 0, 2])
@pytest.mark.parametrize("apart", [set(), {(0, 1), (2, 5)}])
def test_as_causal_learn_finds_it(seed: int, max_size: int | None, apart: set[Any]) -> None:
    d = 8
    names = [f"x{k}" for k in range(d)]
    ours, theirs = Noise(d, seed), Noise(d, seed)
    found = find_skeleton(d, 0.05, ours, apart=apart, max_size=max_size)
    known = BackgroundKnowledge()
    for i, j in apart:
        known.add_forbidden_by_node(GraphNode(names[i]), GraphNode(names[j]))
        known.add_forbidden_by_node(GraphNode(names[j]), GraphNode(names[i]))
    expected = skeleton_discovery(
        theirs.data,
        0.05,
        theirs,
        node_names=names,
        max_k=max_size,
        show_progress=False,
        background_knowledge=known,
    )
    np.testing.assert_array_equal(found.linked, expected.G.graph != 0)
    assert ours.asked == theirs.asked
    for i, j in np.ndindex(d, d):
        assert found.sepsets.get((i, j)) == expected.sepset[i, j]


def test_hundreds_of_variables_cost_little() -> None:
    d = 400
    start = time.process_time()
    find_skeleton(d, 0.05, lambda *_: 0.5, apart=(), max_size=None)
    assert time.process_time() - start < 10
