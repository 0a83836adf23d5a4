"""Runs a function in a new process, where its memory can be measured."""

import multiprocessing
import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


def in_fresh_process(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls a function of a module in a new Python process and returns its result.

    The process is forked from one that has only done the imports, so that each call saves the
    seconds these take.

    Raises:
        Exception: Whatever the function raises.
        BrokenProcessPool: The process was killed, as when memory runs out.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([work.__module__, "benchmarks.experiments"])
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *args, **kwargs).result()


def reset_peak() -> None:
    """Resets the peak to the memory in use now; only on Linux."""
    if _RESET.exists():
        _RESET.write_text("5")


def peak_bytes() -> int:
    """Returns the largest resident memory since `reset_peak`.

    On Linux it is read from /proc, since `ru_maxrss` of a new process starts at the size of its
    parent. Elsewhere `ru_maxrss` is used, and a peak before the reset can hide a later one.
    """
    if _STATUS.exists():
        lines = _STATUS.read_text(encoding="ascii").splitlines()
        kib = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
        return 1024 * kib
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
