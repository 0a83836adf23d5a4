"""The evidence for each pair: what the search asked, in the order of the p-values."""

from dataclasses import replace
from typing import Any

import numpy as np
from graph_cases import made_discovery

from acid_causal.discovery.discovery import Discovery
from acid_causal.discovery.report.evidence import evidence
from acid_causal.discovery.stability import StabilityPath


def of_pair(found: Discovery, number: int) -> dict[str, Any]:
    pair: dict[str, Any] = evidence(found, found.separations)["pairs"][number]
    return pair


def test_edges_come_first_and_then_separated_pairs() -> None:
    found = made_discovery("abcd", [(1, 0, "-->"), (2, 3, "---")])
    pairs = evidence(found, found.separations)["pairs"]
    assert [pair["nodes"] for pair in pairs] == [[1, 0], [2, 3], [0, 2], [0, 3], [1, 2], [1, 3]]
    assert [pair.get("mark") for pair in pairs] == ["→", "—", None, None, None, None]
    assert pairs[0]["meaning"] == "b is a direct cause of a"


def test_the_decisive_set_comes_first() -> None:
    found = made_discovery("abcdef", [(0, 1, "-->")])
    asked = {(0, 1, ()): 1e-9, (0, 1, (2,)): 0.03, (0, 1, (2, 3)): 0.04, (0, 1, (4,)): 0.03}
    edge = replace(found.edges[0], pvalue=0.04, given=("c", "d"))
    found = replace(found, pvalues=dict(found.pvalues) | asked, edges=(edge,))
    pair = of_pair(found, 0)
    assert pair["given"] == [2, 3]
    assert pair["sets"] == [
        [[2, 3], "0.040", 0],
        [[2], "0.030", 0],
        [[4], "0.030", 0],
        [[], "1e-9", 0],
    ]
    # Of equal p-values too.
    tied = replace(edge, pvalue=0.03, given=("e",))
    known = {question: p for question, p in found.pvalues.items() if question != (0, 1, (2, 3))}
    assert of_pair(replace(found, edges=(tied,), pvalues=known), 0)["sets"][0][0] == [4]


def test_many_sets_are_counted() -> None:
    found = made_discovery([f"v{k}" for k in range(40)], [])
    asked = {(0, 1, (k,)): k / 100 for k in range(2, 40)}
    pair = of_pair(replace(found, pvalues=dict(found.pvalues) | asked), 0)
    assert pair["tests"] == 39
    assert len(pair["sets"]) == 12
    assert pair["sets"][:2] == [[[], "0.500", 1], [[39], "0.390", 1]]


def test_the_path_is_read_from_a_to_b() -> None:
    found = made_discovery("abc", [(1, 0, "-->")])
    graphs = np.stack([0 * found.endpoints, found.endpoints])
    found = replace(found, path=StabilityPath((0.01, 0.05), graphs, (2, 0)))
    made = evidence(found, found.separations)
    assert (made["alpha"], made["levels"], made["open"]) == (0.05, [0.01, 0.05], [True, False])
    assert made["pairs"][0]["path"] == ["", "→"]
    assert made["pairs"][1]["path"] == ["", ""]
