"""The test itself: arrays in, p-values out.

A `Tester` holds one table. Questions are grouped by conditioning set; what a variable looks like
given a conditioning set is encoded once, kept within a bound of bytes, and shared by every question
that meets it.
"""

import copy
import hashlib
import json
import math
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import torch

from acid_causal.batching import Task, by_conditioning_set, by_width
from acid_causal.checkpoint import TrainedModel, load_model
from acid_causal.device import resolve_device, same_device
from acid_causal.encodings import Encodings, Pair, Rows, concatenate
from acid_causal.errors import ModelError, OptionError, unknown, warn
from acid_causal.inputs import (
    MIN_SAMPLES,
    Columns,
    Question,
    Table,
    join_tables,
    normalise_question,
    read_question,
    read_table,
)
from acid_causal.model import TargetEncoding
from acid_causal.null import NULLS, Facts

# Names of the options of `Tester`, for whoever passes them on.
OPTIONS = frozenset({"model", "device", "null", "missing", "cache_bytes", "batch_entries"})


@dataclass(frozen=True)
class CITestResult:
    """The answer to one question.

    Attributes:
        statistic: the network's logit of dependence; -inf where nothing could depend.
        pvalue: chance of a statistic at least as large under H0, in [0, 1].
        log_pvalue: its logarithm, finite where the p-value underflows.
        probability: of dependence where it is as common as independence: the statistic's logistic.
        n: rows that entered the test.
    """

    statistic: float
    pvalue: float
    log_pvalue: float
    probability: float
    n: int


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
        self._table = table
        self.columns = list(table.columns)
        self.n, self.d = table.values.shape
        self.model = model if isinstance(model, TrainedModel) else load_model(model)
        self.null = null
        self.device = resolve_device(device)
        # Testers on several devices may share a model: each takes a copy where it must move it.
        network = self.model.network
        if not same_device(network.device, self.device):
            network = copy.deepcopy(network).to(self.device)
        self._network = network.eval()
        self._cache_bytes, self._batch_entries = cache_bytes, batch_entries
        self._encodings = Encodings(self._network, cache_bytes, batch_entries)
        self._all_rows = Rows(table, (), self._network)
        self._warned: set[str] = set()
        self._lock = threading.RLock()

    @property
    def fingerprint(self) -> str:
        """A hash over all that decides the p-values: data, weights and options."""
        digest = hashlib.sha256()
        digest.update(json.dumps([self.n, self.d, self.null, self.model.sha256]).encode())
        digest.update(np.ascontiguousarray(self._table.values).tobytes())
        return digest.hexdigest()

    def test(
        self, i: SupportsIndex, j: SupportsIndex, cond: Iterable[SupportsIndex] = ()
    ) -> CITestResult:
        """Tests whether columns i and j are independent given the columns in cond.

        Raises:
            InputError, InputTypeError: indices that make no question.
        """
        x, y, z = normalise_question(i, j, cond, self.d)
        return self._test_sets((x,), (y,), z)

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
        for number, question in enumerate(questions):
            x, y, z = read_question(question, self.d)
            tasks.append(Task(number, (x,), (y,), z))
        return self._answer(tasks, progress)

    def _test_sets(self, x: Columns, y: Columns, cond: Columns = ()) -> CITestResult:
        """Tests sets of columns, which must be valid, sorted and disjoint."""
        return self._answer([Task(0, x, y, cond)], None)[0]

    # ---- from questions to batches ----------------------------------------------

    def _answer(
        self, tasks: Sequence[Task], progress: Callable[[int], object] | None
    ) -> list[CITestResult]:
        results: dict[int, CITestResult] = {}
        with self._lock, torch.inference_mode():
            for gaps, group in self._by_gaps(tasks).items():
                rows = Rows(self._table, gaps, self._network) if gaps else self._all_rows
                ready = []
                for task in group:
                    reduced = self._without_constants(task, rows)
                    if reduced is None:
                        results[task.number] = _independent(rows.n)
                    else:
                        ready.append(reduced)
                if progress and len(ready) < len(group):
                    progress(len(group) - len(ready))
                for batch in by_conditioning_set(ready, rows.n, self._batch_entries):
                    results.update(self._answer_batch(batch, rows))
                    if progress:
                        progress(len(batch))
        return [results[task.number] for task in tasks]

    def _by_gaps(self, tasks: Sequence[Task]) -> dict[Columns, list[Task]]:
        """Groups tasks by those of their columns that have missing values, and so by their rows."""
        absent = self._table.absent
        if absent is None:
            return {(): list(tasks)}
        with_gaps = set(np.flatnonzero(absent.any(axis=0)).tolist())
        groups: dict[Columns, list[Task]] = defaultdict(list)
        for task in tasks:
            groups[tuple(sorted(with_gaps & {*task.x, *task.y, *task.cond}))].append(task)
        return groups

    def _without_constants(self, task: Task, rows: Rows) -> Task | None:
        """Drops constant columns; None if the question is answered already: independent."""
        if rows.n < MIN_SAMPLES:
            self._warn("rows", f"only {rows.n} complete rows for {self._names(task)}: p = 1")
            return None
        x, y, cond = (
            tuple(k for k in part if not rows.is_constant(k))
            for part in (task.x, task.y, task.cond)
        )
        if not x or not y:
            names = [self.columns[k] for k in (*task.x, *task.y) if rows.is_constant(k)]
            self._warn(
                "constant",
                f"constant columns are independent of everything (p = 1): {', '.join(names)}",
            )
            return None
        self._warn_if_unlike_training(rows.n, len(cond))
        return replace(task, x=x, y=y, cond=cond)

    # ---- from batches to p-values -----------------------------------------------

    def _answer_batch(self, tasks: list[Task], rows: Rows) -> dict[int, CITestResult]:
        """Answers questions that share their rows and the size of their conditioning set."""
        wanted = [(task.cond, part) for task in tasks for part in (task.x, task.y)]
        encoded = self._encodings.encode(wanted, rows)
        results, clear, reduced = {}, [], []
        for task in tasks:
            x, y = (self._undetermined(part, encoded[task.cond, part]) for part in (task.x, task.y))
            if (x, y) == (task.x, task.y):
                clear.append(task)
                continue
            self._warn(
                "deterministic",
                f"a deterministic relation in {self._names(task)}: where the conditioning set "
                "determines a tested variable nothing is left to depend on, p = 1",
            )
            if x and y:
                reduced.append(replace(task, x=x, y=y))
            else:
                results[task.number] = _independent(rows.n)
        for batch in by_width(clear, rows.n, self._batch_entries):
            results.update(self._compare(batch, encoded, rows.n))
        if reduced:
            results.update(self._answer_batch(reduced, rows))
        return results

    @staticmethod
    def _undetermined(columns: Columns, encoding: TargetEncoding) -> Columns:
        """Returns the components that are not functions of the conditioning set."""
        determined = encoding.determined[0].tolist()
        return tuple(k for k, known in zip(columns, determined, strict=True) if not known)

    def _compare(
        self, tasks: list[Task], encoded: Mapping[Pair, TargetEncoding], n: int
    ) -> Iterator[tuple[int, CITestResult]]:
        """Answers questions of equal widths whose variables are encoded."""
        x = concatenate([encoded[task.cond, task.x] for task in tasks])
        y = concatenate([encoded[task.cond, task.y] for task in tasks])
        statistic = self._network.score(x, y).double().cpu().numpy()
        ones = np.ones(len(tasks))
        facts = Facts(
            n=n * ones,
            d_z=len(tasks[0].cond) * ones,
            explained_x=x.explained.amax(dim=1).double().cpu().numpy(),
            explained_y=y.explained.amax(dim=1).double().cpu().numpy(),
            pairs=len(tasks[0].x) * len(tasks[0].y) * ones,
        )
        log_p = self.model.null.logsf(statistic, facts, self.null)
        for task, value, log_pvalue in zip(tasks, statistic.tolist(), log_p.tolist(), strict=True):
            if not (math.isfinite(value) and log_pvalue <= 0):
                raise ModelError(
                    f"{self.model.name} gave the statistic {value} and the log p-value "
                    f"{log_pvalue} for {self._names(task)}: its weights or its null are damaged"
                )
            probability = 1 / (1 + math.exp(-max(min(value, 500.0), -500.0)))
            yield task.number, CITestResult(value, math.exp(log_pvalue), log_pvalue, probability, n)

    # ---- warnings and copies ----------------------------------------------------

    def _warn_if_unlike_training(self, n: int, d_z: int) -> None:
        model, smallest = self.model, self.model.recipe.stream.n[0]
        if n < smallest:
            self._warn(
                "few samples",
                f"{n} samples are fewer than the {smallest} that {model.name} was trained on: its "
                "p-values are extrapolated",
            )
        if n > model.null.largest_n:
            self._warn(
                "many samples",
                f"{n} samples are more than the {model.null.largest_n} that the null distribution "
                f"of {model.name} was fitted on: its p-values are extrapolated",
            )
        if d_z > model.null.largest_d_z:
            self._warn(
                "large set",
                f"|S| = {d_z} is larger than the {model.null.largest_d_z} that the null "
                f"distribution of {model.name} was fitted on: its p-values are extrapolated",
            )

    def _warn(self, kind: str, message: str) -> None:
        """Warns once a tester for each kind of trouble."""
        if kind not in self._warned:
            self._warned.add(kind)
            warn(message)

    def _names(self, task: Task) -> str:
        tested = ", ".join(self.columns[k] for k in (*task.x, *task.y))
        return f"({tested} | {', '.join(self.columns[k] for k in task.cond)})"

    def __getstate__(self) -> dict[str, Any]:
        """Leaves the lock and what can be computed again behind."""
        return self.__dict__ | {"_lock": None, "_encodings": None, "_all_rows": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
        self._encodings = Encodings(self._network, self._cache_bytes, self._batch_entries)
        self._all_rows = Rows(self._table, (), self._network)


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
    return tester._test_sets(of_x, of_y, of_z)


def _independent(n: int) -> CITestResult:
    """The answer where nothing could depend."""
    return CITestResult(-math.inf, 1.0, 0.0, 0.0, n)
