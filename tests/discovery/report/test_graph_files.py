"""Graphs for other programs: each file says the same, whatever the names are."""

import csv
import io
import json
from pathlib import Path

import networkx as nx
import pydot
import pytest
from graph_cases import HOSTILE, made_discovery

from acid_causal.discovery.discovery import Discovery
from acid_causal.discovery.report.graph_files import (
    edges_table,
    sepsets_table,
    to_dict,
    to_dot,
    write_graph_files,
)
from acid_causal.discovery.report.labels import printable_names
from acid_causal.discovery.views.conversion import to_networkx

EDGES = [(0, 1, "-->"), (1, 2, "o->"), (2, 3, "<->"), (3, 4, "o-o"), (5, 4, "---")]


@pytest.fixture(params=[False, True], ids=["plain", "sampled"])
def found(request: pytest.FixtureRequest) -> Discovery:
    return made_discovery(HOSTILE, EDGES, method="fci", sampled=request.param)


def test_json(found: Discovery) -> None:
    content = json.loads(json.dumps(to_dict(found)))
    assert content["nodes"] == list(HOSTILE)
    told = [(edge["a"], edge["mark"], edge["b"]) for edge in content["edges"]]
    assert told == [(edge.a, edge.mark, edge.b) for edge in found.edges]
    first = content["edges"][0]
    assert (first["end_a"], first["end_b"], first["pvalue"]) == ("tail", "arrow", 0.04)
    assert first["given"] == [HOSTILE[2], HOSTILE[3]]
    assert first["confidence"] == found.edges[0].confidence
    assert len(content["separations"]) == 66 - 5
    assert content["separations"][0]["sepsets"] == [
        {"given": [HOSTILE[0]], "pvalue": 0.3},
        {"given": [], "pvalue": 0.5},
    ]
    assert content["provenance"]["model"]["name"] == "tiny"


def test_networkx_and_graphml(found: Discovery, tmp_path: Path) -> None:
    graph = to_networkx(found)
    assert list(graph) == list(HOSTILE)
    arc = graph.edges[HOSTILE[1], HOSTILE[2]]
    assert (arc["mark"], arc["end_a"], arc["end_b"]) == ("o->", "circle", "arrow")
    write_graph_files(found, tmp_path)
    read = nx.read_graphml(tmp_path / "graph.graphml")
    names = printable_names(HOSTILE)
    assert set(read) == set(names.values())
    assert read.graph["method"] == "fci"
    for edge in found.edges:
        facts = read.edges[names[edge.a], names[edge.b]]
        assert facts["mark"] == edge.mark
        assert facts["pvalue"] == pytest.approx(edge.pvalue)
        assert ("confidence" in facts) == (edge.confidence is not None)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pydot
def test_dot() -> None:
    # pydot, which reads it here, does not know every name that Graphviz knows.
    names = ['say "hi"', "back\\slash\\", "a -> b; c", "[x=y] {z}", "<b>", "名前"]
    graphs = pydot.graph_from_dot_data(to_dot(made_discovery(names, EDGES, method="fci")))
    assert graphs is not None
    (graph,) = graphs
    quoted = {'"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in names}
    assert {node.get_name() for node in graph.get_nodes()} - {"node"} == quoted
    heads = [
        (e.get_attributes()["arrowtail"], e.get_attributes()["arrowhead"])
        for e in graph.get_edges()
    ]
    assert heads == [
        ("none", "normal"),
        ("odot", "normal"),
        ("normal", "normal"),
        ("odot", "odot"),
        ("none", "none"),
    ]


def test_tables(found: Discovery) -> None:
    rows = list(csv.DictReader(io.StringIO(edges_table(found))))
    assert [(row["a"], row["mark"], row["b"]) for row in rows] == [
        (edge.a, edge.mark, edge.b) for edge in found.edges
    ]
    assert float(rows[0]["pvalue"]) == 0.04
    assert rows[0]["given"] == f"{HOSTILE[2]}; {HOSTILE[3]}"
    assert rows[1]["required"] == "True"
    expected = ("0.5", "0.5") if found.bootstrap else ("", "")
    assert (rows[0]["confidence"], rows[0]["mark_confidence"]) == expected
    rows = list(csv.DictReader(io.StringIO(sepsets_table(found))))
    assert len(rows) == 2 * 61
    assert [(row["number"], row["sepset"], row["pvalue"]) for row in rows[:2]] == [
        ("1", "", "0.5"),
        ("2", HOSTILE[0], "0.3"),
    ]


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "=HYPERLINK()"])
def test_no_cell_is_a_formula(start: str) -> None:
    found = made_discovery((start, "plain", "-->"), [(0, 1, "-->"), (1, 2, "---")])
    for table in (edges_table(found), sepsets_table(found)):
        cells = [cell for row in csv.reader(io.StringIO(table)) for cell in row]
        assert {cell for cell in cells if cell.startswith(tuple("=+-@\t\r"))} <= {"-->", "---"}
    written = start.replace("\r", "\n")
    assert f"'{written}" in [row["a"] for row in csv.DictReader(io.StringIO(edges_table(found)))]


def test_files(found: Discovery, tmp_path: Path) -> None:
    files = write_graph_files(found, tmp_path / "out")
    assert sorted(file.name for file in files) == [
        "edges.csv",
        "graph.dot",
        "graph.graphml",
        "graph.json",
        "sepsets.csv",
    ]
    assert sorted((tmp_path / "out").iterdir()) == sorted(files)
    assert json.loads((tmp_path / "out" / "graph.json").read_text("utf-8")) == to_dict(found)
