"""Provenance of a graph: everything needed to reproduce it, or to explain a difference."""

import platform
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from acid_causal.discovery.search.graph_search import GraphSearch
from acid_causal.tables.inputs import Table

_PACKAGES = ("acid-causal", "causal-learn", "torch", "numpy")


def describe_run(
    table: Table,
    found: GraphSearch,
    search: Mapping[str, Any],
    samples: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Describes data, model, options, versions and cost of a run, as JSON values.

    Args:
        table: the data.
        found: result of the search.
        search: options of the search.
        samples: options of the bootstrap; None without one.
    """
    settings = found.settings
    sizes = Counter(len(cond) for _, _, cond in found.pvalues)
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {
            "rows": len(table.values),
            "columns": len(table.columns),
            "missing_values": 0 if table.absent is None else int(table.absent.sum()),
            "sha256": table.sha256,
            "variables": table.describe_columns(),
        },
        "model": settings["model"],
        "search": {
            "method": search["method"],
            "alpha": search["alpha"],
            "max_size": search["max_size"],
            "orient": found.oriented_by or None,
            "null": settings["null"],
            "permutations": settings.get("permutations"),
            "draws": settings.get("draws"),
            "device": settings["device"],
        },
        "knowledge": search["knowledge"].to_dict(),
        "bootstrap": None if samples is None else dict(samples),
        "tests": {
            "asked": found.asked,
            "different": len(found.pvalues),
            "computed": found.computed,
            "by_size": {str(size): sizes[size] for size in sorted(sizes)},
        },
        "seconds": round(found.seconds, 3),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in _PACKAGES},
        },
        "machine": platform.platform(),
    }
