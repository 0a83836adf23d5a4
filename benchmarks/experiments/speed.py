"""`speed`: seconds and memory of one test and of PC, for ACID and for the tests it replaces.

Each job runs in a fresh process (see `timing`), with one thread unless it says otherwise. PC gets
tables from random models with MLP equations (see `random_sems`). Rows on a GPU need a machine that
has one; without these rows the report has no GPU tables.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from benchmarks.harness.fresh_process import in_fresh_process
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.tables import aligned
from benchmarks.harness.timing import (
    ALL_THREADS,
    NO_PREFETCH,
    TWO_PROCESSES,
    WARM_CACHE,
    Cost,
    sample_pc,
    seconds_text,
    time_pc,
    time_test,
)
from benchmarks.methods import FAST
from benchmarks.methods.andrey import TESTS
from benchmarks.pictures.speed import draw_speed

METHODS = ("acid", FAST, "kcit", "fastkci", "rcit", "fisherz", *TESTS)
QUICK_METHODS = ("acid", "kcit", "rcit", "fisherz")
# Tests that are not asked at `Plan.large_n`; and the largest n at which they run a whole PC.
SLOW_METHODS = {"kcit": 500, "fastkci": 0, "andrey-kci": 1000, "andrey-kci-rank": 2000}
SEED = 9_200_000
# Modes that other tests do not have.
OF_ACID = (NO_PREFETCH, WARM_CACHE, TWO_PROCESSES)
D_Z = 5  # of single tests, where d_z does not vary
D = 10  # variables of PC runs, where their number does not vary
SAMPLED = 12  # questions that are timed instead of a PC run that takes too long
FIT_RANGE = 2000, 200_000  # n for fitting the exponent; all fast tests have these rows

RESULT_COLUMNS = ("seconds_per_test", "search_seconds", "tests_computed", "sampled", "peak_mib")


@dataclass(frozen=True)
class Plan:
    """What is measured.

    Attributes:
        n: Rows of single tests given `D_Z` variables.
        large_n: The same, for the fast tests.
        huge_n: The same, for ACID.
        d_z: Sizes of the conditioning set, on `n_of_sizes` rows.
        pc_n: Rows of PC runs on `D` variables.
        pc_d: Numbers of variables of PC runs on `n_of_sizes` rows.
        modes: Other modes in which PC is run.
        mode_d: Number of variables of these runs.
        n_of_sizes: Rows where another size varies, and of the runs in other modes.
    """

    n: tuple[int, ...]
    large_n: tuple[int, ...]
    huge_n: tuple[int, ...]
    d_z: tuple[int, ...]
    pc_n: tuple[int, ...]
    pc_d: tuple[int, ...]
    modes: tuple[str, ...]
    mode_d: int
    n_of_sizes: int


FULL = Plan(
    n=(100, 200, 500, 1000, 2000),
    large_n=(5000, 10_000, 20_000, 50_000, 100_000, 200_000),
    huge_n=(1_000_000,),
    d_z=(0, 1, 2, 10, 20),
    pc_n=(100, 200, 500, 1000, 2000),
    pc_d=(20, 30),
    modes=(NO_PREFETCH, WARM_CACHE, ALL_THREADS, TWO_PROCESSES),
    mode_d=20,
    n_of_sizes=1000,
)
QUICK = Plan(
    n=(200, 1000),
    large_n=(2000, 20_000),
    huge_n=(),
    d_z=(0, 20),
    pc_n=(100, 200),
    pc_d=(20,),
    # Without ALL_THREADS: on a busy machine threads wait for one another for minutes.
    modes=(NO_PREFETCH, WARM_CACHE, TWO_PROCESSES),
    mode_d=10,
    n_of_sizes=200,
)


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists the jobs of a plan; a size is |Z| of a test, or the number of variables of PC."""
    plan = QUICK if quick else FULL
    return [
        Job(
            "speed",
            method,
            (("task", task), ("n", n), ("size", size), ("mode", mode), ("device", device)),
            SEED,
        )
        for task, n, size, mode, device in _settings(plan)
        for method in methods
        if _is_for(method, n, mode, device, plan)
    ]


Setting = tuple[str, int, int, str, str]


def _settings(plan: Plan) -> list[Setting]:
    tests = [(n, D_Z) for n in (*plan.n, *plan.large_n, *plan.huge_n)]
    tests += [(plan.n_of_sizes, d_z) for d_z in plan.d_z]
    runs = [(n, D) for n in plan.pc_n] + [(plan.n_of_sizes, d) for d in plan.pc_d]
    settings: list[Setting] = [("test", n, d_z, "default", "cpu") for n, d_z in tests]
    settings += [("pc", n, d, "default", "cpu") for n, d in runs]
    for mode in plan.modes:
        settings.append(("pc", plan.n_of_sizes, plan.mode_d, mode, "cpu"))
    settings += [("test", n, d_z, "default", "cuda") for n, d_z in tests]
    settings += [("pc", n, d, "default", "cuda") for n, d in runs]
    return settings


def _is_for(method: str, n: int, mode: str, device: str, plan: Plan) -> bool:
    """Says whether a method is measured in a setting."""
    is_acid = method.partition(":")[0] == "acid"
    if is_acid:
        return True
    if device != "cpu" or mode in OF_ACID or n in plan.huge_n:
        return False
    return method not in SLOW_METHODS or n not in plan.large_n


def runs_here(job: Job) -> bool:
    """Says whether this machine has the device of a job."""
    return job["device"] == "cpu" or torch.cuda.is_available()


def run(job: Job) -> Results:
    """Measures one job in a fresh process."""
    threads = torch.get_num_threads()
    where: dict[str, Any] = {"mode": str(job["mode"]), "threads": threads, "seed": job.seed}
    n, size = job.number("n"), job.number("size")
    if job["task"] == "pc" and is_sampled(job.method, n, size):
        cost = in_fresh_process(sample_pc, job.method, n, size, count=SAMPLED, **where)
    else:
        work: Callable[..., Cost] = time_test if job["task"] == "test" else time_pc
        cost = in_fresh_process(work, job.method, n, size, device=str(job["device"]), **where)
    return asdict(cost)


def is_sampled(method: str, n: int, d: int) -> bool:
    """Says whether a whole run of PC with this test would take too long."""
    return method in SLOW_METHODS and (n > SLOW_METHODS[method] or d > D)


# ---- report --------------------------------------------------------------------


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints the tables and draws seconds and memory against n and the number of variables."""
    draw_speed(rows, picture)
    parts = [CAPTION]
    for device, on_device in rows.groupby("device", sort=False):
        parts += ["", *_tables(on_device)] if device == "cpu" else ["", *_gpu_tables(on_device)]
    return "\n".join(parts)


CAPTION = f"""One thread unless said otherwise, each job in a fresh process; imports and weights are
not timed. Memory: the largest beyond the data. PC on tables of random models, alpha = .05; ~: from
{SAMPLED} of the questions that PC asks Fisher-z, times their number."""


def _tables(rows: pd.DataFrame) -> list[str]:
    default = rows[rows["mode"] == "default"]
    tests, runs = (default[default["task"] == task] for task in ("test", "pc"))
    by_n, by_d_z = tests[tests["size"] == D_Z], _where_size_varies(tests, D_Z)
    by_rows, by_d = runs[runs["size"] == D], _where_size_varies(runs, D)
    other = rows[rows["mode"] != "default"]
    exponent = ("n^", *(_exponent(of_method) for _, of_method in _by_method(by_n)))
    low, high = FIT_RANGE
    lines = [f"Seconds a test, |Z| = {D_Z}; last line: the exponent of n from {low} to {high}:", ""]
    lines += [_side_by_side(by_n, "n", "seconds_per_test", last=exponent), ""]
    lines += [f"MiB a test, |Z| = {D_Z}:", "", _side_by_side(by_n, "n", "peak_mib"), ""]
    lines += [f"Seconds a test, n = {_only(by_d_z, 'n')}:", ""]
    lines += [_side_by_side(by_d_z, "|Z|", "seconds_per_test", key="size"), ""]
    lines += [f"Seconds of PC, {D} variables:", "", _side_by_side(by_rows, "n", SEARCH), ""]
    lines += [f"Seconds of PC, n = {_only(by_d, 'n')}:", ""]
    lines += [_side_by_side(by_d, "variables", SEARCH, key="size")]
    if len(other):
        n, d = _only(other, "n"), _only(other, "size")
        same = rows[(rows["task"] == "pc") & (rows["n"] == n) & (rows["size"] == d)]
        lines += ["", f"Seconds of PC, {d} variables, n = {n}:", ""]
        lines += [_side_by_side(same, "mode", SEARCH)]
    return lines


def _gpu_tables(rows: pd.DataFrame) -> list[str]:
    tests, runs = (rows[rows["task"] == task] for task in ("test", "pc"))
    machine = " | ".join(rows["machine"].unique())
    lines = [f"On a GPU ({machine}): seconds a test, |Z| = {D_Z}:", ""]
    lines += [_side_by_side(tests[tests["size"] == D_Z], "n", "seconds_per_test"), ""]
    by_d = _where_size_varies(runs, D)
    lines += [f"On a GPU: seconds of PC, n = {_only(by_d, 'n')}:", ""]
    return [*lines, _side_by_side(by_d, "variables", SEARCH, key="size")]


SEARCH = "search_seconds"


def _where_size_varies(rows: pd.DataFrame, usual: int) -> pd.DataFrame:
    """Picks the rows with the n of which there are several sizes."""
    n = rows.loc[rows["size"] != usual, "n"].iloc[0]
    return rows[rows["n"] == n].sort_values("size", kind="stable")


def _only(rows: pd.DataFrame, column: str) -> Any:
    (value,) = rows[column].unique()
    return value


def _by_method(rows: pd.DataFrame) -> Any:
    return rows.groupby("method", sort=False)


def _side_by_side(
    rows: pd.DataFrame,
    axis: str,
    column: str,
    *,
    key: str = "",
    last: Sequence[object] | None = None,
) -> str:
    """Lays out one column of the results: settings below each other, methods side by side."""
    methods = [method for method, _ in _by_method(rows)]
    cells: list[Sequence[object]] = []
    for value, group in rows.groupby(key or axis, sort=False):
        of_method = {row["method"]: _figure(row, column) for row in group.to_dict("records")}
        cells.append((str(value), *(of_method.get(method) for method in methods)))
    return aligned((axis, *methods), [*cells, *([last] if last else [])])


def _figure(row: dict[Any, Any], column: str) -> str | None:
    if pd.isna(row[column]):
        return None
    if column == "peak_mib":
        return f"{row[column]:.0f}"
    sampled = column == SEARCH and not pd.isna(row["sampled"])
    return f"{'~' if sampled else ''}{seconds_text(row[column])}"


def _exponent(rows: pd.DataFrame) -> str | None:
    """Fits seconds = c n^k and returns k."""
    rows = rows[rows["n"].between(*FIT_RANGE)]
    if len(rows) < 2:
        return None
    n, seconds = (np.log(rows[name].to_numpy(dtype=float)) for name in ("n", "seconds_per_test"))
    return f"{np.polyfit(n, seconds, 1)[0]:.2f}"


SPEED = Experiment(
    name="speed",
    methods=METHODS,
    quick_methods=QUICK_METHODS,
    setting_columns=("task", "n", "size", "mode", "device"),
    result_columns=RESULT_COLUMNS,
    jobs=make_jobs,
    run=run,
    report=report,
    unit=("device",),
    runs_here=runs_here,
)
