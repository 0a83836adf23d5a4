"""From batches of questions to their answers: encode, compare, and ask the null."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.calibration.null import FITTED, Facts
from acid_causal.errors import ModelError, Notices
from acid_causal.inference.applicability import Limits
from acid_causal.inference.batching import Task
from acid_causal.inference.encoding_cache import Encodings, Pair, Place
from acid_causal.inference.pair_grids import grids
from acid_causal.inference.permutation import PermutationNull
from acid_causal.inference.result import CITestResult
from acid_causal.inference.rows import Rows
from acid_causal.model import ACIDModel
from acid_causal.tables.inputs import Columns
from acid_causal.weights.checkpoint import TrainedModel


class Answering:
    """Answers questions whose columns vary.

    Args:
        model: gives the fitted nulls.
        network: its network, on the device of the rows.
        null: where p-values come from, one of `acid_causal.calibration.null.NULLS`.
        permutations: draws of the permutation null.
        cache_bytes: bound on the encodings kept.
        batch_entries: scalars of data encoded at once.
        names: writes a question with the names of its columns.
        notices: what has been warned of.
    """

    def __init__(
        self,
        model: TrainedModel,
        network: ACIDModel,
        *,
        null: str,
        permutations: int,
        cache_bytes: int,
        batch_entries: int,
        names: Callable[[Task], str],
        notices: Notices,
    ) -> None:
        self._model, self._network, self._null = model, network, null
        self._batch_entries = batch_entries
        self._names, self._notices = names, notices
        self.encodings = Encodings(network, cache_bytes, batch_entries)
        self._limits = Limits(model, null, names, notices)
        self._permutation = PermutationNull(network, permutations, batch_entries)

    def answer(self, tasks: list[Task], rows: Rows) -> dict[int, CITestResult]:
        """Answers questions that share their rows and the size of their conditioning set.

        Returns:
            The results by the numbers of the questions.
        """
        wanted = [(task.cond, part) for task in tasks for part in (task.x, task.y)]
        places = self.encodings.encode(wanted, rows)
        results, clear, reduced = {}, [], []
        for task in tasks:
            x, y = (_undetermined(part, places[task.cond, part]) for part in (task.x, task.y))
            if (x, y) == (task.x, task.y):
                clear.append(task)
                continue
            self._notices.warn(
                "deterministic",
                f"a deterministic relation in {self._names(task)}: where the conditioning set "
                "determines a tested variable nothing is left to depend on, p = 1",
            )
            if x and y:
                reduced.append(replace(task, x=x, y=y))
            else:
                results[task.number] = CITestResult.independent(rows.n)
        if clear:
            results.update(self._compare(clear, places, rows))
        if reduced:
            results.update(self.answer(reduced, rows))
        return results

    def _compare(
        self, tasks: list[Task], places: Mapping[Pair, Place], rows: Rows
    ) -> Iterator[tuple[int, CITestResult]]:
        """Answers questions whose variables are encoded."""
        pairs = [(places[task.cond, task.x], places[task.cond, task.y]) for task in tasks]
        distances = self._limits.distances(pairs, rows.n, len(tasks[0].cond))
        unlike = self._limits.check(tasks, distances, rows)
        statistic = self._statistics(tasks, pairs)
        p, log_p = self._pvalues(tasks, pairs, statistic, rows)
        for k, task in enumerate(tasks):
            value, log_pvalue = float(statistic[k]), float(log_p[k])
            if not (math.isfinite(value) and log_pvalue <= 0):
                raise ModelError(
                    f"{self._model.name} gave the statistic {value} and the log p-value "
                    f"{log_pvalue} for {self._names(task)}: its weights or its null are damaged"
                )
            yield (
                task.number,
                CITestResult(
                    statistic=value,
                    pvalue=float(p[k]),
                    log_pvalue=log_pvalue,
                    probability=1 / (1 + math.exp(-max(min(value, 500.0), -500.0))),
                    n=rows.n,
                    unlike_training=unlike[k],
                    distance=None if distances is None else float(distances[k]),
                ),
            )

    def _statistics(
        self, tasks: Sequence[Task], pairs: Sequence[tuple[Place, Place]]
    ) -> Float[NDArray[np.float64], " m"]:
        """Compares pairs of targets, those of one conditioning set together."""
        of_set: dict[Columns, list[int]] = defaultdict(list)
        for k, task in enumerate(tasks):
            of_set[task.cond].append(k)
        numbers, logits = [], []
        for alike in of_set.values():
            for grid in grids([pairs[k] for k in alike]):
                numbers += [alike[number] for number in grid.numbers]
                logits.append(grid.score(self._network))
        # From the device in one piece.
        statistic = np.empty(len(tasks))
        statistic[numbers] = torch.cat(logits).double().cpu().numpy()
        return statistic

    def _pvalues(
        self,
        tasks: list[Task],
        pairs: Sequence[tuple[Place, Place]],
        statistic: Float[NDArray[np.float64], " m"],
        rows: Rows,
    ) -> tuple[Float[NDArray[np.float64], " m"], Float[NDArray[np.float64], " m"]]:
        """Asks the null for p-values and their logarithms."""
        if self._null not in FITTED:
            # Not by way of the logarithm: 1 of 20 must not come out a little above .05.
            p = self._permutation.pvalues(tasks, pairs, statistic, rows)
            return p, np.log(p)
        ones = np.ones(len(tasks))
        explained_x, explained_y = np.array([(x.explained, y.explained) for x, y in pairs]).T
        facts = Facts(
            n=rows.n * ones,
            d_z=len(tasks[0].cond) * ones,
            explained_x=explained_x,
            explained_y=explained_y,
            pairs=np.array([float(len(task.x) * len(task.y)) for task in tasks]),
        )
        log_p = self._model.null.logsf(statistic, facts, self._null)
        return np.exp(log_p), log_p


def _undetermined(columns: Columns, place: Place) -> Columns:
    """Returns the components that are not functions of the conditioning set."""
    known = place.determined.tolist()
    return tuple(k for k, is_known in zip(columns, known, strict=True) if not is_known)
