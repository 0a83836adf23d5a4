"""Metrics of a training run: one line of JSON per step in its folder, for monitoring.

They are optional: a run continues if the file is lost, damaged or cannot be written.
"""

import json
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, TextIO

from acid_causal.errors import warn
from acid_causal.files import write_atomically


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Reads the lines of a run's metrics; one that was cut short at the end is left out.

    Raises:
        ValueError: a line is damaged.
        OSError: the file cannot be read.
    """
    *lines, _ = path.read_text(encoding="utf-8").split("\n")
    metrics = [json.loads(line) for line in lines]
    if not all(isinstance(m, dict) and isinstance(m.get("step"), int) for m in metrics):
        raise ValueError("a line does not name its step")
    return metrics


class MetricsLog:
    """Lines of JSON, one a step.

    A resumed run drops the lines beyond its checkpoint. A damaged file is kept under another name.

    Args:
        path: the file.
        step: the step that the run starts from.
    """

    def __init__(self, path: Path, step: int) -> None:
        self._path = path
        self._file: TextIO | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = self._lines_until(step) if step else ""
        try:
            write_atomically(path, kept)
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            self._give_up(error)

    def write(self, **fields: Any) -> None:
        """Appends a line; numbers are rounded to 6 digits."""
        if self._file is None:
            return
        rounded = {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in fields.items()}
        try:
            self._file.write(json.dumps(rounded) + "\n")
        except OSError as error:
            self._give_up(error)

    def flush(self) -> None:
        """Flushes the lines to the operating system."""
        if self._file is not None:
            try:
                self._file.flush()
            except OSError as error:
                self._give_up(error)

    def __enter__(self) -> "MetricsLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()
        if self._file is not None:
            self._file.close()

    def _lines_until(self, step: int) -> str:
        """Reads the earlier lines; warns if the file is lost or damaged."""
        try:
            lines = read_metrics(self._path)
        except FileNotFoundError:
            warn(f"{str(self._path)!r} is missing: its lines begin anew at step {step + 1}")
            return ""
        except (OSError, ValueError, RecursionError) as error:
            others = (self._path.with_name(f"damaged-{k}-{self._path.name}") for k in count(1))
            kept = next(other for other in others if not other.exists())
            self._path.rename(kept)
            warn(
                f"{str(self._path)!r} is damaged ({error!s:.200}): it is now {kept.name!r}, and "
                f"lines begin anew at step {step + 1}"
            )
            return ""
        return "".join(json.dumps(line) + "\n" for line in lines if line["step"] <= step)

    def _give_up(self, error: OSError) -> None:
        warn(f"{error.strerror or error}: the run goes on without {str(self._path)!r}")
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):  # what it still held cannot be written, either
                file.close()
