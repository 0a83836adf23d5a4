"""Questions divided among processes: answers and warnings are those of one process."""

import copy
import json
import warnings
from collections import defaultdict
from dataclasses import replace
from itertools import combinations
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

from acid_causal import Tester, discover
from acid_causal.errors import AcidWarning, ModelError, OptionError
from acid_causal.inference import batching, processes
from acid_causal.inference.batching import Task
from acid_causal.inference.processes import Processes
from acid_causal.tables.inputs import Question
from acid_causal.weights.checkpoint import TrainedModel

# Threads answer with copies of the tester, too; joblib's processes import everything anew.
BACKENDS = ["threading", pytest.param("loky", marks=pytest.mark.slow)]


def questions(d: int, largest: int = 2) -> list[Question]:
    """Lists every pair of d columns given every set of up to `largest` others."""
    return [
        (i, j, cond)
        for size in range(largest + 1)
        for cond in combinations(range(d), size)
        for i, j in combinations(sorted(set(range(d)) - set(cond)), 2)
    ]


def tasks(d: int) -> list[Task]:
    return [Task(k, (i,), (j,), cond) for k, (i, j, cond) in enumerate(questions(d))]


def test_small_batches_and_single_processes_are_not_divided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = tasks(6)

    def count(n_jobs: int | None, n: int, started: bool = False, cost: int = 1) -> int:
        divided = Processes(n_jobs, cost)
        monkeypatch.setattr(divided, "_started", started)
        shares = divided.divide(asked, n, lambda _: 1)
        assert sorted(task.index for share in shares for task in share) == list(range(len(asked)))
        return len(shares)

    assert count(1, n=10**6) == count(None, n=10**6) == 1
    assert count(2, n=100) == count(2, n=100, started=True) == 1
    assert (count(2, n=1000), count(2, n=1000, started=True)) == (1, 8)
    assert count(2, n=10**6) == 8
    assert count(2, n=1000, cost=200) == 8
    with joblib.parallel_config(backend="sequential"):
        assert count(2, n=10**6) == 1


def test_small_batches_add_up() -> None:
    divided = Processes(2)
    asked = tasks(6)
    shares = [len(divided.divide(asked, 1000, lambda _: 1)) for _ in range(8)]
    assert shares == sorted(shares)
    assert set(shares) == {1, 8}


def test_a_set_is_in_one_share_and_shares_are_alike() -> None:
    asked = tasks(9)
    shares = Processes(3).divide(asked, 10**6, lambda _: 1)
    assert len(shares) == 12
    holders = defaultdict(set)
    for number, share in enumerate(shares):
        for task in share:
            holders[task.cond].add(number)
    assert all(len(numbers) == 1 for numbers in holders.values())
    weights = [
        sum(weight for _, weight in batching.weigh(share, 100, lambda _: 1)) for share in shares
    ]
    assert max(weights) < 1.5 * np.mean(weights)
    largest = [max(len(task.cond) for task in share) for share in shares]
    assert largest == sorted(largest, reverse=True)


@pytest.fixture
def odd_table() -> pd.DataFrame:
    """Numbers and a category, a constant, a copy, and gaps."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 5)), columns=list("abcde"))
    frame["b"] += frame["a"]
    frame["copy"] = 2 * frame["a"] + 1
    frame["kind"] = np.where(frame["c"] + rng.normal(size=120) > 0, "u", "v")
    frame["same"] = 1.0
    frame.loc[::10, "d"] = np.nan
    return frame


@pytest.fixture
def divisions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of shares of each batch that was divided."""
    monkeypatch.setattr(processes, "_WORTH_A_START", 1)
    monkeypatch.setattr(processes, "_WORTH_A_CALL", 1)
    found: list[int] = []
    answer = Processes.answer

    def counted(self: Processes, copy: Any, shares: Any, progress: Any) -> Any:
        found.append(len(shares))
        return answer(self, copy, shares, progress)

    monkeypatch.setattr(Processes, "answer", counted)
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_answers_and_warnings_are_those_of_one_process(
    odd_table: pd.DataFrame, backend: str, divisions: list[int]
) -> None:
    asked = questions(8)
    found, said = [], []
    for n_jobs in (1, 2):
        done: list[int] = []
        with (
            warnings.catch_warnings(record=True) as caught,
            joblib.parallel_config(backend=backend),
        ):
            warnings.simplefilter("always")
            tester = Tester(odd_table, missing="drop", n_jobs=n_jobs)
            # The second call finds the processes started.
            found.append([tester.test_many(asked[:40], done.append), tester.test_many(asked)])
        assert sum(done) == 40
        assert len(divisions) == 2 * (n_jobs - 1)
        said.append([str(each.message) for each in caught if each.category is AcidWarning])
    for alone, divided in zip(*found, strict=True):
        for one, other in zip(alone, divided, strict=True):
            assert other.pvalue == pytest.approx(one.pvalue, rel=1e-3)
            assert (other.n, other.null) == (one.n, one.null)
    # Which question is named depends on who comes first.
    kinds = [sorted(message.partition(" in (")[0][:25] for message in each) for each in said]
    assert kinds[0] == kinds[1]
    assert len(kinds[0]) == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_in_a_process_is_the_callers(
    tiny_model: TrainedModel, table: np.ndarray, divisions: list[int], backend: str
) -> None:
    # The weights are found to be damaged when they answer.
    network = copy.deepcopy(tiny_model.network)
    for parameter in network.parameters():
        parameter.data.fill_(np.nan)
    damaged = replace(tiny_model, network=network)
    with joblib.parallel_config(backend=backend), pytest.raises(ModelError, match="are damaged"):
        Tester(table, model=damaged, n_jobs=2).test_many(questions(6))
    assert divisions


@pytest.mark.parametrize("n_jobs", [0, 2.5, "2", True, float("nan")])
@pytest.mark.usefixtures("wrong_types")
def test_no_number_of_processes(table: np.ndarray, n_jobs: Any) -> None:
    with pytest.raises(OptionError, match="n_jobs must be a number of processes"):
        Tester(table, n_jobs=n_jobs)
    with pytest.raises(OptionError, match="n_jobs must be a number of processes"):
        discover(table, test="fisherz", n_jobs=n_jobs)


def test_processes_stay_small(table: np.ndarray, tiny_model: TrainedModel) -> None:
    """joblib ends a process that grows by 300 MB, and then starts another."""
    tester = Tester(table, model=tiny_model, n_jobs=2)
    assert tester._for_a_process()._cache_bytes == processes.CACHE_BYTES < 100 * 2**20
    frugal = Tester(table, model=tiny_model, n_jobs=2, cache_bytes=1000)
    assert frugal._for_a_process()._cache_bytes == 1000


def test_a_search_and_its_check_are_divided(
    table: np.ndarray, tiny_model: TrainedModel, divisions: list[int]
) -> None:
    alone = discover(table, model=tiny_model, alpha=0.2, check=True)
    assert not divisions
    with joblib.parallel_config(backend="threading"):
        found = discover(table, model=tiny_model, alpha=0.2, check=True, n_jobs=2)
    np.testing.assert_array_equal(found.endpoints, alone.endpoints)
    assert found.pvalues == pytest.approx(alone.pvalues, rel=1e-3)
    assert "n_jobs" not in json.dumps(found.provenance)
    of_search = len(divisions)
    divisions.clear()
    with joblib.parallel_config(backend="threading"):
        discover(table, model=tiny_model, alpha=0.2, n_jobs=2)
    assert 0 < len(divisions) < of_search
