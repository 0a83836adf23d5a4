"""Pictures: colours mean what they should, and any name can be drawn."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from graph_cases import HOSTILE, made_discovery
from PIL import Image

from acid_causal.discovery.evidence import Edge
from acid_causal.discovery.report.graph_picture import (
    DOUBTFUL,
    FIRM,
    REQUIRED,
    describe_edge,
    edge_color,
    firmness,
    to_svg,
    write_png,
)
from acid_causal.discovery.report.labels import printable

CHAIN = [(0, 1, "-->"), (1, 2, "o->"), (2, 3, "<->"), (3, 4, "o-o"), (0, 4, "---")]
SVG = "{http://www.w3.org/2000/svg}"


def edge(pvalue: float, confidence: float | None = None) -> Edge:
    return Edge("a", "b", "-->", pvalue, (), 1, confidence=confidence)


def test_firmness() -> None:
    falling = [firmness(edge(p), 0.05) for p in (0.05, 0.01, 1e-5, 1e-8, 1e-30, 0.0)]
    assert falling[0] == 0.0
    assert falling[3:] == [1.0, 1.0, 1.0]
    assert 0 < falling[1] < falling[2] < 1
    assert firmness(edge(0.9), 0.05) == 0.0  # a required edge that the data do not show
    assert firmness(edge(1e-20, confidence=0.25), 0.05) == 0.25
    assert firmness(edge(1e-9), 1e-9) == 1.0
    assert edge_color(edge(0.05), 0.05) == DOUBTFUL.lower()
    assert edge_color(edge(0.0), 0.05) == FIRM.lower()
    assert edge_color(replace(edge(0.0), required=True), 0.05) == REQUIRED


@pytest.mark.parametrize("sampled", [False, True])
def test_the_parts_of_the_svg(sampled: bool) -> None:
    found = made_discovery([*"abcde", "alone"], CHAIN, method="fci", sampled=sampled)
    root = ElementTree.fromstring(to_svg(found))
    assert root.tag == f"{SVG}svg"
    for number in range(5):
        parts = root.findall(f".//*[@data-edge='{number}']")
        kinds = [part.get("class") for part in parts]
        assert kinds.count("edge hit") == kinds.count("edge line") == 1
        marks = found.edges[number].mark.replace("-", "")
        assert kinds.count("edge mark") == len(marks)
        (title,) = [
            part.findtext(f"{SVG}title") for part in parts if "hit" in part.get("class", "")
        ]
        assert title == describe_edge(found.edges[number], found)
        assert ("samples" in title) is sampled
    for number, name in enumerate(found.columns):
        kinds = [p.get("class") for p in root.findall(f".//*[@data-node='{number}']")]
        assert kinds == ["node box", "node name"]
        assert name in "".join(root.itertext())
    assert to_svg(found) == to_svg(found)
    assert not root.findall(f".//{SVG}style")


def test_hostile_names(tmp_path: Path) -> None:
    edges = [(k, k + 1, "-->") for k in range(len(HOSTILE) - 1)]
    found = made_discovery(HOSTILE, edges, sampled=True)
    svg = to_svg(found)
    root = ElementTree.fromstring(svg)
    assert not [e for e in root.iter() if e.tag.rpartition("}")[2] in ("script", "img")]
    titles = {e.text for e in root.iter(f"{SVG}title")}
    assert {printable(name) for name in HOSTILE} <= titles
    write_png(found, tmp_path / "graph.png")
    with Image.open(tmp_path / "graph.png") as image:
        assert min(image.size) > 200


def test_graphs_without_edges(tmp_path: Path) -> None:
    found = made_discovery(["a", "b"], [])
    assert "data-edge" not in to_svg(found)
    write_png(found, tmp_path / "new folder" / "graph.png")
    assert (tmp_path / "new folder" / "graph.png").read_bytes().startswith(b"\x89PNG")
