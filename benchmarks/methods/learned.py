"""`acid`: the package's test, for one question at a time or many in a batch."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from acid_causal import ci_test, load_model
from acid_causal.calibration.facts import Facts
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

    The p-values are those of `ci_test` up to rounding. Questions for which the tester drops rows or
    columns, or in which Z determines X or Y, are answered one by one.
    """
    loaded = load(model)
    x, y, z = questions[0]
    entries = sum(part.size for part in (x, y, z) if part is not None)
    step = max(1, _ENTRIES // entries)
    pvalues = np.empty(len(questions))
    single = [k for k, question in enumerate(questions) if _is_changed(question, loaded)]
    together = np.setdiff1d(np.arange(len(questions)), single)
    for start in range(0, len(together), step):
        batch = together[start : start + step]
        pvalues[batch], determined = _ask([questions[k] for k in batch], loaded)
        single += batch[determined].tolist()
    pvalues[single] = one_by_one([questions[k] for k in single], model)
    return pvalues.tolist()


def _is_changed(question: Question, model: TrainedModel) -> bool:
    """Says whether the tester leaves out columns or rows of a question's table."""
    table, _ = join_tables(*question, missing="raise")
    rows = Rows(table, (), model.network)
    return rows.repeated > 0 or any(map(rows.measures.is_constant, range(rows.d)))


def _ask(questions: Sequence[Question], model: TrainedModel) -> tuple[Array, NDArray[np.bool_]]:
    """Returns the p-values, and for which questions Z determines X or Y."""
    network, n = model.network, len(questions[0][0])

    def read(parts: Sequence[Array | None]) -> Tensor:
        arrays = [np.empty((n, 0)) if part is None else part for part in parts]
        return network.transform(torch.from_numpy(np.stack(arrays))).to(network.reads)

    x, y, z = (read(parts) for parts in zip(*questions, strict=True))
    with torch.inference_mode():
        conditioning = network.encode_conditioning(z)
        # Components of a variable, (count, 1, n, d).
        of_x, of_y = (network.encode_targets(v[:, None], conditioning) for v in (x, y))
        statistic = network.score(of_x, of_y).double().numpy()
    null = model.null.fitted(model.default_null)
    determined = of_x.determined.any(dim=1) | of_y.determined.any(dim=1)
    return np.exp(null.logsf(statistic, Facts.of_encodings(of_x, of_y))), determined.numpy()


@cache
def load(model: str) -> TrainedModel:
    """Loads a model once."""
    return load_model(model)
