"""A graph for networkx and for pandas."""

from graph_cases import made_discovery


def test_graph_and_frame() -> None:
    found = made_discovery("abc", [(0, 1, "-->"), (1, 2, "---")], sampled=True)
    assert found.graph.edges["a", "b"]["mark"] == "-->"
    assert found.graph.graph == {"method": "pc", "alpha": 0.05}
    assert found.graph is found.graph
    frame = found.edges_frame()
    assert frame[["a", "mark", "b"]].values.tolist() == [["a", "-->", "b"], ["b", "---", "c"]]
    assert frame["given"].tolist() == [("c",), ("a",)]
    assert frame["mark_confidence"].tolist() == [0.5, 0.5]
    empty = made_discovery("ab", []).edges_frame()
    assert empty.empty
    assert list(empty.columns) == list(frame.columns)
