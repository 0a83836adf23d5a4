import networkx as nx
import numpy as np

from acid_causal.discovery.mixed_graph import ARROW, CIRCLE, TAIL
from benchmarks.metrics.endpoints import from_dag, from_text, to_text


def test_marks_are_causal_learns() -> None:
    # a -> b: a tail at a, which is entry [a, b]; an arrowhead at b, which is entry [b, a].
    endpoints = from_dag(nx.DiGraph([("a", "b")]))
    np.testing.assert_array_equal(endpoints, [[0, TAIL], [ARROW, 0]])


def test_text_of_every_mark() -> None:
    text = "a --- b; a --> c; a <-> d; b o-> c; b o-o d; c <-- d; d o-- e"
    endpoints = from_text(text, "abcde")
    assert endpoints[1, 2] == CIRCLE
    assert endpoints[2, 1] == ARROW
    assert endpoints[2, 3] == ARROW
    assert to_text(endpoints, "abcde") == text


def test_text_of_no_edges() -> None:
    assert to_text(from_text("", "abc"), "abc") == ""
