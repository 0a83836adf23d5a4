"""Answers batches of questions: encodes variables, compares them, and computes p-values."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.errors import ModelError, Notices
from acid_causal.inference.applicability import Applicability
from acid_causal.inference.batching import Task
from acid_causal.inference.degenerate import undetermined
from acid_causal.inference.encoding_cache import EncodedQuestions, Encodings, Place, TargetKey
from acid_causal.inference.nulls.interface import Null
from acid_causal.inference.pair_grids import grids
from acid_causal.inference.result import CITestResult, independent_result
from acid_causal.inference.rows.rows import Rows
from acid_causal.model import ACIDModel
from acid_causal.tables.inputs import Columns
from acid_causal.weights.checkpoint import TrainedModel


class Engine:
    """Answers questions without constant columns.

    Args:
        model: the model, with what is known about its training.
        network: its network, on the device of the rows.
        null: the null distribution.
        cache_bytes: limit of the cache of encodings.
        batch_entries: bound on the scalars encoded at once.
        names: formats a question with the names of its columns.
        notices: the warnings given so far.
    """

    def __init__(
        self,
        model: TrainedModel,
        network: ACIDModel,
        null: Null,
        *,
        cache_bytes: int,
        batch_entries: int,
        names: Callable[[Task], str],
        notices: Notices,
    ) -> None:
        self._model, self._network, self._null = model, network, null
        self._names, self._notices = names, notices
        self.encodings = Encodings(
            network, cache_bytes, batch_entries, predictions=null.needs_predictions
        )
        self._applicability = Applicability(model, null.beyond_training, names, notices)

    def answer(self, tasks: list[Task], rows: Rows) -> dict[int, CITestResult]:
        """Answers questions with the same rows and conditioning sets of equal size.

        Returns:
            The results by the index of the question.
        """
        wanted = [(task.cond, part) for task in tasks for part in (task.x, task.y)]
        places = self.encodings.encode(wanted, rows)
        results, clear, reduced = {}, [], []
        for task in tasks:
            x, y = (
                undetermined(part, task.cond, places[task.cond, part].determined.tolist(), rows)
                for part in (task.x, task.y)
            )
            if (x, y) == (task.x, task.y):
                clear.append(task)
                continue
            consequence = (
                "part of a tested variable, which is left out"
                if x and y
                else "a tested variable, which is then independent of everything (p = 1)"
            )
            self._notices.warn(
                "deterministic",
                f"a deterministic relation in {self._names(task)}: the conditioning set determines "
                + consequence,
            )
            if x and y:
                reduced.append(replace(task, x=x, y=y))
            else:
                results[task.index] = independent_result(rows.n)
        if clear:
            results.update(self._compare(clear, places, rows))
        if reduced:
            results.update(self.answer(reduced, rows))
        return results

    def _compare(
        self, tasks: list[Task], places: Mapping[TargetKey, Place], rows: Rows
    ) -> Iterator[tuple[int, CITestResult]]:
        """Answers questions whose variables have been encoded."""
        pairs = [(places[task.cond, task.x], places[task.cond, task.y]) for task in tasks]
        questions = EncodedQuestions(tasks, pairs, rows)
        differences = self._applicability.check(questions)
        statistic = self._statistics(tasks, pairs)
        p, log_p, draws, sources = self._null.pvalues(questions, statistic)
        for k, task in enumerate(tasks):
            value, log_pvalue = float(statistic[k]), float(log_p[k])
            if not (math.isfinite(value) and log_pvalue <= 0):
                raise ModelError(
                    f"{self._model.name} gave the statistic {value} and the log p-value "
                    f"{log_pvalue} for {self._names(task)}: its weights or its null are damaged"
                )
            yield (
                task.index,
                CITestResult(
                    statistic=value,
                    pvalue=float(p[k]),
                    log_pvalue=log_pvalue,
                    probability=1 / (1 + math.exp(-max(min(value, 500.0), -500.0))),
                    n=rows.n,
                    unlike_training=differences[k].kinds,
                    distance=differences[k].distance,
                    null=sources[k],
                    draws=int(draws[k]),
                ),
            )

    def _statistics(
        self, tasks: Sequence[Task], pairs: Sequence[tuple[Place, Place]]
    ) -> Float[NDArray[np.float64], " m"]:
        """Computes the statistics of pairs of targets, grouped by conditioning set."""
        by_set: dict[Columns, list[int]] = defaultdict(list)
        for k, task in enumerate(tasks):
            by_set[task.cond].append(k)
        indices, logits = [], []
        for same_set in by_set.values():
            for grid in grids([pairs[k] for k in same_set]):
                indices += [same_set[k] for k in grid.indices]
                logits.append(grid.score(self._network))
        # One copy from the device for all.
        statistic = np.empty(len(tasks))
        statistic[indices] = torch.cat(logits).double().cpu().numpy()
        return statistic
