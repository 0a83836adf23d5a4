"""The report: one HTML file with the graph, the evidence for it, and its provenance.

Style, script and pictures are inside the file, and its content security policy allows nothing else,
so it works offline. Text from the user's table is escaped.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from jaxtyping import Float
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from acid_causal.discovery.discovery import Discovery
from acid_causal.discovery.evidence import Edge, Separation
from acid_causal.discovery.mixed_graph import meaning
from acid_causal.discovery.report.commands import python_lines, shell_lines
from acid_causal.discovery.report.evidence import evidence
from acid_causal.discovery.report.graph_picture import (
    CLEAR_PVALUE,
    DOUBTFUL,
    FIRM,
    edge_color,
    quiet_matplotlib,
    to_svg,
)
from acid_causal.discovery.report.labels import arrow, given_text, isolated, pvalue_text
from acid_causal.discovery.report.pair_pictures import pair_pictures
from acid_causal.errors import listed
from acid_causal.files import write_atomically

_ALGORITHMS = {"pc": "PC", "fci": "FCI"}
_SCRIPTS = ("pictures.js", "page.js")
# Pairs without an edge that are listed, the most doubtful first.
_MOST_SEPARATIONS = 2000
# Variables from which on the page has a search by name and a slider of edges.
_FILTERED = 10
# ... and above which its tables are cut to the height of a screen.
_COMPACT = 40
_BINS = 20
# Of the histogram: left, bottom, width and height, with room for counts of six digits.
_MARGINS = (0.16, 0.19, 0.81, 0.78)
# Levels of a variable that are named.
_MOST_LEVELS = 12
# Colours of the histogram by size of the conditioning set; larger sets have the last colour.
_SIZE_COLORS = ("#0B4A8F", "#4C86C0", "#93BBE0", "#D3E3F2")


def write_report(found: Discovery, path: Path, *, title: str = "Causal graph") -> None:
    """Writes the report, atomically.

    Args:
        found: the discovered graph.
        path: the HTML file.
        title: title of the report, such as the name of the table.

    Raises:
        OSError: the file cannot be written.
    """
    write_atomically(path, render(found, title=title))


def render(found: Discovery, *, title: str = "Causal graph") -> str:
    """Returns the report as HTML; see `write_report`."""
    script = "\n".join(map(_asset, _SCRIPTS))
    # The policy has the script's hash, so that no other script can run.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    separations = sorted(found.separations, key=lambda pair: pair.pvalue)[:_MOST_SEPARATIONS]
    marks = sorted({edge.mark for edge in found.edges})
    return _template().render(
        title=title,
        found=found,
        made=found.provenance,
        algorithm=_ALGORITHMS[found.method],
        directed=sum(edge.mark == "-->" for edge in found.edges),
        sampled=found.bootstrap is not None,
        rows=[_row(edge, found) for edge in found.edges],
        separations=separations,
        data={**evidence(found, separations), "pictures": _pictures(found, separations)},
        legend=[(mark, meaning("A", mark, "B", found.method)) for mark in marks],
        clear=f"{CLEAR_PVALUE:.0e}".replace("e-0", "e-"),
        colors=(DOUBTFUL, FIRM),
        again=[("Shell", shell_lines(found)), ("Python", python_lines(found))],
        filters=len(found.columns) >= _FILTERED,
        compact=len(found.columns) > _COMPACT,
        facts=list(_facts(found.provenance)),
        knowledge=_knowledge(found.provenance),
        graph=Markup(to_svg(found, legend=False)),
        histogram=Markup(_histogram(found)),
        style=Markup(_asset("page.css")),
        script=Markup(script),
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
    )


@lru_cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(p=pvalue_text, given=given_text, name=isolated, arrow=arrow)
    return environment.from_string(_asset("page.html"))


def _asset(name: str) -> str:
    return (files("acid_causal.discovery.report") / "page" / name).read_text(encoding="utf-8")


def _pictures(found: Discovery, separations: Sequence[Separation]) -> dict[str, Any] | None:
    if found.sample is None:
        return None
    index = {name: k for k, name in enumerate(found.columns)}
    pairs: list[Edge | Separation] = [*found.edges, *separations]
    questions = [
        (index[pair.a], index[pair.b], tuple(index[name] for name in pair.given)) for pair in pairs
    ]
    return pair_pictures(found.sample, questions)


def _row(edge: Edge, found: Discovery) -> dict[str, Any]:
    return {
        "edge": edge,
        "color": edge_color(edge, found.alpha),
        "mark_share": edge.marks.get(edge.mark, 0.0),
    }


def _facts(made: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the provenance as pairs of name and text."""
    data, search, tests = made["data"], made["search"], made["tests"]
    gaps = data["missing_values"]
    yield "made at", made["created"].replace("T", " ").replace("+00:00", " UTC")
    if "file" in made:
        yield "file", f"{isolated(made['file']['name'])}, sha256 {made['file']['sha256']}"
    yield (
        "data",
        f"{data['rows']:,} rows x {data['columns']} columns, "
        f"{f'{gaps:,} values missing' if gaps else 'no value missing'}, sha256 {data['sha256']}",
    )
    yield "variables", "; ".join(_variables(data["variables"]))
    digest = made["model"]["sha256"]  # causal-learn's tests have none
    yield "model", f"{made['model']['name']}{f', sha256 {digest}' if digest else ''}"
    size = "any size" if search["max_size"] is None else f"at most {search['max_size']}"
    yield (
        "search",
        f"{_ALGORITHMS[search['method']]} at α = {search['alpha']:g}, conditioning sets of {size}, "
        f"{search['null']} null distribution, on {search['device']}",
    )
    by_size = ", ".join(f"|Z| = {size}: {count:,}" for size, count in tests["by_size"].items())
    yield (
        "tests",
        f"{tests['asked']:,} asked, {tests['different']:,} of them different ({by_size}), "
        f"{tests['computed']:,} computed, in {made['seconds']:.3g} s",
    )
    if made["bootstrap"] is not None:
        how = made["bootstrap"]
        drawn = (
            f"{how['fraction']:.0%} of the rows each, without repetition"
            if how["rows"] == "subsample"
            else "as many rows as the table has, with repetition"
        )
        yield "samples", f"{how['samples']}, {drawn}, seed {how['seed']}"
    yield "versions", ", ".join(f"{name} {number}" for name, number in made["versions"].items())
    yield "machine", made["machine"]


def _variables(described: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the number of numeric columns, and the levels of each other one."""
    numbers = sum(variable["type"] == "numeric" for variable in described)
    if numbers:
        yield f"{numbers} of numbers"
    for variable in described:
        if variable["type"] == "numeric":
            continue
        ordered = variable["type"] == "ordered"
        names = [isolated(level) for level in variable["levels"]]
        shown = listed(names, _MOST_LEVELS, " < " if ordered else ", ")
        kind = "ordered levels" if ordered else "categories"
        yield f"{isolated(variable['name'])}: {kind} {shown}"


def _knowledge(made: Mapping[str, Any]) -> list[str]:
    known = made["knowledge"]
    tiers = [", ".join(map(isolated, tier)) for tier in known["tiers"]]
    return [
        *(f"no edge {isolated(a)} → {isolated(b)}" for a, b in known["forbid"]),
        *(f"an edge {isolated(a)} → {isolated(b)}" for a, b in known["require"]),
        *([f"in this order: {' | '.join(tiers)}"] if tiers else []),
    ]


def _histogram(found: Discovery) -> str:
    """Draws a histogram of the p-values, by size of the conditioning set."""
    last = len(_SIZE_COLORS) - 1
    sizes = np.array([min(len(cond), last) for _, _, cond in found.pvalues])
    pvalues = np.array(list(found.pvalues.values()))
    groups = [pvalues[sizes == size] for size in range(last + 1)]
    shown = [(k, group) for k, group in enumerate(groups) if len(group)]
    with quiet_matplotlib():
        figure = Figure(figsize=(5.6, 2.5))
        axes = figure.add_axes(_MARGINS)  # a constrained layout would double the time
        counts, *_ = axes.hist(
            [group for _, group in shown],
            bins=np.linspace(0, 1, _BINS + 1).tolist(),
            stacked=True,
            color=[_SIZE_COLORS[k] for k, _ in shown],
            label=[f"|Z| = {k}" if k < last else f"|Z| ≥ {k}" for k, _ in shown],
        )
        _cut_first_bar(axes, np.atleast_2d(np.asarray(counts))[-1])
        axes.axvline(found.alpha, color="#C4541A", linestyle=(0, (4, 2)), linewidth=1.3)
        axes.set(xlim=(0, 1), xlabel="p-value", ylabel="tests")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper right")  # "best" is slow
        file = BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    svg = file.getvalue().decode()
    return svg[svg.index("<svg") :]


def _cut_first_bar(axes: Axes, heights: Float[NDArray[np.float64], " bins"]) -> None:
    """Cuts off the bar of the smallest p-values if it is much higher than all others."""
    first, others = float(heights[0]), float(heights[1:].max())
    if others > 0 and first > 3 * others:
        axes.set_ylim(0, 1.6 * others)
        note = f" {first:.0f}, cut off"
        axes.text(0.07, 1.5 * others, note, va="center", ha="left", fontsize=9)
