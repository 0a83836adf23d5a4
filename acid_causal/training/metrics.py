"""What a training run says of each step: lines of JSON in its folder."""

import json
from pathlib import Path
from typing import Any

from acid_causal.files import write_atomically


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Reads the lines of a run's metrics; one that was cut short at the end is left out."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return lines


class MetricsLog:
    """Lines of JSON, one a step; a resumed run drops the lines beyond its checkpoint."""

    def __init__(self, path: Path, step: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = ""
        if step and path.exists():
            lines = (line for line in read_metrics(path) if line["step"] <= step)
            kept = "".join(json.dumps(line) + "\n" for line in lines)
        write_atomically(path, kept)
        self._file = path.open("a", encoding="utf-8")

    def write(self, **fields: Any) -> None:
        """Appends a line; numbers are rounded to 6 digits."""
        rounded = {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in fields.items()}
        self._file.write(json.dumps(rounded) + "\n")

    def __enter__(self) -> "MetricsLog":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def flush(self) -> None:
        """Hands the lines to the operating system."""
        self._file.flush()
