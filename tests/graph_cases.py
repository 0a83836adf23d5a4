"""Discovered graphs made by hand, for what shows them; and searches that know the true graph."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from oracle import DSeparationTester

from acid_causal.discovery.bootstrap import GraphFrequencies
from acid_causal.discovery.discovery import Discovery
from acid_causal.discovery.evidence import Edge, Separation
from acid_causal.discovery.mixed_graph import links
from acid_causal.discovery.search import graph_search
from acid_causal.tables.inputs import Table

MARKS = {"-": -1, "<": 1, ">": 1, "o": 2}

# Names that break what was not escaped: HTML, script, SVG, DOT, TeX, Jinja, XML and CSV.
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"double\" & 'single'",
    "a$b_{x}$ \\",
    "{{ 7 * 7 }} ${7*7} {% raw %}",
    "two\nlines\tand a tab",
    "\x01 control \x7f",
    "名前 och ö, ü",
    "]]> --> <!-- x; y",
    "a very long name of a variable that nobody would ever want to read in a picture of a graph",
    " ",
    "\u202ereversed\u202c \u2067שם\u200f",
)


def matrix(d: int, edges: Sequence[tuple[int, int, str]]) -> np.ndarray:
    """Makes endpoints from edges such as (0, 1, "-->")."""
    endpoints = np.zeros((d, d), dtype=np.int8)
    for a, b, mark in edges:
        endpoints[a, b], endpoints[b, a] = MARKS[mark[0]], MARKS[mark[2]]
    return endpoints


def made_discovery(
    columns: Sequence[str],
    edges: Sequence[tuple[int, int, str]],
    *,
    method: str = "pc",
    sampled: bool = False,
    warnings: Sequence[str] = (),
    sample: Table | None = None,
) -> Discovery:
    """Makes a discovery whose edges have p-values that fall from .04; all else is independent."""
    d = len(columns)
    endpoints = matrix(d, edges)
    samples = GraphFrequencies(tuple(columns), np.stack([endpoints, 0 * endpoints]), {})
    found = []
    pvalues: dict[Any, float] = {}
    for number, (a, b, mark) in enumerate(links(endpoints)):
        pvalue = 0.04 * 10.0**-number
        others = [k for k in range(d) if k not in (a, b)][:2]
        pvalues[min(a, b), max(a, b), tuple(others)] = pvalue
        found.append(
            Edge(
                columns[a],
                columns[b],
                mark,
                pvalue,
                tuple(columns[k] for k in others),
                3,
                required=number == 1,
                confidence=0.5 if sampled else None,
                marks={mark: 0.5, "": 0.5} if sampled else {},
            )
        )
    apart = []
    for i, j in combinations(range(d), 2):
        if not endpoints[i, j]:
            pvalues[i, j, ()] = 0.5
            sets = ((tuple(columns[:1]), 0.3), ((), 0.5))
            apart.append(
                Separation(
                    columns[i], columns[j], 0.5, (), sets, 4, confidence=0.0 if sampled else None
                )
            )
    made: dict[str, Any] = {
        "created": "2025-01-02T03:04:05+00:00",
        "data": {
            "rows": 1234,
            "columns": d,
            "missing_values": 0,
            "sha256": "ab" * 32,
            "variables": [
                {"name": columns[0], "type": "categorical", "levels": list(columns)},
                *({"name": name, "type": "numeric", "levels": None} for name in columns[1:]),
            ],
        },
        "model": {"name": "tiny", "sha256": "cd" * 32},
        "search": {
            "method": method,
            "alpha": 0.05,
            "max_size": None,
            "orient": None if method == "fci" else "joint",
            "null": "conditional",
            "device": "cpu",
        },
        "knowledge": {"forbid": [], "require": [], "tiers": []},
        "bootstrap": {"samples": 2, "rows": "subsample", "fraction": 0.7, "seed": 0}
        if sampled
        else None,
        "tests": {"asked": 9, "different": 8, "computed": 8, "by_size": {"0": 8}},
        "seconds": 0.5,
        "versions": {"python": "3", "acid-causal": "0"},
        "machine": "abacus",
    }
    return Discovery(
        tuple(columns),
        method,
        0.05,
        endpoints,
        tuple(found),
        tuple(apart),
        pvalues,
        tuple(warnings),
        made,
        samples if sampled else None,
        sample=sample,
    )


def made_sample(columns: Sequence[str]) -> Table:
    """Makes 60 rows in which every third variable is a category, with the columns' names."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, len(columns)))
    categories = {k: tuple(columns) for k in range(0, len(columns), 3)}
    for k in categories:
        values[:, k] = rng.integers(len(columns), size=60)
    return Table(values, tuple(columns), None, categories=categories)


def make_oracle(monkeypatch: pytest.MonkeyPatch, dag: nx.DiGraph) -> Table:
    """Lets searches answer from a DAG's d-separations; returns a table of its variables."""

    class Oracle(DSeparationTester):
        def __init__(self, table: Table, **_: Any) -> None:
            super().__init__(table.values, dag)

    monkeypatch.setattr(graph_search, "Tester", Oracle)
    values = np.random.default_rng(0).normal(size=(20, len(dag)))
    return Table(values, tuple("abcdefghij"[: len(dag)]), None)
