"""Writes a discovered graph for other programs: JSON, GraphML, DOT and CSV.

An edge has a mark such as `-->` or `o->`, read from a to b. JSON and GraphML also name the mark at
each end: "tail", "arrow" or "circle".
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import networkx as nx

from acid_causal.discovery.discovery import Discovery
from acid_causal.discovery.evidence import Edge
from acid_causal.discovery.markov import MarkovCheck
from acid_causal.discovery.mixed_graph import ends
from acid_causal.discovery.report.file_names import FORMAT
from acid_causal.discovery.report.labels import MARKS, printable, printable_names
from acid_causal.discovery.views.conversion import SEPARATOR, to_networkx
from acid_causal.files import write_atomically

# Spreadsheets may compute cells that begin with these characters.
_FORMULAS = ("=", "+", "-", "@", "\t", "\n")

_DOT_HEADS = {"tail": "none", "arrow": "normal", "circle": "odot"}


def to_dict(found: Discovery) -> dict[str, Any]:
    """Returns a discovery as JSON values."""
    edges = []
    for edge in found.edges:
        at_a, at_b = ends(edge.mark)
        edges.append(
            {
                "a": edge.a,
                "mark": edge.mark,
                "b": edge.b,
                "end_a": at_a,
                "end_b": at_b,
                "pvalue": edge.pvalue,
                "given": list(edge.given),
                "tests": edge.tests,
                "required": edge.required,
                "confidence": edge.confidence,
                "marks": dict(edge.marks),
                "adjusted": edge.adjusted,
                "path": _path_of(found, edge.a, edge.b),
            }
        )
    separations = [
        {
            "a": pair.a,
            "b": pair.b,
            "pvalue": pair.pvalue,
            "given": list(pair.given),
            "sepsets": [{"given": list(names), "pvalue": p} for names, p in pair.sets],
            "tests": pair.tests,
            "forbidden": pair.forbidden,
            "confidence": pair.confidence,
            "path": _path_of(found, pair.a, pair.b),
        }
        for pair in found.separations
    ]
    return {
        "format": FORMAT,
        "version": 1,
        "method": found.method,
        "alpha": found.alpha,
        "nodes": list(found.columns),
        "edges": edges,
        "separations": separations,
        "conflicts": [[conflict.a, conflict.middle, conflict.b] for conflict in found.conflicts],
        "path": None
        if found.path is None
        else {"alphas": list(found.path.alphas), "open": list(found.path.open)},
        "markov": None if found.markov is None else _markov(found.markov),
        "warnings": list(found.warnings),
        "provenance": dict(found.provenance),
    }


def _path_of(found: Discovery, a: str, b: str) -> list[str] | None:
    """Returns the marks of a pair at the levels of the path, read from a to b."""
    if found.path is None:
        return None
    return list(found.path.marks(found.columns.index(a), found.columns.index(b)))


def _markov(check: MarkovCheck) -> dict[str, Any]:
    return {
        "implied": check.implied,
        "failed": len(check.violations),
        "pvalue": check.pvalue,
        "permuted": [None if math.isnan(share) else share for share in check.permuted],
        "alpha": check.alpha,
        "max_size": check.max_size,
        "violations": [
            {"a": one.a, "b": one.b, "given": list(one.given), "pvalue": one.pvalue}
            for one in check.violations
        ],
    }


def to_dot(found: Discovery) -> str:
    """Writes the graph in the language of Graphviz."""
    lines = ["digraph {", "  node [shape=box, style=rounded];"]
    quoted = {name: _quoted(form) for name, form in printable_names(found.columns).items()}
    lines += [f"  {name};" for name in quoted.values()]
    for edge in found.edges:
        tail, head = (_DOT_HEADS[end] for end in ends(edge.mark))
        lines.append(
            f"  {quoted[edge.a]} -> {quoted[edge.b]} "
            f'[dir=both, arrowtail={tail}, arrowhead={head}, tooltip="p = {edge.pvalue:.2g}"];'
        )
    return "\n".join([*lines, "}", ""])


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def edges_table(found: Discovery) -> str:
    """Writes the edges as CSV."""
    header = [
        "a",
        "mark",
        "b",
        "pvalue",
        "given",
        "tests",
        "required",
        "confidence",
        "mark_confidence",
        "adjusted",
        "at_alphas",
    ]
    return _csv(
        header,
        (
            [
                edge.a,
                edge.mark,
                edge.b,
                edge.pvalue,
                SEPARATOR.join(edge.given),
                edge.tests,
                edge.required,
                edge.confidence,
                edge.mark_confidence,
                edge.adjusted,
                _levels(found, edge),
            ]
            for edge in found.edges
        ),
    )


def _levels(found: Discovery, edge: Edge) -> str:
    """Lists the levels at which the pair is adjacent, whatever the mark."""
    marks = _path_of(found, edge.a, edge.b)
    if found.path is None or marks is None:
        return ""
    there = zip(found.path.alphas, marks, strict=True)
    return SEPARATOR.join(f"{alpha:g}" for alpha, mark in there if mark)


def sepsets_table(found: Discovery) -> str:
    """Writes the separating sets of each pair as CSV, in order of decreasing p-value."""
    rows = []
    for pair in found.separations:
        sets = sorted(pair.sets, key=lambda sepset: -sepset[1])
        for number, (names, pvalue) in enumerate(sets, 1):
            rows.append(
                [pair.a, pair.b, number, SEPARATOR.join(names), pvalue, False, pair.confidence]
            )
        if not sets:
            rows.append([pair.a, pair.b, 0, "", pair.pvalue, pair.forbidden, pair.confidence])
    return _csv(["a", "b", "number", "sepset", "pvalue", "forbidden", "confidence"], rows)


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_inert(cell) for cell in row] for row in rows)
    return text.getvalue()


def _inert(cell: object) -> object:
    """Puts an apostrophe before a text that a spreadsheet could compute as a formula.

    Marks such as `-->` are left as they are.
    """
    if not isinstance(cell, str) or cell in MARKS:
        return cell
    text = cell.replace("\r", "\n")  # Python's csv quotes \n, but not \r
    return f"'{text}" if text.startswith(_FORMULAS) else text


def write_graph_files(found: Discovery, folder: Path) -> list[Path]:
    """Writes the graph in all formats except pictures, each file atomically.

    Args:
        found: the discovered graph.
        folder: created if needed; files of the same names are replaced.

    Returns:
        The files.

    Raises:
        OSError: the folder cannot be written to.
    """
    contents = {
        "graph.json": json.dumps(to_dict(found), indent=2, allow_nan=False) + "\n",
        "graph.graphml": _graphml(found),
        "graph.dot": to_dot(found),
        "edges.csv": edges_table(found),
        "sepsets.csv": sepsets_table(found),
    }
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return [folder / name for name in contents]


def _graphml(found: Discovery) -> str:
    graph = nx.relabel_nodes(to_networkx(found), printable_names(found.columns))
    for _, _, facts in graph.edges(data=True):
        facts["given"] = printable(facts["given"]) if facts["given"] else ""
    return "\n".join(nx.generate_graphml(graph))
