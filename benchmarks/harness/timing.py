"""Time and memory of one test, and of one run of PC.

A warm-up on a small table does what is needed only once, such as imports and loading of weights,
before time is measured. Memory is measured relative to the state after the warm-up.
"""

import os
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib.externals.loky import get_reusable_executor
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from acid_causal import ci_test, load_model
from acid_causal.errors import AcidWarning
from benchmarks.data.random_sems import random_table
from benchmarks.harness import search
from benchmarks.harness.fresh_process import peak_bytes, reset_peak
from benchmarks.harness.runner import seed_everything
from benchmarks.methods import DEFAULT_MODEL, get_method
from benchmarks.methods.method import Question

ALPHA = 0.05
MECHANISM = "mlp"
SMALL = 60  # rows of the warm-up table

# A question is repeated until one of these limits is reached; the median time is reported.
REPEATS, SECONDS = 21, 10.0

ALL_THREADS, TWO_PROCESSES = "all threads", "two processes"
NO_PREFETCH, WARM_CACHE = "no prefetch", "warm cache"


@dataclass(frozen=True)
class Cost:
    """Time and memory of a test or of a run of PC.

    Attributes:
        seconds_per_test: Median over repetitions, or mean over a run.
        search_seconds: Time of the whole run of PC; None for a single test.
        tests_computed: Number of questions the run computed; None for a single test.
        sampled: If the run was too long: the number of questions timed, from which its time was
            extrapolated; else None.
        peak_mib: Peak memory beyond the data, on the GPU if the test runs there; None if not
            measured.
    """

    seconds_per_test: float
    search_seconds: float | None = None
    tests_computed: int | None = None
    sampled: int | None = None
    peak_mib: float | None = None


def seconds_text(seconds: float) -> str:
    """Formats seconds with two significant digits, without exponents: 0.0012, 3.4, 120."""
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"


def set_up(mode: str, threads: int, seed: int) -> None:
    """Sets the process's threads and seed, and ignores the package's warnings."""
    warnings.simplefilter("ignore", AcidWarning)
    threads = (os.cpu_count() or 1) if mode == ALL_THREADS else threads
    threadpool_limits(threads)
    torch.set_num_threads(threads)
    seed_everything(seed)


# ---- one test ------------------------------------------------------------------


def time_test(
    method: str,
    n: int,
    d_z: int,
    *,
    mode: str,
    device: str,
    threads: int,
    seed: int,
    repeats: int = REPEATS,
) -> Cost:
    """Times one question on n rows given d_z variables, on Gaussian data.

    Memory is that of the first of the repeats; one is enough where only memory is asked for.
    """
    set_up(mode, threads, seed)
    ask = _asker(method, device)
    ask(_question(SMALL, min(d_z, 5), seed))
    question = _question(n, d_z, seed)
    start = _start_of_memory(device)
    seconds: list[float] = []
    peak = None
    while len(seconds) < repeats and sum(seconds) < SECONDS:
        begin = time.perf_counter()
        ask(question)
        seconds.append(time.perf_counter() - begin)
        peak = _memory_since(start, device) if peak is None else peak
    return Cost(float(np.median(seconds)), peak_mib=peak)


def _asker(method: str, device: str) -> Callable[[Question], object]:
    base, _, name = method.partition(":")
    if base != "acid":
        pvalues = get_method(method).pvalues
        return lambda question: pvalues([question])
    model = load_model(name or DEFAULT_MODEL)
    return lambda question: ci_test(*question, model=model, device=device)


def _question(n: int, d_z: int, seed: int) -> Question:
    table = np.random.default_rng(seed).standard_normal((n, 2 + d_z))
    return table[:, :1], table[:, 1:2], table[:, 2:] if d_z else None


# ---- one run of PC -------------------------------------------------------------


def time_pc(
    method: str, n: int, d: int, *, mode: str, device: str, threads: int, seed: int
) -> Cost:
    """Times PC on n rows of a random model of d variables."""
    set_up(mode, threads, seed)
    data = random_table(d, n, MECHANISM, seed).data
    options: dict[str, Any] = {}
    if method.partition(":")[0] == "acid":
        options = {"device": device, "prefetch": mode != NO_PREFETCH}
    if mode == TWO_PROCESSES:
        options["n_jobs"] = 2  # their start is part of the time
    if mode == WARM_CACHE:
        with tempfile.TemporaryDirectory() as folder:
            options["cache_path"] = str(Path(folder) / "pvalues.json")
            cold = search.search("pc", method, data, alpha=ALPHA, options=options)
            warm = search.search("pc", method, data, alpha=ALPHA, options=options)
        computed = cold.tests_computed
        return Cost(warm.seconds / computed, warm.seconds, computed)
    search.search("pc", method, data[:SMALL, :3], alpha=ALPHA, options=options)
    start = _start_of_memory(device)
    found = search.search("pc", method, data, alpha=ALPHA, options=options)
    peak = _memory_since(start, device)
    if mode == TWO_PROCESSES:
        # A process that `multiprocessing` has started would wait minutes for joblib's to end.
        get_reusable_executor().shutdown()
    computed = found.tests_computed
    return Cost(found.seconds / computed, found.seconds, computed, peak_mib=peak)


def sample_pc(
    method: str, n: int, d: int, *, count: int, mode: str, threads: int, seed: int
) -> Cost:
    """Times a sample of PC's questions, for tests whose whole run would take too long.

    The sample is drawn from the questions that PC with Fisher-z asks about the same table. A run
    with the test itself would ask about as many.
    """
    set_up(mode, threads, seed)
    data: NDArray[np.float64] = random_table(d, n, MECHANISM, seed).data
    asked = search.search("pc", "fisherz", data, alpha=ALPHA).questions
    chosen = np.random.default_rng(seed).choice(len(asked), min(count, len(asked)), replace=False)
    pvalues = get_method(method).pvalues
    pvalues([_question(SMALL, 1, seed)])
    begin = time.perf_counter()
    for index in chosen:
        i, j, cond = asked[index]
        pvalues([(data[:, [i]], data[:, [j]], data[:, list(cond)] if cond else None)])
    mean = (time.perf_counter() - begin) / len(chosen)
    return Cost(mean, mean * len(asked), len(asked), sampled=len(chosen))


# ---- memory --------------------------------------------------------------------


def _start_of_memory(device: str) -> int:
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()
    reset_peak()
    return peak_bytes()


def _memory_since(start: int, device: str) -> float:
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else peak_bytes()
    return (peak - start) / 2**20
