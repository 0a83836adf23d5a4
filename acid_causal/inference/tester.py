"""The test itself: arrays in, p-values out.

A `Tester` holds one table. Questions are grouped by conditioning set. The encoding of a variable
given a conditioning set is computed once, cached up to a number of bytes, and shared by all
questions that need it.
"""

import hashlib
import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import torch

from acid_causal.compute.device import resolve_device
from acid_causal.compute.settings import answering_settings
from acid_causal.errors import (
    KeptNotices,
    ModelError,
    Notices,
    check_level,
    unknown,
    whole_number,
)
from acid_causal.inference.batching import Task, by_conditioning_set, named, require_room
from acid_causal.inference.degenerate import Refusal, without_constants
from acid_causal.inference.engine import Engine
from acid_causal.inference.nulls.factory import make_null
from acid_causal.inference.nulls.permutation import FEWEST
from acid_causal.inference.processes import CACHE_BYTES, Processes, check_n_jobs
from acid_causal.inference.result import (
    CITestResult as CITestResult,  # a public name of this module, too
)
from acid_causal.inference.result import independent_result
from acid_causal.inference.rows.rows import Rows
from acid_causal.options import defaults
from acid_causal.options.choices import NULLS
from acid_causal.tables.column_types import Ordered, Selection
from acid_causal.tables.inputs import (
    Columns,
    Question,
    as_table,
    join_tables,
    normalise_question,
    normalise_sets,
    read_question,
)
from acid_causal.weights.checkpoint import TrainedModel
from acid_causal.weights.shared import network_on, shared_model
from acid_causal.weights.shipped import available_models

# Names of the options of `Tester`, for callers that pass them on.
OPTIONS = frozenset(
    {
        "model",
        "device",
        "null",
        "permutations",
        "alpha",
        "draws",
        "missing",
        "categorical",
        "ordered",
        "cache_bytes",
        "batch_entries",
        "n_jobs",
    }
)

# Part of the fingerprint: raise it with any change of p-values, so that old caches are refused.
ALGORITHM = 7


class Tester:
    """Answers conditional independence questions about one table.

    How it works: questions are grouped by conditioning set. Each variable is encoded once given
    each set, and the encoding is cached for all questions that need it. All pairs given a set are
    then compared in one product, and the null turns their statistics into p-values.

    Limitations: those of `ci_test`. Time and memory grow with the rows: a question about 1,000,000
    rows given five variables takes a minute or more of one core, and 2 GiB.

    Args:
        data: array or DataFrame, samples by variables, (n, d); or a table read before.
        model: name of a shipped model, path of a weights file, or a loaded model.
        device: "auto" (a GPU where there is one), "cpu", "cuda", or any torch device.
        null: "conditional", "sized" or "pooled" (the paper's), see
            `acid_causal.calibration.null`; "permutation", drawn from the data themselves, much
            slower, for data unlike those of training; or "checked", the model's default null whose
            rejections are checked by permutation. None: the default of the model's file,
            "conditional" for `acid-base`.
        permutations: draws of the permutation null for each question, 19 or more: the smallest
            p-value is 1 / (1 + permutations).
        alpha: the level at which you decide. Draws of the checked null stop when the decision at
            this level is clear, so that smaller levels may find nothing; of the permutation null
            there must be enough to reach it. Fitted nulls ignore it.
        draws: most draws of the checked null for each question, 1 / alpha - 1 or more; None:
            10 / alpha - 1, which is 199 at alpha = .05.
        missing: "raise", or "drop" to leave out the rows that are incomplete in a test's columns.
        categorical: columns whose values are unordered categories whatever their type, as integer
            codes are, by names or indices; those of texts are without being named. See
            `acid_causal.tables.inputs.read_table`.
        ordered: columns to be ranked; see there.
        cache_bytes: limit of the cache of encodings. Encodings of one batch are kept or dropped
            together, so that a limit below the size of a batch keeps none.
        batch_entries: bound on the scalars encoded at once; it limits memory and has no effect on
            results.
        n_jobs: number of processes that share the questions of `test_many`, as in joblib: -1 for
            one per core, None for one. They are started when the questions so far would have been
            worth it, after some five seconds of tests. Each loads torch, and caches up to 64 MB. On
            a GPU one process answers all.
        notices: warnings given so far, also by other testers; None: none.

    Raises:
        InputError, InputTypeError: the table cannot be used; see
            `acid_causal.tables.inputs.read_table`.
        OptionError: no such model, null, device or value.
        ModelError: the weights file is damaged.
    """

    def __init__(
        self,
        data: Any,
        *,
        model: str | Path | TrainedModel = defaults.MODEL,
        device: str | torch.device = defaults.DEVICE,
        null: str | None = None,
        permutations: int = defaults.PERMUTATIONS,
        alpha: float = defaults.ALPHA,
        draws: int | None = None,
        missing: str = defaults.MISSING,
        categorical: Selection = (),
        ordered: Ordered = (),
        cache_bytes: int = 512 * 2**20,
        batch_entries: int = 32_768,
        n_jobs: int | None = None,
        notices: Notices | None = None,
    ) -> None:
        if null is not None and null not in NULLS:
            raise unknown("null", null, NULLS)
        cache_bytes = whole_number("cache_bytes", cache_bytes, 0)
        batch_entries = whole_number("batch_entries", batch_entries, 1)
        # Also where the null ignores it: results are compared with it in the end.
        self.alpha = check_level(alpha)
        n_jobs = check_n_jobs(n_jobs)
        table = as_table(data, missing=missing, categorical=categorical, ordered=ordered)
        self.table = table
        self.columns = list(table.columns)
        self.n, self.d = table.values.shape
        self.model = model if isinstance(model, TrainedModel) else shared_model(model)
        # A pickled copy loads a shipped model by its name.
        self._shipped = str(model) if str(model) in available_models() else None
        self.null = self.model.default_null if null is None else null
        self.permutations = whole_number("permutations", permutations, FEWEST)
        self.draws = draws
        self.device = resolve_device(device)
        self._cache_bytes, self._batch_entries = cache_bytes, batch_entries
        self._notices = Notices() if notices is None else notices
        self._begin()
        n_jobs = n_jobs if self.device.type == "cpu" else 1
        self._processes = Processes(n_jobs, self._null.cost)

    def _begin(self) -> None:
        """Builds the parts that are not pickled."""
        self._lock = threading.RLock()
        self._network = network_on(self.model, self.device)
        with answering_settings(self.device):
            self._all_rows = Rows(self.table, (), self._network)
        self._null = make_null(
            self.null,
            self.model,
            self._network,
            permutations=self.permutations,
            alpha=self.alpha,
            draws=self.draws,
            batch_entries=self._batch_entries,
        )
        self._engine = Engine(
            self.model,
            self._network,
            self._null,
            cache_bytes=self._cache_bytes,
            batch_entries=self._batch_entries,
            # Not a bound method: a reference cycle would delay freeing the encodings.
            names=partial(named, self.columns),
            notices=self._notices,
        )

    @property
    def fingerprint(self) -> str:
        """A hash of everything that determines the p-values: data, weights, options, algorithm."""
        nulls = [self.null, *self._null.options.values()]
        decisive = [ALGORITHM, self.table.sha256, self.model.sha256, *nulls]
        return hashlib.sha256(json.dumps(decisive).encode()).hexdigest()

    @property
    def least_alpha(self) -> float:
        """Smallest level at which the p-values may be used; 0 if they may at every level.

        Below it draws are too few to reject, or may have ended too early.
        """
        return self._null.least_alpha

    @property
    def at_one_level(self) -> bool:
        """Whether decisions with the p-values hold at `alpha` alone, and not at larger levels."""
        return self._null.at_one_level

    @property
    def settings(self) -> dict[str, Any]:
        """The model, the null, its options, the device and the columns' types, as JSON values."""
        return {
            "model": {"name": self.model.name, "sha256": self.model.sha256},
            "null": self.null,
            **self._null.options,
            "device": str(self.device),
            "variables": self.table.describe_columns(),
        }

    def test(
        self, i: SupportsIndex, j: SupportsIndex, cond: Iterable[SupportsIndex] = ()
    ) -> CITestResult:
        """Tests whether columns i and j are independent given the columns in cond.

        Raises:
            InputError, InputTypeError: invalid or overlapping indices.
        """
        x, y, z = normalise_question(i, j, cond, self.d)
        return self._answer([Task(0, (x,), (y,), z)], None)[0]

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
            InputError, InputTypeError: invalid or overlapping indices.
        """
        tasks = []
        for index, question in enumerate(questions):
            x, y, z = read_question(question, self.d)
            tasks.append(Task(index, (x,), (y,), z))
        shares = self._processes.divide(tasks, self.n, self._all_rows.width)
        if len(shares) < 2:
            return self._answer(tasks, progress)
        results, warnings = self._processes.answer(self._for_a_process(), shares, progress)
        for kind, message in warnings.items():
            self._notices.warn(kind, message)
        return [results[index] for index in range(len(tasks))]

    def test_sets(
        self,
        x: Iterable[SupportsIndex],
        y: Iterable[SupportsIndex],
        cond: Iterable[SupportsIndex] = (),
    ) -> CITestResult:
        """Tests whether sets of columns are independent given a third.

        Args:
            x: columns of X, at least one, in any order.
            y: columns of Y, likewise.
            cond: columns of Z.

        Raises:
            InputError, InputTypeError: invalid indices, no column of X or Y, or sets that overlap.
        """
        return self._answer([Task(0, *normalise_sets(x, y, cond, self.d))], None)[0]

    # ---- from questions to batches ----------------------------------------------

    def _answer(
        self, tasks: Sequence[Task], progress: Callable[[int], object] | None
    ) -> list[CITestResult]:
        results: dict[int, CITestResult] = {}
        with self._lock, answering_settings(self.device):
            for columns, group in self._by_incomplete_columns(tasks).items():
                rows = Rows(self.table, columns, self._network) if columns else self._all_rows
                ready = []
                for task in group:
                    reduced = without_constants(task, rows, self.columns)
                    if isinstance(reduced, Refusal):
                        self._notices.warn(reduced.kind, reduced.message)
                        results[task.index] = independent_result(rows.n)
                    else:
                        require_room(reduced, rows.n, len(rows.components(reduced.cond)))
                        ready.append(reduced)
                if progress and len(ready) < len(group):
                    progress(len(group) - len(ready))
                for batch in by_conditioning_set(ready, rows.n, self._batch_entries, rows.width):
                    results.update(self._engine.answer(batch, rows))
                    if progress:
                        progress(len(batch))
        return [results[task.index] for task in tasks]

    def _by_incomplete_columns(self, tasks: Sequence[Task]) -> dict[Columns, list[Task]]:
        """Groups tasks by which of their columns have missing values; a group has the same rows."""
        absent = self.table.absent
        if absent is None:
            return {(): list(tasks)}
        incomplete = set(np.flatnonzero(absent.any(axis=0)).tolist())
        groups: dict[Columns, list[Task]] = defaultdict(list)
        for task in tasks:
            groups[tuple(sorted(incomplete & {*task.x, *task.y, *task.cond}))].append(task)
        return groups

    # ---- copies -----------------------------------------------------------------

    def _for_a_process(self) -> "Tester":
        """Returns a tester to be pickled, which keeps its warnings and starts no processes."""
        copied = object.__new__(Tester)
        copied.__dict__.update(
            self.__dict__,
            _notices=KeptNotices(self._notices.given),
            _processes=Processes(),
            _cache_bytes=min(self._cache_bytes, CACHE_BYTES),
        )
        return copied

    def answer_share(self, tasks: Sequence[Task]) -> tuple[list[CITestResult], dict[str, str]]:
        """Answers questions of a tester in another process; see `processes`."""
        notices = self._notices
        assert isinstance(notices, KeptNotices)
        return self._answer(tasks, None), notices.kept

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out what can be rebuilt, and the weights of a shipped model."""
        again = dict.fromkeys(("_lock", "_network", "_all_rows", "_engine", "_null"))
        if self._shipped is not None:
            again["model"] = None
        return self.__dict__ | again | {"_sha256": self.model.sha256}

    def __setstate__(self, state: dict[str, Any]) -> None:
        sha256 = state.pop("_sha256")
        self.__dict__.update(state)
        if self._shipped is not None:
            self.model = shared_model(self._shipped)
        if self.model.sha256 != sha256:
            raise ModelError(
                f"{self._shipped} has other weights here than where this test was made: install "
                "the same version of acid-causal in both places"
            )
        self._begin()

    def __repr__(self) -> str:
        return (
            f"Tester({self.n} rows, {self.d} columns, model={self.model.name!r}, "
            f"null={self.null!r}, device={str(self.device)!r})"
        )


def ci_test(
    x: Any,
    y: Any,
    z: Any = None,
    *,
    model: str | Path | TrainedModel = defaults.MODEL,
    device: str | torch.device = defaults.DEVICE,
    null: str | None = None,
    permutations: int = defaults.PERMUTATIONS,
    alpha: float = defaults.ALPHA,
    draws: int | None = None,
    missing: str = defaults.MISSING,
    categorical: Selection = (),
    ordered: Ordered = (),
) -> CITestResult:
    """Tests whether X and Y are independent given Z, each of one or several components.

    How it works: the network regresses X and Y on Z with several smoothers and encodes what is left
    of each. A head compares the two encodings and returns a logit of dependence. The null
    distribution, fitted to independent synthetic tables, turns the logit into a p-value; it takes
    into account n, the size of Z and how much of X and Y it explains.

    Limitations: in the benchmark `calibration` the default model rejects .05 of the independent
    questions at .05, and .12 in the worst cell. If X and Y are rough functions of several variables
    in Z they look dependent: with 200 rows .19 are rejected where both have a product of four.
    Fitted p-values below 1e-4 are extrapolated. On linear Gaussian data Fisher-z has more power.
    More in docs/limits.md.

    Args:
        x: array or DataFrame (n,) or (n, d_x).
        y: (n,) or (n, d_y).
        z: (n,) or (n, d_z); None or d_z = 0 tests marginal independence.
        model: name of a shipped model, path of a weights file, or a loaded model.
        device: "auto", "cpu", "cuda", or any torch device.
        null: "conditional", "sized", "pooled", "permutation" or "checked"; None: the model's own;
            see `Tester`.
        permutations: draws of the permutation null, 19 or more.
        alpha: the level at which you decide, for the checked and the permutation null.
        draws: most draws of the checked null; None: 10 / alpha - 1.
        missing: "raise", or "drop" to leave out incomplete rows.
        categorical: columns whose values are unordered categories: names of a DataFrame's columns,
            or "x", "y" or "z" for all columns of one of these; see
            `acid_causal.tables.inputs.join_tables`.
        ordered: columns to be ranked; see there.

    Returns:
        The statistic (logit), the p-value, the probability of dependence, and how the question
        differs from those of training.

    Raises:
        InputError, InputTypeError: the arrays cannot be used.
        OptionError, ModelError: see `Tester`.

    References:
        Duong, Hoang, Nguyen (2025), Amortized Conditional Independence Testing.
    """
    table, (of_x, of_y, of_z) = join_tables(
        x, y, z, missing=missing, categorical=categorical, ordered=ordered
    )
    tester = Tester(
        table,
        model=model,
        device=device,
        null=null,
        permutations=permutations,
        alpha=alpha,
        draws=draws,
    )
    return tester.test_sets(of_x, of_y, of_z)
