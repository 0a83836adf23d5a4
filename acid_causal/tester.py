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
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from acid_causal.checkpoint import TrainedModel, load_model
from acid_causal.device import resolve_device
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
from acid_causal.model import TargetEncoding
from acid_causal.null import NULLS, Facts

Array = NDArray[np.float64]

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
        self._batch_entries = batch_entries
        self._encodings = _ByteBoundedCache(cache_bytes)
        self._rows: dict[Columns, _Rows] = {}
        self._warned: set[str] = set()
        self._lock = threading.RLock()

    @property
    def fingerprint(self) -> str:
        """A hash over all that decides the p-values: data, weights and options."""
        digest = hashlib.sha256()
        digest.update(json.dumps([self.n, self.d, self.null, self.model.sha256]).encode())
        digest.update(np.ascontiguousarray(self._values).tobytes())
        return digest.hexdigest()

    def test(self, i: int, j: int, cond: Sequence[int] = ()) -> CITestResult:
        """Tests whether columns i and j are independent given the columns in cond.

        Raises:
            InputError, InputTypeError: indices that make no question.
        """
        return self.test_many([(i, j, tuple(cond))])[0]

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
                for chunk in self._chunks(numbered, self._rows_of(gaps).n):
                    answers = self._answer_chunk([task for _, task in chunk])
                    results.update(zip((k for k, _ in chunk), answers, strict=True))
                    if progress:
                        progress(len(chunk))
        return [results[k] for k in range(len(tasks))]

    def _reduce(self, task: _Task, rows: "_Rows") -> _Task | None:
        """Drops constant columns; None if the question is answered already: independent."""
        if rows.n < MIN_SAMPLES:
            self._warn(
                f"only {rows.n} complete rows for the columns {self._names(task)}: p = 1",
                key="few rows",
            )
            return None
        x, y, cond = (
            tuple(k for k in part if not rows.constant[k]) for part in (task.x, task.y, task.cond)
        )
        if not x or not y:
            dull = [self.columns[k] for k in (*task.x, *task.y) if rows.constant[k]]
            self._warn(
                f"constant columns are independent of everything (p = 1): {', '.join(dull)}",
                key="constant",
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

    def _answer_chunk(self, tasks: list[_Task]) -> list[CITestResult]:
        """Answers questions that share their rows and the size of their conditioning set."""
        encoded = self._encode(tasks)
        statistic = np.empty(len(tasks))
        explained = np.empty((2, len(tasks)))
        n = self._rows_of(tasks[0].gaps).n
        # Comparing costs about as much memory for each pair as encoding it did.
        order = sorted(range(len(tasks)), key=lambda k: (len(tasks[k].x), len(tasks[k].y)))
        for _, same_width in groupby(order, key=lambda k: (len(tasks[k].x), len(tasks[k].y))):
            members = list(same_width)
            width = len(tasks[members[0]].x) * len(tasks[members[0]].y)
            step = max(1, self._batch_entries // (4 * n * width))
            for start in range(0, len(members), step):
                part = members[start : start + step]
                x = _stack([encoded[tasks[k].cond, tasks[k].x] for k in part])
                y = _stack([encoded[tasks[k].cond, tasks[k].y] for k in part])
                statistic[part] = self._network.score(x, y).double().cpu().numpy()
                explained[0, part] = x.explained.double().cpu().numpy()
                explained[1, part] = y.explained.double().cpu().numpy()
        facts = Facts(
            n=np.full(len(tasks), float(n)),
            d_z=np.array([float(len(task.cond)) for task in tasks]),
            explained_x=explained[0],
            explained_y=explained[1],
            pairs=np.array([float(len(task.x) * len(task.y)) for task in tasks]),
        )
        log_p = self.model.null.logsf(statistic, facts, self.null)
        return [
            self._result(task, *numbers, n)
            for task, *numbers in zip(tasks, statistic, log_p, explained.max(axis=0), strict=True)
        ]

    def _result(
        self, task: _Task, statistic: float, log_p: float, explained: float, n: int
    ) -> CITestResult:
        if task.cond and explained > _DETERMINISTIC:
            self._warn(
                "a deterministic relation: the conditioning set determines a tested variable "
                f"among {self._names(task)}; nothing is left to depend on, p = 1",
                key="deterministic",
            )
            return CITestResult(-math.inf, 1.0, 0.0, 0.0, n)
        probability = 1 / (1 + math.exp(-max(min(statistic, 500.0), -500.0)))
        pvalue = min(max(math.exp(log_p), 0.0), 1.0)
        return CITestResult(float(statistic), pvalue, float(log_p), probability, n)

    def _encode(self, tasks: list[_Task]) -> dict[tuple[Columns, Columns], TargetEncoding]:
        """Looks up or computes the encoding of every (conditioning set, target) of the questions."""
        gaps = tasks[0].gaps
        rows = self._rows_of(gaps)
        encoded: dict[tuple[Columns, Columns], TargetEncoding] = {}
        # Sets that lack equally many targets, of equally many columns, go through in one batch.
        batches: dict[tuple[int, int], list[tuple[Columns, list[Columns]]]] = defaultdict(list)
        wanted: dict[Columns, dict[Columns, None]] = defaultdict(dict)
        for task in tasks:
            wanted[task.cond].update({task.x: None, task.y: None})
        for cond, targets in wanted.items():
            absent: dict[int, list[Columns]] = defaultdict(list)
            for target in targets:
                found = self._encodings.get((gaps, cond, target))
                if found is None:
                    absent[len(target)].append(target)
                else:
                    encoded[cond, target] = found
            for width, lacking in absent.items():
                batches[width, len(lacking)].append((cond, lacking))
        for (width, count), members in batches.items():
            step = max(1, self._batch_entries // (rows.n * (len(members[0][0]) + width * count)))
            for start in range(0, len(members), step):
                part = members[start : start + step]
                z = torch.stack([rows.transformed[:, list(cond)] for cond, _ in part])
                x = torch.stack(
                    [
                        torch.stack([rows.transformed[:, list(target)] for target in lacking])
                        for _, lacking in part
                    ]
                )
                result = self._network.encode_targets(x, self._network.encode_conditioning(z))
                keys = [(cond, target) for cond, lacking in part for target in lacking]
                for k, (cond, target) in enumerate(keys):
                    # A copy of its own, so that dropping it later frees its memory.
                    one = result[torch.tensor([k], device=self.device)]
                    encoded[cond, target] = one
                    self._encodings.put((gaps, cond, target), one, one.features.nbytes)
        return encoded

    # ---- rows and warnings ------------------------------------------------------

    def _rows_of(self, gaps: Columns) -> "_Rows":
        if gaps not in self._rows:
            values = self._values
            if gaps and self._absent is not None:
                values = values[~self._absent[:, list(gaps)].any(axis=1)]
            # Few sets of rows are ever in use; many would mean many copies of the table.
            if len(self._rows) > 64:
                self._rows.clear()
            self._rows[gaps] = _Rows(values, self._network.transform, self.device)
        return self._rows[gaps]

    def _warn_if_unlike_training(self, n: int, d_z: int) -> None:
        stream = self.model.recipe.stream
        if n < stream.n[0]:
            self._warn(
                f"{n} samples are fewer than the {stream.n[0]} that {self.model.name} was trained "
                "on: its p-values are extrapolated",
                key="small n",
            )
        if d_z > stream.d_z[1]:
            self._warn(
                f"|S| = {d_z} is larger than the {stream.d_z[1]} that {self.model.name} was "
                "trained on: its null distribution is extrapolated",
                key="large S",
            )

    def _warn(self, message: str, *, key: str) -> None:
        """Warns once a tester for each kind of trouble."""
        if key not in self._warned:
            self._warned.add(key)
            warnings.warn(message, AcidWarning, stacklevel=2)

    def _names(self, task: _Task) -> str:
        tested = ", ".join(self.columns[k] for k in (*task.x, *task.y))
        return f"({tested} | {', '.join(self.columns[k] for k in task.cond)})"

    def __getstate__(self) -> dict[str, Any]:
        """Leaves the lock and what can be computed again behind."""
        state = self.__dict__.copy()
        state["_lock"] = None
        state["_encodings"] = _ByteBoundedCache(self._encodings.limit)
        state["_rows"] = {}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


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


# ---- pieces ------------------------------------------------------------------------


class _Rows:
    """The rows of one set of tests: which columns are constant there, and all of them transformed."""

    def __init__(
        self,
        values: Float[Array, "n d"],
        transform: Callable[[Tensor], Tensor],
        device: torch.device,
    ) -> None:
        self.n = len(values)
        if self.n < MIN_SAMPLES:
            return
        self.constant = np.fmax.reduce(values, axis=0) == np.fmin.reduce(values, axis=0)
        # Ranks of NaN mean nothing, and no test on these rows reads them.
        self.transformed = transform(torch.from_numpy(values)[None])[0].float().to(device)


class _ByteBoundedCache:
    """Keeps what was used last, up to a number of bytes."""

    def __init__(self, limit: int) -> None:
        self.limit, self._bytes = limit, 0
        self._items: OrderedDict[Any, tuple[TargetEncoding, int]] = OrderedDict()

    def get(self, key: Any) -> TargetEncoding | None:
        if key not in self._items:
            return None
        self._items.move_to_end(key)
        return self._items[key][0]

    def put(self, key: Any, value: TargetEncoding, size: int) -> None:
        if key in self._items:
            self._bytes -= self._items.pop(key)[1]
        self._items[key] = (value, size)
        self._bytes += size
        while self._bytes > self.limit:
            self._bytes -= self._items.popitem(last=False)[1][1]


def _stack(encodings: list[TargetEncoding]) -> TargetEncoding:
    return TargetEncoding(
        torch.cat([e.features for e in encodings]),
        torch.cat([e.spread for e in encodings]),
        torch.cat([e.explained for e in encodings]),
        encodings[0].d_z,
    )
