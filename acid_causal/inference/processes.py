"""Divides questions among processes, through joblib.

A process answers all questions about some of the conditioning sets, so that what is computed for a
set is shared as within one process. Its copy of the tester stays there for the next questions.
"""

import hashlib
import os
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from acid_causal.errors import is_whole, require
from acid_causal.inference.batching import Task, weigh
from acid_causal.inference.result import CITestResult

# Scalars to encode (some 10 microseconds each) that are worth starting processes, whose imports
# take seconds; and those that are worth a call of processes that have been started.
_WORTH_A_START, _WORTH_A_CALL = 500_000, 50_000
# Limit of a process's cache of encodings: joblib ends processes that grow by 300 MB.
CACHE_BYTES = 64 * 2**20
# Shares for each process, so that none waits long for the last one to end.
_SHARES = 4


class TesterCopy(Protocol):
    """A tester's copy in another process."""

    def answer_share(self, tasks: Sequence[Task]) -> tuple[list[CITestResult], dict[str, str]]:
        """Answers questions.

        Returns:
            The results in the order of the questions, and warnings by their kind.
        """


class Processes:
    """Answers questions in several processes.

    Args:
        n_jobs: number of processes, as in joblib: -1 for one per core, None for one.
        cost: time that a scalar takes, in units of that with a fitted null.
    """

    def __init__(self, n_jobs: int | None = None, cost: int = 1) -> None:
        self._n_jobs, self._cost = check_n_jobs(n_jobs) or 1, cost
        self._started = False
        self._before = 0  # scalars, times their cost, that were not worth a start so far

    def divide(
        self, tasks: Sequence[Task], n: int, width: Callable[[int], int]
    ) -> list[list[Task]]:
        """Divides questions into shares; into one where several processes would save no time.

        Processes are started when the questions so far would have been worth it.

        Args:
            tasks: the questions.
            n: number of rows.
            width: number of columns that the network reads for a column.
        """
        if self._n_jobs == 1 or len(tasks) == 1:
            return [list(tasks)]
        sets = weigh(tasks, n, width)
        total = sum(weight for _, weight in sets)
        if not self._is_worth_it(self._cost * total) or (processes := self._count()) == 1:
            return [list(tasks)]
        count = _SHARES * processes
        shares: list[list[Task]] = []
        before = 0
        for of_set, weight in sets:
            if before * count >= len(shares) * total:
                shares.append([])
            shares[-1] += of_set
            before += weight
        # A scalar of a larger set takes longer. So the largest sets come first.
        return shares[::-1]

    def _is_worth_it(self, entries: int) -> bool:
        if self._started:
            return entries >= _WORTH_A_CALL
        self._before += entries
        return self._before >= _WORTH_A_START

    def answer(
        self,
        copy: TesterCopy,
        shares: Sequence[Sequence[Task]],
        progress: Callable[[int], object] | None,
    ) -> tuple[dict[int, CITestResult], dict[str, str]]:
        """Answers shares of questions, each in one process.

        Args:
            copy: the tester as the processes shall have it.
            shares: the questions.
            progress: called with the number of questions answered since its last call.

        Returns:
            The results by the index of the question, and warnings by their kind.
        """
        import joblib

        self._started = True
        pickled = pickle.dumps(copy)
        name = hashlib.sha256(pickled).hexdigest()
        # As an array: joblib shares the memory of large ones.
        sent = np.frombuffer(pickled, dtype=np.uint8)
        answers = joblib.Parallel(n_jobs=self._n_jobs, return_as="generator")(
            joblib.delayed(_answer)(name, sent, share, os.getpid()) for share in shares
        )
        results: dict[int, CITestResult] = {}
        warnings: dict[str, str] = {}
        for share, (of_share, warned) in zip(shares, answers, strict=True):
            results.update((task.index, found) for task, found in zip(share, of_share, strict=True))
            warnings = warned | warnings
            if progress:
                progress(len(share))
        return results, warnings

    def _count(self) -> int:
        import joblib

        return joblib.effective_n_jobs(self._n_jobs)


def check_n_jobs(n_jobs: int | None) -> int | None:
    """Checks a number of processes.

    Raises:
        OptionError: it is not a whole number, or 0.
    """
    if n_jobs is None:
        return None
    expected = "a number of processes, or -1 for one per core"
    require(is_whole(n_jobs) and n_jobs != 0, "n_jobs", n_jobs, expected)
    return int(n_jobs)


# The copy that this process holds, by the hash of its pickle.
_HELD: dict[str, TesterCopy] = {}


def _answer(
    name: str, sent: NDArray[np.uint8], tasks: Sequence[Task], parent: int
) -> tuple[list[CITestResult], dict[str, str]]:
    """Answers a share in a process, which rebuilds the copy once for all of them."""
    end_with(parent)
    copy = _HELD.get(name)
    if copy is None:
        _HELD.clear()
        copy = _HELD[name] = pickle.loads(sent.data)
    return copy.answer_share(tasks)


def end_with(parent: int) -> None:
    """Ends this process soon after its parent, in case the parent is killed.

    Args:
        parent: the process that asked. Nothing is done if it did not start this process, as on a
            cluster.
    """
    if os.getppid() == parent:
        _watch(parent)


@lru_cache  # once a process
def _watch(parent: int) -> None:
    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
