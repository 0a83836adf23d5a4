"""Marks of edges: how they read from either side, and what they claim."""

import numpy as np
import pytest
from causallearn.graph.Edge import Edge
from causallearn.graph.Endpoint import Endpoint
from causallearn.graph.GeneralGraph import GeneralGraph
from causallearn.graph.GraphNode import GraphNode

from acid_causal.discovery.mixed_graph import Link, ends, links, mark_between, meaning, mirrored

ENDS = {"-": Endpoint.TAIL, "<": Endpoint.ARROW, ">": Endpoint.ARROW, "o": Endpoint.CIRCLE}


@pytest.mark.parametrize("mark", ["-->", "---", "<->", "o->", "o-o", "--o"])
@pytest.mark.parametrize("swap", [False, True])
def test_marks_as_causal_learn_writes_them(mark: str, swap: bool) -> None:
    nodes = [GraphNode("a"), GraphNode("b")]
    graph = GeneralGraph(nodes)
    x, y = nodes[::-1] if swap else nodes
    graph.add_edge(Edge(x, y, ENDS[mark[0]], ENDS[mark[2]]))
    endpoints = np.asarray(graph.graph, dtype=np.int8)
    a, b = (1, 0) if swap else (0, 1)
    assert mark_between(endpoints, a, b) == mark
    assert mark_between(endpoints, b, a) == mirrored(mark)
    (link,) = links(endpoints)
    assert link.mark in (mark, mirrored(mark))
    assert mark_between(endpoints, link.a, link.b) == link.mark
    if ">" in mark:
        assert link.mark == mark  # read towards the arrowhead, in whichever order the columns are
    if mark in ("-->", "o->"):
        assert link == Link(a, b, mark)


def test_no_edge() -> None:
    assert links(np.zeros((3, 3), dtype=np.int8)) == []
    assert mark_between(np.zeros((3, 3), dtype=np.int8), 0, 2) == ""
    assert mirrored("") == ""


def test_ends() -> None:
    assert ends("o->") == ("circle", "arrow")
    assert ends("<--") == ("arrow", "tail")


def test_each_mark_has_a_meaning() -> None:
    for method, marks in {
        "pc": ["-->", "---", "<->"],
        "fci": ["-->", "---", "<->", "o->", "o-o", "--o", "o--"],
    }.items():
        said = [meaning("rain", mark, "wet", method) for mark in marks]
        assert len(set(said)) == len(marks)
        assert all("rain" in text and "wet" in text for text in said)
    # What leaves room for a hidden cause must not be called a cause.
    assert "either rain causes wet" in meaning("rain", "o->", "wet", "fci")
