"""`acid`: the package's test, for one question at a time or many in a batch."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor

from acid_causal import ci_test, load_model
from acid_causal.calibration.facts import Facts
from acid_causal.inference.batching import Task
from acid_causal.inference.degenerate import undetermined, without_constants
from acid_causal.inference.rows.rows import Rows
from acid_causal.tables.inputs import join_tables
from acid_causal.weights.checkpoint import TrainedModel
from benchmarks.methods.method import Array, Question

# Scalars of data in a batch.
_ENTRIES = 32_768


def one_by_one(questions: Sequence[Question], model: str, null: str | None = None) -> list[float]:
    """Answers questions one at a time with `ci_test`, as a user would; for measuring time.

    Args:
        questions: The questions.
        model: A model's name or its weights file.
        null: The null distribution; None: the model's default.
    """
    loaded = load(model)
    return [float(ci_test(x, y, z, model=loaded, null=null).pvalue) for x, y, z in questions]


def in_batches(questions: Sequence[Question], model: str) -> list[float]:
    """Answers many questions of one shape in batches, which is faster.

    The p-values are those of `ci_test` up to rounding. Degenerate questions are answered one by
    one; see `acid_causal.inference.degenerate`.
    """
    loaded = load(model)
    entries = sum(part.size for part in questions[0] if part is not None)
    step = max(1, _ENTRIES // entries)
    pvalues = np.full(len(questions), np.nan)
    for start in range(0, len(questions), step):
        batch = enumerate(questions[start : start + step], start)
        asked = {k: _Asked(question, loaded) for k, question in batch}
        plain = [k for k, one in asked.items() if not one.is_degenerate()]
        if plain:
            pvalues[plain] = _ask([asked[k] for k in plain], loaded)
    single = np.flatnonzero(np.isnan(pvalues))
    pvalues[single] = one_by_one([questions[k] for k in single.tolist()], model)
    return pvalues.tolist()


class _Asked:
    """A question as the tester sees it.

    Args:
        question: the arrays.
        model: the model that is asked.
    """

    def __init__(self, question: Question, model: TrainedModel) -> None:
        self.arrays = question
        self._table, columns = join_tables(*question, missing="raise")
        self._task = Task(0, *columns)
        self._rows = Rows(self._table, (), model.network)

    def is_degenerate(self) -> bool:
        """Says whether the network is asked about fewer rows or columns, or not at all."""
        asked = without_constants(self._task, self._rows, self._table.columns)
        return self._rows.repeated > 0 or asked != self._task

    def is_determined(self, of_x: Sequence[bool], of_y: Sequence[bool]) -> bool:
        """Says whether Z determines X or Y; the network predicts these components exactly."""
        task, rows = self._task, self._rows
        return any(
            undetermined(part, task.cond, known, rows) != part
            for part, known in ((task.x, of_x), (task.y, of_y))
        )


def _ask(asked: Sequence[_Asked], model: TrainedModel) -> Array:
    """Returns the p-values; NaN where Z determines X or Y."""
    network, n = model.network, len(asked[0].arrays[0])

    def read(parts: Sequence[Array | None]) -> Tensor:
        arrays = [np.empty((n, 0)) if part is None else part for part in parts]
        return network.transform(torch.from_numpy(np.stack(arrays))).to(network.reads)

    x, y, z = (read(parts) for parts in zip(*(one.arrays for one in asked), strict=True))
    with torch.inference_mode():
        conditioning = network.encode_conditioning(z)
        # Components of a variable, (count, 1, n, d).
        of_x, of_y = (network.encode_targets(v[:, None], conditioning) for v in (x, y))
        statistic = network.score(of_x, of_y).double().numpy()
    null = model.null.fitted(model.default_null)
    known = zip(asked, of_x.determined.tolist(), of_y.determined.tolist(), strict=True)
    determined = [one.is_determined(*exactly) for one, *exactly in known]
    pvalues = np.exp(null.logsf(statistic, Facts.of_encodings(of_x, of_y)))
    return np.where(determined, np.nan, pvalues)


@cache
def load(model: str) -> TrainedModel:
    """Loads a model once."""
    return load_model(model)
