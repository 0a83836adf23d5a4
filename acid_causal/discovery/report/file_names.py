"""Names of the result files, and how those of an earlier run are recognised."""

from pathlib import Path

REPORT = "report.html"
FILES = (
    REPORT,
    "graph.png",
    "graph.svg",
    "graph.json",
    "graph.graphml",
    "graph.dot",
    "edges.csv",
    "sepsets.csv",
)
# The first entry of graph.json.
FORMAT = "acid-causal graph"


def holds_results(folder: Path) -> bool:
    """Says whether a folder holds the results of an earlier run."""
    try:
        with (folder / "graph.json").open(encoding="utf-8") as file:
            return f'"format": "{FORMAT}"' in file.read(200)
    except (OSError, UnicodeDecodeError):
        return False
