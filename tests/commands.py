"""Commands that tests run, in this process by a fixture and in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Done:
    """A finished command."""

    code: int
    out: str
    err: str


RunCommand = Callable[..., Done]


def run_code(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs Python code in a process of its own, in a folder, on one thread."""
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
