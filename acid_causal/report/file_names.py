"""What the files of results are called, and how an earlier run's are recognised."""

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
# What graph.json says of itself, and begins with.
FORMAT = "acid-causal graph"


def holds_results(folder: Path) -> bool:
    """Says whether the files in a folder are those of an earlier run."""
    try:
        with (folder / "graph.json").open(encoding="utf-8") as file:
            return f'"format": "{FORMAT}"' in file.read(200)
    except (OSError, UnicodeDecodeError):
        return False
