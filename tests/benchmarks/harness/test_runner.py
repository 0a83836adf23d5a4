"""Jobs to rows to CSV: failures, resuming, kills."""

import dataclasses
import errno
import multiprocessing
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend.context import set_start_method

from acid_causal.errors import InputError
from benchmarks.harness import provenance
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.runner import attempt, run_jobs
from benchmarks.harness.store import Store, frame


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    return tmp_path / "results" / "toy.csv"


def outcomes(experiment: Experiment, csv: Path) -> dict[str, str]:
    rows = Store(csv, experiment).rows(experiment.jobs((), False))
    return {row["outcome"]: row["error"] or row["score"] for row in rows}


@pytest.fixture
def forked_workers() -> Iterator[None]:
    """Has joblib fork its processes from the one of `in_fresh_process`, which did the imports."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["benchmarks.experiments"])
    set_start_method("forkserver", force=True)
    yield
    get_reusable_executor().shutdown()
    set_start_method(None, force=True)


def test_a_failure_is_a_row(toy: Experiment, csv: Path) -> None:
    check_failures(toy, csv, n_jobs=1)


@pytest.mark.usefixtures("forked_workers")
def test_a_failure_in_a_process_is_a_row(toy: Experiment, csv: Path) -> None:
    check_failures(toy, csv, n_jobs=2)


@pytest.mark.slow
def test_a_failure_in_a_process_of_joblibs_is_a_row(toy: Experiment, csv: Path) -> None:
    check_failures(toy, csv, n_jobs=2)


def check_failures(toy: Experiment, csv: Path, n_jobs: int) -> None:
    run_jobs(toy, toy.jobs((), False), Store(csv, toy), n_jobs=n_jobs)
    assert outcomes(toy, csv) == {
        "good": "0.25",
        "raises": "RuntimeError: two lines",
        "nan": "ValueError: score is nan",
        "blank": "1",
    }


def test_rows_say_what_they_depend_on(toy: Experiment) -> None:
    row = attempt(toy, toy.jobs((), False)[0], threads=1)
    assert tuple(row) == toy.columns
    assert float(row["seconds"]) >= 0
    assert "causal-learn 0.1." in row["versions"]
    assert "cores" in row["machine"]
    assert row["threads"] == "1"
    assert row["weights_sha256"] == ""


def test_done_jobs_are_skipped_and_failed_ones_retried(toy: Experiment, csv: Path) -> None:
    jobs = toy.jobs((), False)
    run_jobs(toy, jobs, Store(csv, toy))
    asked = []

    def healed(job: Job) -> Results:
        asked.append(job["outcome"])
        return {"score": 9.0, "note": None}

    run_jobs(dataclasses.replace(toy, run=healed), jobs, Store(csv, toy))
    assert asked == ["raises", "nan"]
    assert outcomes(toy, csv) == {"good": "0.25", "raises": "9", "nan": "9", "blank": "1"}
    assert len(csv.read_text().splitlines()) == 1 + 4


def test_other_weights_make_a_row_stale(toy: Experiment, csv: Path) -> None:
    job = toy.jobs((), False)[0]
    rows = Store(csv, toy)
    rows.save({**attempt(toy, job, 1), "weights_sha256": "old"})
    assert rows.is_done(job, "old")
    assert not rows.is_done(job, "new")


def test_a_kill_while_writing_loses_nothing(
    toy: Experiment, csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = toy.jobs((), False)
    run_jobs(toy, jobs[:1], Store(csv, toy))
    before = csv.read_bytes()

    def killed(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        run_jobs(toy, jobs, Store(csv, toy))
    assert csv.read_bytes() == before
    assert [path for path in csv.parent.iterdir() if path.suffix != ".lock"] == [csv]


def test_a_full_disk_is_told_and_loses_nothing(
    toy: Experiment, csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = toy.jobs((), False)
    run_jobs(toy, jobs[:1], Store(csv, toy))
    before = csv.read_bytes()

    def full(source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match=r"cannot write .*toy\.csv.*No space left"):
        run_jobs(toy, jobs, Store(csv, toy))
    assert csv.read_bytes() == before


def test_two_processes_share_a_file(toy: Experiment, csv: Path) -> None:
    """Each adds forty rows, one by one and at the same time."""
    row = attempt(toy, toy.jobs((), False)[0], 1)
    context = multiprocessing.get_context("fork")
    start = context.Barrier(2)

    def save_rows(first_seed: int) -> None:
        store = Store(csv, toy)
        start.wait()
        for seed in range(first_seed, first_seed + 40):
            store.save({**row, "seed": str(seed)})

    processes = [context.Process(target=save_rows, args=(seed,)) for seed in (0, 40)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert len(csv.read_text().splitlines()) == 1 + 80


def test_two_runs_share_a_file(toy: Experiment, csv: Path) -> None:
    jobs = toy.jobs((), False)
    one, other = Store(csv, toy), Store(csv, toy)
    one.save(attempt(toy, jobs[0], 1))
    other.save(attempt(toy, jobs[3], 1))
    assert len(one.rows([jobs[0], jobs[3]])) == 2


def test_no_table_from_a_part_of_the_rows(toy: Experiment, csv: Path) -> None:
    jobs = toy.jobs((), False)
    rows = Store(csv, toy)
    rows.save(attempt(toy, jobs[0], 1))
    with pytest.raises(InputError, match=r"holds 1 of the 4 rows"):
        rows.rows(jobs)


def test_a_file_of_another_version_is_refused(toy: Experiment, csv: Path) -> None:
    csv.parent.mkdir()
    csv.write_text("experiment,method\n")
    with pytest.raises(InputError, match=r"toy\.csv was written by another version.*score"):
        Store(csv, toy)


def test_table_has_numbers_where_all_cells_are(toy: Experiment, csv: Path) -> None:
    jobs = [job for job in toy.jobs((), False) if job["outcome"] in ("good", "blank")]
    rows = Store(csv, toy)
    run_jobs(toy, jobs, rows)
    table = frame(rows.rows(jobs), toy.columns)
    assert table["score"].tolist() == [0.25, 1.0]
    assert table["note"].isna().tolist() == [False, True]


def test_global_generators_are_seeded(toy: Experiment) -> None:
    draws = []

    def draw(job: Job) -> Results:
        draws.append(np.random.random())  # noqa: NPY002
        return {"score": 0.0, "note": None}

    experiment = dataclasses.replace(toy, run=draw)
    for job in (toy.jobs((), False)[0], toy.jobs((), False)[1], toy.jobs((), False)[0]):
        attempt(experiment, job, 1)
    assert draws[0] == draws[2] != draws[1]


def test_thread_count_is_restored(toy: Experiment) -> None:
    before = torch.get_num_threads()
    attempt(toy, toy.jobs((), False)[0], threads=before + 1)
    assert torch.get_num_threads() == before


def test_errors_name_no_folder_of_this_machine() -> None:
    error = OSError(f"no {Path.cwd() / 'x'} and no {Path.home() / 'y'}")
    text = provenance.error_text(error)
    assert str(Path.cwd()) not in text
    assert str(Path.home()) not in text


def test_a_table_can_be_made_of_complete_units(toy: Experiment, csv: Path) -> None:
    jobs = toy.jobs((), False)
    rows = Store(csv, toy)
    run_jobs(toy, jobs[:2], rows)
    kept, absent = rows.complete(jobs, ("outcome",))
    assert [job["outcome"] for job in kept] == [job["outcome"] for job in jobs[:2]]
    assert absent == [str(job["outcome"]) for job in jobs[2:]]
    assert rows.complete(jobs, ()) == (jobs, [])
