"""`acid`: the package's test, one question at a time or many tables in a batch."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor

from acid_causal import ci_test, load_model
from acid_causal.calibration.null import Facts
from acid_causal.weights.checkpoint import TrainedModel
from benchmarks.methods.method import Array, Question

# Scalars of data in a batch.
_ENTRIES = 32_768


def one_by_one(questions: Sequence[Question], model: str, null: str) -> list[float]:
    """Asks as a user does, so that seconds are honest."""
    loaded = _load(model)
    return [float(ci_test(x, y, z, model=loaded, null=null).pvalue) for x, y, z in questions]


def in_batches(questions: Sequence[Question], model: str, null: str) -> list[float]:
    """Asks about many tables of one shape at once, where only the p-values matter.

    `ci_test` takes one table; here the network sees many side by side, which saves the fixed cost
    of each. The p-values are the same up to rounding.
    """
    loaded = _load(model)
    x, y, z = questions[0]
    entries = sum(part.size for part in (x, y, z) if part is not None)
    step = max(1, _ENTRIES // entries)
    pvalues: list[float] = []
    for start in range(0, len(questions), step):
        batch = questions[start : start + step]
        if any(_is_degenerate(question) for question in batch):
            pvalues += one_by_one(batch, model, null)
        else:
            pvalues += _ask(batch, loaded, null)
    return pvalues


def _ask(questions: Sequence[Question], model: TrainedModel, null: str) -> list[float]:
    network = model.network
    count, n = len(questions), len(questions[0][0])

    def read(parts: Sequence[Array | None]) -> Tensor:
        arrays = [np.empty((n, 0)) if part is None else part for part in parts]
        return network.transform(torch.from_numpy(np.stack(arrays))).float()

    x, y, z = (read(parts) for parts in zip(*questions, strict=True))
    with torch.inference_mode():
        conditioning = network.encode_conditioning(z)
        # Components of a variable, (count, 1, n, d).
        of_x, of_y = (network.encode_targets(v[:, None], conditioning) for v in (x, y))
        statistic = network.score(of_x, of_y).double().numpy()
    ones = np.ones(count)
    facts = Facts(
        n=n * ones,
        d_z=z.shape[2] * ones,
        explained_x=of_x.explained.amax(dim=1).double().numpy(),
        explained_y=of_y.explained.amax(dim=1).double().numpy(),
        pairs=x.shape[2] * y.shape[2] * ones,
    )
    pvalues = np.exp(model.null.logsf(statistic, facts, null))
    determined = (of_x.determined.any(dim=1) | of_y.determined.any(dim=1)).numpy()
    for k in np.flatnonzero(determined).tolist():  # what is left of them is the tester's business
        pvalues[k] = ci_test(*questions[k], model=model, null=null).pvalue
    return pvalues.tolist()


def _is_degenerate(question: Question) -> bool:
    return any(part is not None and bool((np.ptp(part, axis=0) == 0).any()) for part in question)


@cache
def _load(model: str) -> TrainedModel:
    return load_model(model)
