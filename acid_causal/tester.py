"""The test itself: arrays in, p-values out.

A `Tester` holds one table. Questions are grouped by conditioning set; what a variable looks like
given a conditioning set is encoded once, kept within a bound of bytes, and shared by every question
that meets it.
"""

import hashlib
import json
import math
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import torch

from acid_causal.checkpoint import TrainedModel, load_model
from acid_causal.device import resolve_device
from acid_causal.encodings import Encodings, Rows, concatenate
from acid_causal.errors import AcidWarning, OptionError, unknown
from acid_causal.inputs import (
    MIN_SAMPLES,
    Columns,
    Question,
    Table,
    join_tables,
    normalise_question,
    read_table,
)
from acid_causal.null import NULLS, Facts

# Names of the options of `Tester`, for whoever passes them on.
OPTIONS = frozenset({"model", "device", "null", "missing", "cache_bytes", "batch_entries"})

# Above this share of explained variance a variable is a function of Z for all practical purposes.
_DETERMINISTIC = 1 - 1e-4


@dataclass(frozen=True)
class CITestResult:
    """The answer to one question.

    Attributes:
        statistic: the network's logit of dependence; -inf where nothing could depend.
        pvalue: chance of a statistic at least as large under H0, in [0, 1].
        log_pvalue: its logarithm, finite where the p-value underflows.
        probability: of dependence, under the training prior (the logistic of the statistic).
        n: rows that entered the test.
    """

    statistic: float
    pvalue: float
    log_pvalue: float
    probability: float
    n: int


_NOTHING_TO_TEST = CITestResult(-math.inf, 1.0, 0.0, 0.0, 0)


@dataclass(frozen=True)
class _Task:
    """A question about sets of columns, on the rows on which all of them are present."""

    x: Columns
    y: Columns
    cond: Columns
    # Columns with missing values among those of the question: they decide the rows.
    gaps: Columns


class Tester:
    """Answers conditional independence questions about one table.

    Args:
        data: array or DataFrame, samples by variables, (n, d); or a table read before.
        model: name of a shipped model, path of a weights file, or a loaded model.
        device: "auto" (a GPU where there is one), "cpu", "cuda", or any torch device.
        null: "conditional" or "pooled" (the paper's); see `acid_causal.null`.
        missing: "raise", or "drop" to leave out the rows that are incomplete in a test's columns.
        cache_bytes: bound on the encodings kept.
        batch_entries: scalars of data encoded at once; bounds memory, moves no result.

    Raises:
        InputError, InputTypeError: the table cannot be used; see `acid_causal.inputs.read_table`.
        OptionError: no such model, null, device or value.
        ModelError: the weights file is damaged.
    """

    def __init__(
        self,
        data: Any,
        *,
        model: str | Path | TrainedModel = "acid-base",
        device: str | torch.device = "auto",
        null: str = "conditional",
        missing: str = "raise",
        cache_bytes: int = 512 * 2**20,
        batch_entries: int = 32_768,
    ) -> None:
        if null not in NULLS:
            raise unknown("null", null, NULLS)
        if batch_entries < 1 or cache_bytes < 0:
            raise OptionError("batch_entries must be positive and cache_bytes not negative")
        table = data if isinstance(data, Table) else read_table(data, missing=missing)
        self._values, self._absent = table.values, table.absent
        self.columns = list(table.columns)
        self.n, self.d = table.values.shape
        self.model = model if isinstance(model, TrainedModel) else load_model(model)
        self.null = null
        self.device = resolve_device(device)
        self._network = self.model.network.to(self.device).eval()
        self._cache_bytes, self._batch_entries = cache_bytes, batch_entries
        self._encodings = Encodings(self._network, cache_bytes, batch_entries)
        self._rows: dict[Columns, Rows] = {}
        self._warned: set[str] = set()
        self._lock = threading.RLock()

    @property
    def fingerprint(self) -> str:
        """A hash over all that decides the p-values: data, weights and options."""
        digest = hashlib.sha256()
        digest.update(json.dumps([self.n, self.d, self.null, self.model.sha256]).encode())
        digest.update(np.ascontiguousarray(self._values).tobytes())
        return digest.hexdigest()

    def test(
        self, i: SupportsIndex, j: SupportsIndex, cond: Iterable[SupportsIndex] = ()
    ) -> CITestResult:
        """Tests whether columns i and j are independent given the columns in cond.

        Raises:
            InputError, InputTypeError: indices that make no question.
        """
        x, y, z = normalise_question(i, j, cond, self.d)
        return self._answer([self._task((x,), (y,), z)], None)[0]

    def test_many(
        self,
        questions: Sequence[Question],
        progress: Callable[[int], object] | None = None,
    ) -> list[CITestResult]:
        """Answers many questions in as few batches as memory allows.

        Args:
            questions: triples (i, j, conditioning set), in any mix.
            progress: called with the number of questions answered since its last call.

        Returns:
            The results, in the order of the questions.

        Raises:
            InputError, InputTypeError: indices that make no question.
        """
        tasks = []
        for i, j, cond in questions:
            x, y, z = normalise_question(i, j, cond, self.d)
            tasks.append(self._task((x,), (y,), z))
        return self._answer(tasks, progress)

    def test_sets(self, x: Columns, y: Columns, cond: Columns = ()) -> CITestResult:
        """Tests sets of columns, which must be valid and disjoint."""
        return self._answer([self._task(x, y, cond)], None)[0]

    # ---- from questions to batches ----------------------------------------------

    def _task(self, x: Columns, y: Columns, cond: Columns) -> _Task:
        gaps: Columns = ()
        if self._absent is not None:
            involved = sorted({*x, *y, *cond})
            gaps = tuple(k for k in involved if self._absent[:, k].any())
        return _Task(x, y, cond, gaps)

    def _answer(
        self, tasks: list[_Task], progress: Callable[[int], object] | None
    ) -> list[CITestResult]:
        results: dict[int, CITestResult] = {}
        with self._lock, torch.inference_mode():
            ready: dict[Columns, list[tuple[int, _Task]]] = defaultdict(list)
            for number, task in enumerate(tasks):
                rows = self._rows_of(task.gaps)
                reduced = self._reduce(task, rows)
                if reduced is None:
                    results[number] = _NOTHING_TO_TEST
                else:
                    ready[task.gaps].append((number, reduced))
            if progress and results:
                progress(len(results))
            for gaps, numbered in ready.items():
                rows = self._rows_of(gaps)
                for chunk in self._chunks(numbered, rows.n):
                    answers = self._answer_chunk([task for _, task in chunk], rows)
                    results.update(zip((k for k, _ in chunk), answers, strict=True))
                    if progress:
                        progress(len(chunk))
        return [results[k] for k in range(len(tasks))]

    def _reduce(self, task: _Task, rows: Rows) -> _Task | None:
        """Drops constant columns; None if the question is answered already: independent."""
        if rows.n < MIN_SAMPLES:
            self._warn("few rows", f"only {rows.n} complete rows for {self._names(task)}: p = 1")
            return None
        x, y, cond = (
            tuple(k for k in part if not rows.constant[k]) for part in (task.x, task.y, task.cond)
        )
        if not x or not y:
            dull = [self.columns[k] for k in (*task.x, *task.y) if rows.constant[k]]
            self._warn(
                "constant",
                f"constant columns are independent of everything (p = 1): {', '.join(dull)}",
            )
            return None
        self._warn_if_unlike_training(rows.n, len(cond))
        return _Task(x, y, cond, task.gaps)

    def _chunks(
        self, numbered: list[tuple[int, _Task]], n: int
    ) -> Iterator[list[tuple[int, _Task]]]:
        """Splits questions on the same rows into batches: one size of S, whole sets together."""
        by_set: dict[Columns, list[tuple[int, _Task]]] = defaultdict(list)
        for item in numbered:
            by_set[item[1].cond].append(item)
        for size, group in groupby(sorted(by_set, key=lambda s: (len(s), s)), key=len):
            chunk: list[tuple[int, _Task]] = []
            entries = 0
            for cond in group:
                asked = by_set[cond]
                targets = {t for _, task in asked for t in (task.x, task.y)}
                weight = n * (size + sum(map(len, targets)))
                if chunk and entries + weight > self._batch_entries:
                    yield chunk
                    chunk, entries = [], 0
                chunk.extend(asked)
                entries += weight
            yield chunk

    # ---- from batches to p-values -----------------------------------------------

    def _answer_chunk(self, tasks: list[_Task], rows: Rows) -> list[CITestResult]:
        """Answers questions that share their rows and the size of their conditioning set."""
        wanted = [(task.cond, part) for task in tasks for part in (task.x, task.y)]
        encoded = self._encodings.encode(wanted, rows)
        statistic, explained = np.empty(len(tasks)), np.empty((2, len(tasks)))
        for members in self._comparable(tasks, rows.n):
            x = concatenate([encoded[tasks[k].cond, tasks[k].x] for k in members])
            y = concatenate([encoded[tasks[k].cond, tasks[k].y] for k in members])
            statistic[members] = self._network.score(x, y).double().cpu().numpy()
            explained[0, members] = x.explained.double().cpu().numpy()
            explained[1, members] = y.explained.double().cpu().numpy()
        facts = Facts(
            n=np.full(len(tasks), float(rows.n)),
            d_z=np.array([float(len(task.cond)) for task in tasks]),
            explained_x=explained[0],
            explained_y=explained[1],
            pairs=np.array([float(len(task.x) * len(task.y)) for task in tasks]),
        )
        log_p = self.model.null.logsf(statistic, facts, self.null)
        results = []
        for k, task in enumerate(tasks):
            if task.cond and explained[:, k].max() > _DETERMINISTIC:
                self._warn(
                    "deterministic",
                    f"a deterministic relation in {self._names(task)}: the conditioning set "
                    "determines a tested variable; nothing is left to depend on, p = 1",
                )
                results.append(replace(_NOTHING_TO_TEST, n=rows.n))
            else:
                results.append(_result(float(statistic[k]), float(log_p[k]), rows.n))
        return results

    def _comparable(self, tasks: list[_Task], n: int) -> Iterator[list[int]]:
        """Groups questions of equal widths, no more at once than memory is meant to hold."""

        def widths(k: int) -> tuple[int, int]:
            return len(tasks[k].x), len(tasks[k].y)

        for (d_x, d_y), alike in groupby(sorted(range(len(tasks)), key=widths), key=widths):
            members = list(alike)
            # Two targets are copied for each question.
            step = max(1, self._batch_entries // (n * (d_x + d_y)))
            for start in range(0, len(members), step):
                yield members[start : start + step]

    # ---- rows and warnings ------------------------------------------------------

    def _rows_of(self, gaps: Columns) -> Rows:
        if gaps not in self._rows:
            values = self._values
            if gaps and self._absent is not None:
                values = values[~self._absent[:, list(gaps)].any(axis=1)]
            # Few sets of rows are ever in use; many would mean many copies of the table.
            if len(self._rows) > 64:
                self._rows.clear()
            self._rows[gaps] = Rows(values, gaps, self._network, self.device)
        return self._rows[gaps]

    def _warn_if_unlike_training(self, n: int, d_z: int) -> None:
        stream = self.model.recipe.stream
        if n < stream.n[0]:
            self._warn(
                "small n",
                f"{n} samples are fewer than the {stream.n[0]} that {self.model.name} was trained "
                "on: its p-values are extrapolated",
            )
        if d_z > stream.d_z[1]:
            self._warn(
                "large S",
                f"|S| = {d_z} is larger than the {stream.d_z[1]} that {self.model.name} was "
                "trained on: its null distribution is extrapolated",
            )

    def _warn(self, key: str, message: str) -> None:
        """Warns once a tester for each kind of trouble."""
        if key not in self._warned:
            self._warned.add(key)
            warnings.warn(message, AcidWarning, stacklevel=2)

    def _names(self, task: _Task) -> str:
        tested = ", ".join(self.columns[k] for k in (*task.x, *task.y))
        return f"({tested} | {', '.join(self.columns[k] for k in task.cond)})"

    def __getstate__(self) -> dict[str, Any]:
        """Leaves the lock and what can be computed again behind."""
        return self.__dict__ | {"_lock": None, "_encodings": None, "_rows": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
        self._encodings = Encodings(self._network, self._cache_bytes, self._batch_entries)


def ci_test(
    x: Any,
    y: Any,
    z: Any = None,
    *,
    model: str | Path | TrainedModel = "acid-base",
    device: str | torch.device = "auto",
    null: str = "conditional",
    missing: str = "raise",
) -> CITestResult:
    """Tests whether X and Y are independent given Z, each of one or several components.

    Args:
        x: array or DataFrame (n,) or (n, d_x).
        y: (n,) or (n, d_y).
        z: (n,) or (n, d_z); None or d_z = 0 tests marginal independence.
        model: name of a shipped model, path of a weights file, or a loaded model.
        device: "auto", "cpu", "cuda", or any torch device.
        null: "conditional" or "pooled".
        missing: "raise", or "drop" to leave out incomplete rows.

    Returns:
        The statistic (logit), the p-value and the probability of dependence.

    Raises:
        InputError, InputTypeError: arrays that cannot be used.
        OptionError, ModelError: see `Tester`.

    References:
        Duong, Hoang, Nguyen (2025), Amortized Conditional Independence Testing.
    """
    table, (of_x, of_y, of_z) = join_tables(x, y, z, missing=missing)
    tester = Tester(table, model=model, device=device, null=null, missing=missing)
    return tester.test_sets(of_x, of_y, of_z)


def _result(statistic: float, log_p: float, n: int) -> CITestResult:
    probability = 1 / (1 + math.exp(-max(min(statistic, 500.0), -500.0)))
    pvalue = min(max(math.exp(log_p), 0.0), 1.0)
    return CITestResult(statistic, pvalue, log_p, probability, n)
