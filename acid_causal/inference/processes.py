"""Divides questions among processes, through joblib.

A process answers all questions about some of the conditioning sets, so that what is computed for a
set is shared as within one process. Its copy of the tester stays there for the next questions.
"""

import os
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

from acid_causal.inference.batching import Task, weigh
from acid_causal.inference.result import CITestResult

# Scalars to encode (some 10 microseconds each) that are worth starting processes, whose imports
# take seconds; and those that are worth a call of processes that have been started.
_WORTH_A_START, _WORTH_A_CALL = 500_000, 50_000
# Limit of a process's cache of encodings: joblib ends processes that grow by 300 MB.
CACHE_BYTES = 64 * 2**20
# Shares for each process, so that none waits long for the last one to end.
_SHARES = 4


class Copy(Protocol):
    """A tester's copy in another process."""

    def answer_share(self, tasks: Sequence[Task]) -> tuple[list[CITestResult], dict[str, str]]:
        """Answers questions.

        Returns:
            The results in the order of the questions, and warnings by their kind.
        """


class Processes:
    """Answers questions in several processes.

    Args:
        n_jobs: number of processes, as in joblib: -1 for one per core.
    """

    def __init__(self, n_jobs: int) -> None:
        self._n_jobs = n_jobs
        self._started = False

    def divide(
        self, tasks: Sequence[Task], n: int, width: Callable[[int], int]
    ) -> list[list[Task]]:
        """Divides questions into shares; into one where several processes would save no time.

        Args:
            tasks: the questions.
            n: number of rows.
            width: number of columns that the network reads for a column.
        """
        if self._n_jobs == 1 or len(tasks) == 1:
            return [list(tasks)]
        sets = weigh(tasks, n, width)
        total = sum(weight for _, weight in sets)
        if total < (_WORTH_A_CALL if self._started else _WORTH_A_START):
            return [list(tasks)]
        count = _SHARES * self._count()
        shares: list[list[Task]] = []
        before = 0
        for of_set, weight in sets:
            if before * count >= len(shares) * total:
                shares.append([])
            shares[-1] += of_set
            before += weight
        # A scalar of a larger set takes longer. So the largest sets come first.
        return shares[::-1]

    def answer(
        self, copy: Copy, shares: Sequence[Sequence[Task]], progress: Callable[[int], object] | None
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
        sent = pickle.dumps(copy)
        answers = joblib.Parallel(n_jobs=self._n_jobs, return_as="generator")(
            joblib.delayed(_answer)(sent, share, os.getpid()) for share in shares
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


def _answer(
    sent: bytes, tasks: Sequence[Task], parent: int
) -> tuple[list[CITestResult], dict[str, str]]:
    end_with(parent)
    return _received(sent).answer_share(tasks)


@lru_cache(1)
def _received(sent: bytes) -> Copy:
    """Rebuilds the copy once for all shares that this process answers."""
    copy: Copy = pickle.loads(sent)
    return copy


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
