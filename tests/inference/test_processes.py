"""Questions divided among processes: answers and warnings are those of one process."""

import json
import warnings
from collections import defaultdict
from itertools import combinations

import joblib
import numpy as np
import pandas as pd
import pytest

from acid_causal import Tester, discover
from acid_causal.errors import AcidWarning, InputError, OptionError
from acid_causal.inference import batching, processes
from acid_causal.inference.batching import Task
from acid_causal.inference.processes import Processes
from acid_causal.tables.inputs import Question
from acid_causal.weights.checkpoint import TrainedModel

# Threads answer with copies of the tester, too; joblib's processes import everything anew.
BACKENDS = ["threading", pytest.param("loky", marks=pytest.mark.slow)]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divides few questions, too."""
    monkeypatch.setattr(processes, "_WORTH_A_START", 1)
    monkeypatch.setattr(processes, "_WORTH_A_CALL", 1)


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

    def count(n_jobs: int, n: int, started: bool = False) -> int:
        divided = Processes(n_jobs)
        monkeypatch.setattr(divided, "_started", started)
        shares = divided.divide(asked, n, lambda _: 1)
        assert sorted(task.index for share in shares for task in share) == list(range(len(asked)))
        return len(shares)

    assert count(1, n=10**6) == 1
    assert count(2, n=100) == count(2, n=100, started=True) == 1
    assert (count(2, n=1000), count(2, n=1000, started=True)) == (1, 8)
    assert count(2, n=10**6) == 8


def test_a_set_is_in_one_share_and_shares_are_alike(always: None) -> None:
    asked = tasks(9)
    shares = Processes(3).divide(asked, 100, lambda _: 1)
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


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("backend", BACKENDS)
def test_answers_and_warnings_are_those_of_one_process(
    odd_table: pd.DataFrame, backend: str
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
        said.append([str(each.message) for each in caught if each.category is AcidWarning])
    for alone, divided in zip(*found, strict=True):
        for one, other in zip(alone, divided, strict=True):
            assert other.pvalue == pytest.approx(one.pvalue, rel=1e-3)
            assert (other.n, other.null) == (one.n, one.null)
    # Which question is named depends on who comes first.
    kinds = [sorted(message.partition(" in (")[0][:25] for message in each) for each in said]
    assert kinds[0] == kinds[1]
    assert len(kinds[0]) == 2


@pytest.mark.usefixtures("always")
def test_an_error_in_a_process_is_the_callers(
    tiny_model: TrainedModel, table: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "_MAX_BYTES", 10)
    with (
        joblib.parallel_config(backend="threading"),
        pytest.raises(InputError, match="ask about fewer rows or a smaller set"),
    ):
        Tester(table, model=tiny_model, n_jobs=2).test_many(questions(6))


def test_no_number_of_processes(table: np.ndarray) -> None:
    with pytest.raises(OptionError, match="n_jobs must be a number of processes"):
        Tester(table, n_jobs=0)


def test_processes_stay_small(table: np.ndarray, tiny_model: TrainedModel) -> None:
    """joblib ends a process that grows by 300 MB, and then starts another."""
    tester = Tester(table, model=tiny_model, n_jobs=2)
    assert tester._for_a_process()._cache_bytes == processes.CACHE_BYTES < 100 * 2**20
    frugal = Tester(table, model=tiny_model, n_jobs=2, cache_bytes=1000)
    assert frugal._for_a_process()._cache_bytes == 1000


@pytest.mark.usefixtures("always")
def test_a_search_is_divided(
    table: np.ndarray, tiny_model: TrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = []
    answer = Tester.answer_share

    def counted(tester: Tester, asked: list[Task]) -> object:
        shares.append(len(asked))
        return answer(tester, asked)

    monkeypatch.setattr(Tester, "answer_share", counted)
    alone = discover(table, model=tiny_model, alpha=0.2)
    assert not shares
    with joblib.parallel_config(backend="threading"):
        found = discover(table, model=tiny_model, alpha=0.2, n_jobs=2)
    np.testing.assert_array_equal(found.endpoints, alone.endpoints)
    assert found.pvalues == pytest.approx(alone.pvalues, rel=1e-3)
    assert len(shares) > 2
    assert "n_jobs" not in json.dumps(found.provenance)
