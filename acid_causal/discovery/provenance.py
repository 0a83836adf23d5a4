"""How a graph was made: enough to make it again, or to see why it comes out otherwise."""

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from acid_causal import defaults
from acid_causal.device import resolve_device
from acid_causal.discovery.graph_search import GraphSearch
from acid_causal.tables.inputs import Table
from acid_causal.weights.checkpoint import TrainedModel

_PACKAGES = ("acid-causal", "causal-learn", "torch", "numpy")


def describe_run(
    table: Table,
    found: GraphSearch,
    search: Mapping[str, Any],
    samples: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Describes data, model, options, versions and cost of a run, fit for JSON.

    Args:
        table: the data.
        found: what the search gave.
        search: options of the search, with the model loaded.
        samples: options of the bootstrap; None without one.
    """
    model: TrainedModel = search["model"]
    null = search.get("null") or model.default_null
    sizes = Counter(len(cond) for _, _, cond in found.pvalues)
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {
            "rows": len(table.values),
            "columns": len(table.columns),
            "missing_values": 0 if table.absent is None else int(table.absent.sum()),
            "sha256": _sha256(table),
        },
        "model": {"name": model.name, "sha256": model.sha256},
        "search": {
            "method": search["method"],
            "alpha": search["alpha"],
            "max_size": search["max_size"],
            "null": null,
            "permutations": search.get("permutations") if null == "permutation" else None,
            "device": str(resolve_device(search.get("device", defaults.DEVICE))),
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


def _sha256(table: Table) -> str:
    """Hashes the names and the numbers, whatever file they came from."""
    digest = hashlib.sha256(json.dumps(list(table.columns)).encode())
    digest.update(table.values.tobytes())
    return digest.hexdigest()
