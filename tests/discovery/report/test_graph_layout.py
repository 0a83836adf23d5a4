"""Layouts: nothing overlaps, everything is on the sheet, and it is the same each time."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from graph_cases import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st

from acid_causal.discovery.report.graph_layout import Layout, lay_out


def check(layout: Layout) -> None:
    low, high = layout.centres - layout.sizes / 2, layout.centres + layout.sizes / 2
    assert np.isfinite(layout.centres).all()
    assert (low >= 0).all()
    assert (high <= [layout.width, layout.height]).all()
    for i, j in combinations(range(len(layout.labels)), 2):
        assert ((low[i] > high[j]) | (low[j] > high[i])).any(), (i, j)


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 14), st.floats(0, 1), st.integers(0, 1000))
def test_boxes_do_not_overlap(d: int, density: float, seed: int) -> None:
    graph = nx.gnp_random_graph(d, density, seed=seed)
    names = [f"variable {k}" * (1 + k % 3) for k in range(d)]
    layout = lay_out(names, list(graph.edges))
    check(layout)
    again = lay_out(names, list(graph.edges))
    np.testing.assert_array_equal(layout.centres, again.centres)


@pytest.mark.slow
def test_large_graphs() -> None:
    graph = nx.gnm_random_graph(200, 320, seed=1)
    check(lay_out([f"column {k}" for k in range(200)], list(graph.edges)))


def test_hostile_names() -> None:
    layout = lay_out(HOSTILE, [(k, k + 1) for k in range(len(HOSTILE) - 1)])
    check(layout)
    assert all("\n".join(label.split("\n")) and "\x01" not in label for label in layout.labels)
    longest = layout.labels[9].split("\n")
    assert longest[0] == "a very long name"
    assert longest[-1] == "…"


def test_wrapping() -> None:
    layout = lay_out(["alcalinity_of_ash_in_wine", "x" * 40, "名前" * 4], [])
    assert layout.labels[0] == "alcalinity_of_\nash_in_wine"
    assert layout.labels[1] == f"{'x' * 18}\n{'x' * 18}\nxxxx"
    assert layout.sizes[2, 0] > 8 * 11.0  # wide letters


@pytest.mark.parametrize("seed", range(5))
def test_edges_lead_from_box_to_box(seed: int) -> None:
    graph = nx.gnp_random_graph(8, 0.4, seed=seed)
    layout = lay_out([f"variable {k}" for k in range(8)], list(graph.edges))
    for a, b in graph.edges:
        path = layout.path(a, b)
        for k, end in ((a, path[0]), (b, path[-1])):
            outside = np.abs(end - layout.centres[k]) - layout.sizes[k] / 2
            assert 0 < outside.max() < 5.0, (a, b)


def test_an_edge_bends_around_a_box() -> None:
    centres = np.array([[0.0, 0.0], [100.0, 0.0], [200.0, 0.0]])
    centres += 50.0
    layout = Layout(("a", "b", "c"), centres, np.full((3, 2), 20.0), 310.0, 100.0)
    assert np.abs(layout.path(0, 1)[:, 1] - 50.0).max() < 1e-9
    around = layout.path(0, 2)
    assert not ((np.abs(around - centres[1]) < 10.0).all(axis=1)).any()
