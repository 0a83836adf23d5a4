"""Provenance of a row: machine and versions."""

import os
import platform
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGES = ("acid-causal", "causal-learn", "torch", "numpy", "scipy", "scikit-learn")


@cache
def versions() -> str:
    """Returns the versions of Python and of the packages that affect results."""
    packages = (f"{name} {metadata.version(name)}" for name in PACKAGES)
    return "; ".join((f"python {platform.python_version()}", *packages))


@cache
def machine() -> str:
    """Returns the processor's name and its number of logical cores, but no host name."""
    name = platform.processor() or platform.machine()
    if sys.platform == "linux":
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        name = names[0] if names else name
    return f"{name}, {os.cpu_count()} cores"


def error_text(error: Exception) -> str:
    """Formats an error on one line, without paths of this machine."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text.replace(str(Path.cwd()), ".").replace(str(Path.home()), "~")
