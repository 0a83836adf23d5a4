"""`speed`: the plan, small measurements, the report on made-up rows."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from acid_causal.weights.checkpoint import TrainedModel
from benchmarks.experiments import speed
from benchmarks.experiments.speed import is_sampled, runs_here
from benchmarks.harness import timing
from benchmarks.harness.fresh_process import in_fresh_process
from benchmarks.harness.jobs import Job
from benchmarks.harness.runner import attempt
from benchmarks.harness.store import frame
from benchmarks.harness.timing import (
    ALL_THREADS,
    NO_PREFETCH,
    TWO_PROCESSES,
    WARM_CACHE,
    sample_pc,
    seconds_text,
    time_pc,
    time_test,
)
from benchmarks.methods import FAST

ONCE = {"threads": 1, "seed": 1}


@pytest.fixture
def acid(tiny_model: TrainedModel, tmp_path: Path) -> str:
    tiny_model.save(tmp_path / "tiny.safetensors")
    return f"acid:{tmp_path / 'tiny.safetensors'}"


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spares a test the seconds of imports that a fresh process takes."""
    monkeypatch.setattr(speed, "in_fresh_process", lambda work, *args, **kw: work(*args, **kw))


def jobs_of(method: str, *, device: str = "cpu") -> list[Job]:
    return [job for job in speed.SPEED.jobs([method], False) if job["device"] == device]


def test_settings_are_those_of_the_evaluation_plan() -> None:
    tests = [job for job in jobs_of("acid") if job["task"] == "test"]
    assert {job["n"] for job in tests if job["size"] == 5} == {
        100,
        200,
        500,
        1000,
        2000,
        5000,
        10_000,
        20_000,
        50_000,
        100_000,
        200_000,
        1_000_000,
    }
    runs = [job for job in jobs_of("acid") if job["task"] == "pc"]
    assert {job["size"] for job in runs if job["n"] == 1000} == {10, 20, 30}
    others = {NO_PREFETCH, WARM_CACHE, ALL_THREADS, TWO_PROCESSES}
    assert {job["mode"] for job in runs} == {"default", *others}
    assert jobs_of("acid", device="cuda")


def test_others_are_measured_where_they_can_be() -> None:
    largest = {name: max(job.number("n") for job in jobs_of(name)) for name in speed.METHODS}
    assert largest == {
        "acid": 1_000_000,
        FAST: 1_000_000,
        "kcit": 2000,
        "fastkci": 2000,
        "rcit": 200_000,
        "fisherz": 200_000,
        "andrey-kci": 2000,
        "andrey-kci-rank": 2000,
        "andrey-rcot": 200_000,
    }
    for name in set(speed.METHODS) - {"acid", FAST}:
        assert not jobs_of(name, device="cuda")
        assert {job["mode"] for job in jobs_of(name)} == {"default", ALL_THREADS}


def test_long_runs_are_sampled() -> None:
    assert not is_sampled("kcit", 500, 10)
    assert is_sampled("kcit", 1000, 10)
    assert is_sampled("kcit", 500, 20)
    assert is_sampled("fastkci", 100, 10)
    assert not is_sampled("andrey-kci", 1000, 10)
    assert is_sampled("andrey-kci", 1000, 20)
    assert not is_sampled("andrey-rcot", 1000, 20)
    assert not is_sampled("rcit", 2000, 30)


def test_gpu_jobs_run_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    (on_cpu, *_), (on_gpu, *_) = jobs_of("acid"), jobs_of("acid", device="cuda")
    for there in (False, True):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert runs_here(on_cpu)
        assert runs_here(on_gpu) == there


def test_cost_of_a_test_is_the_median_of_repetitions(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(np.cumsum([0, 1, 0, 5, 0, 3]))  # three repetitions of 1, 5 and 3 seconds
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(timing, "SECONDS", 9.0)
    cost = time_test("fisherz", 50, 2, mode="default", device="cpu", **ONCE)
    assert cost.seconds_per_test == 3
    assert cost.peak_mib is not None
    assert cost.search_seconds is None


def peaks(method: str, *rows: int) -> list[float | None]:
    where: dict[str, Any] = {"mode": "default", "device": "cpu", "repeats": 1, **ONCE}
    return [time_test(method, n, 3, **where).peak_mib for n in rows]


def test_memory_of_a_test_grows_with_its_rows(acid: str) -> None:
    # In a process of its own: in this one there is memory that other tests have left.
    small, large = in_fresh_process(peaks, acid, 100, 5000)
    assert small is not None
    assert large is not None
    assert large > small + 5


def test_cost_of_a_run_without_prefetching_and_with_a_warm_cache(acid: str) -> None:
    where: dict[str, Any] = {"device": "cpu", **ONCE}
    usual = time_pc(acid, 80, 6, mode="default", **where)
    alone = time_pc(acid, 80, 6, mode=NO_PREFETCH, **where)
    warm = time_pc(acid, 80, 6, mode=WARM_CACHE, **where)
    assert usual.search_seconds is not None
    assert warm.search_seconds is not None
    assert usual.tests_computed is not None
    assert alone.tests_computed is not None
    # Without guesses no more is computed than PC asks; a warm cache has all the answers.
    assert 15 <= alone.tests_computed <= usual.tests_computed == warm.tests_computed
    assert warm.search_seconds < usual.search_seconds
    assert usual.seconds_per_test == pytest.approx(usual.search_seconds / usual.tests_computed)


def test_sampled_run_is_projected_from_its_questions() -> None:
    cost = sample_pc("rcit", 120, 6, count=5, mode="default", **ONCE)
    assert cost.sampled == 5
    assert cost.tests_computed is not None
    assert cost.tests_computed >= 15
    assert cost.search_seconds == pytest.approx(cost.seconds_per_test * cost.tests_computed)


def test_a_row_comes_from_a_fresh_process() -> None:
    setting = (("task", "test"), ("n", 100), ("size", 1), ("mode", "default"), ("device", "cpu"))
    row = attempt(speed.SPEED, Job("speed", "fisherz", setting, 1), 1)
    assert row["error"] == ""
    assert float(row["seconds_per_test"]) > 0
    assert row["search_seconds"] == row["sampled"] == ""


def made_up(method: str, task: str, n: int, size: int, mode: str, device: str) -> dict[str, object]:
    """Makes a row in which a test takes n^1.5 microseconds."""
    seconds = 1e-6 * n**1.5
    whole = task == "pc"
    return {
        "method": method,
        "task": task,
        "n": n,
        "size": size,
        "mode": mode,
        "device": device,
        "seconds_per_test": seconds,
        "search_seconds": 100 * seconds if whole else None,
        "tests_computed": 100 if whole else None,
        "sampled": 12 if whole and method == "kcit" else None,
        "peak_mib": None if whole else n / 100,
        "machine": "made up",
    }


@pytest.mark.parametrize("gpu", [False, True])
def test_report(gpu: bool, tmp_path: Path) -> None:
    jobs = speed.make_jobs(["acid", "kcit"], True)
    rows = pd.DataFrame(
        [
            made_up(job.method, *(dict(job.setting)[c] for c in speed.SPEED.setting_columns))  # type: ignore[arg-type]
            for job in jobs
            if gpu or job["device"] == "cpu"
        ]
    )
    picture = tmp_path / "speed.png"
    text = speed.report(rows, picture)
    lines = [line.split() for line in text.splitlines()]
    assert ["n^", "1.50", "–"] in lines  # KCI has no sizes from 2000 rows on
    assert ["20", "0.28", "~0.28"] in lines
    assert ["no", "prefetch", "0.28", "–"] in lines
    assert ("made up" in text) == gpu
    assert picture.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.000123, "0.00012"), (3.44, "3.4"), (11.2, "11"), (1234.5, "1234")]
)
def test_seconds_are_written_without_powers(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def test_jobs_ask_what_the_plan_says(
    in_this_process: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def noted(name: str) -> Callable[..., timing.Cost]:
        def work(*args: object, **kwargs: object) -> timing.Cost:
            asked.append((name, *args))
            return timing.Cost(1.0)

        return work

    for name in ("time_test", "time_pc", "sample_pc"):
        monkeypatch.setattr(speed, name, noted(name))
    jobs = [job for job in speed.make_jobs(["kcit"], True) if job["mode"] == "default"]
    rows = [attempt(speed.SPEED, job, 1) for job in jobs]
    assert not frame(rows, speed.SPEED.columns)["error"].any()
    assert ("time_test", "kcit", 1000, 5) in asked
    assert ("time_pc", "kcit", 200, 10) in asked
    assert ("sample_pc", "kcit", 200, 20) in asked
