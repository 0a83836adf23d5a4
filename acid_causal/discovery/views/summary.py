"""Short summaries of a discovery, for the Python prompt and notebooks."""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from acid_causal.discovery.evidence import Edge

if TYPE_CHECKING:
    from acid_causal.discovery.discovery import Discovery

# Number of edges shown, the first of the sorted list.
_IN_TEXT, _IN_HTML = 5, 30


def text_summary(found: "Discovery") -> str:
    """Summarises the result in a few lines."""
    lines = [
        _headline(found),
        *(f"  {edge}  {_evidence(edge)}" for edge in found.edges[:_IN_TEXT]),
    ]
    if len(found.edges) > _IN_TEXT:
        lines.append(f"  and {len(found.edges) - _IN_TEXT} more")
    return "\n".join(lines)


def html_summary(found: "Discovery") -> str:
    """Formats the edges as an HTML table."""
    rows = "".join(f"<tr>{''.join(_cells(edge))}</tr>" for edge in found.edges[:_IN_HTML])
    more = len(found.edges) - _IN_HTML
    table = f"<table><tr><th>edge</th><th>p-value</th><th>confidence</th></tr>{rows}</table>"
    return f"<p>{escape(_headline(found))}</p>{table if rows else ''}" + (
        f"<p>and {more} more</p>" if more > 0 else ""
    )


def _headline(found: "Discovery") -> str:
    parts = [
        f"{len(found.columns)} variables",
        _counted(len(found.edges), "edge"),
        _counted(len(found.warnings), "warning"),
    ]
    return f"{found.method.upper()} at level {found.alpha:g}: {', '.join(parts)}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _evidence(edge: "Edge") -> str:
    share = "" if edge.confidence is None else f", confidence {edge.confidence:.2f}"
    return f"(p = {edge.pvalue:.2g}{share})"


def _cells(edge: "Edge") -> Iterator[str]:
    share = "" if edge.confidence is None else f"{edge.confidence:.2f}"
    for text in (str(edge), f"{edge.pvalue:.2g}", share):
        yield f"<td>{escape(text)}</td>"
