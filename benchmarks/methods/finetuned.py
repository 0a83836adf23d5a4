"""Models that are fine-tuned on a table, as methods.

`adapted_pvalues` uses the table without labels (`acid_causal.finetune`). `labelled_pvalues` uses
labels, as in the paper: 500 steps on subsamples of 50 rows. It splits the pairs of variables into
folds. The questions of a fold are answered by a model that was fine-tuned on labels of the other
folds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Generator, Tensor

from acid_causal import Tester, finetune, load_model
from acid_causal.calibration.fitting import fit_null
from acid_causal.options import defaults
from acid_causal.synthetic import Batch
from acid_causal.tables.inputs import Question
from acid_causal.training.finetuning import train_on
from acid_causal.weights.checkpoint import TrainedModel
from acid_causal.weights.recipe import TrainingConfig

Array = NDArray[np.float64]

STEPS = 500
NULL_QUESTIONS = 15_000
NULL_QUESTIONS_PER_FOLD = 6000  # with labels
ROWS = 50  # of a subsample
FOLDS = 5
DATASETS = 64  # in a batch
LEARNING_RATE = 3e-4
SEED = 9_200_000


def adapted_pvalues(
    data: Array, asked: Sequence[Question], *, model: str = defaults.MODEL, steps: int = STEPS
) -> list[float]:
    """Answers questions with a model that is fine-tuned on the table, without labels.

    Args:
        data: The table, (n, d).
        asked: Questions about its columns.
        model: The model to fine-tune; this is done once for each table.
        steps: Steps of fine-tuning.
    """
    tuned = _adapted(data.tobytes(), data.shape, model, steps)
    return [answer.pvalue for answer in Tester(data, model=tuned).test_many(asked)]


def labelled_pvalues(
    data: Array,
    asked: Sequence[Question],
    labels: Mapping[Question, int],
    *,
    model: str = defaults.MODEL,
    steps: int = STEPS,
) -> list[float]:
    """Answers each question with a model that has seen labels of other pairs only.

    Args:
        data: The table, (n, d).
        asked: Questions about its columns; `labels` has each of them.
        labels: The label of each question: 1 for dependent, 0 for independent.
        model: The model to fine-tune, once for each table and fold.
        steps: Steps of fine-tuning for each fold.
    """
    known = tuple(labels.items())
    fold_of = folds([question for question, _ in known])
    content = data.tobytes()
    tuned = [_labelled(content, data.shape, known, fold, model, steps) for fold in range(FOLDS)]
    pvalues = np.empty(len(asked))
    for fold, of_fold in enumerate(tuned):
        places = [k for k, question in enumerate(asked) if fold_of[question[:2]] == fold]
        answers = Tester(data, model=of_fold).test_many([asked[k] for k in places])
        pvalues[places] = [answer.pvalue for answer in answers]
    return pvalues.tolist()


def folds(questions: Sequence[Question]) -> dict[tuple[int, int], int]:
    """Assigns each pair of variables to a fold, at random; the folds have equal sizes."""
    pairs = sorted({(i, j) for i, j, _ in questions})
    order = np.random.default_rng(SEED).permutation(len(pairs))
    return {pairs[k]: place % FOLDS for place, k in enumerate(order.tolist())}


# ---- training --------------------------------------------------------------------


@cache
def _adapted(content: bytes, shape: tuple[int, int], model: str, steps: int) -> TrainedModel:
    data = np.frombuffer(content).reshape(shape)
    return finetune(
        data, model=model, steps=steps, null_questions=NULL_QUESTIONS, seed=SEED, progress=False
    )


@cache
def _labelled(
    content: bytes,
    shape: tuple[int, int],
    known: tuple[tuple[Question, int], ...],
    fold: int,
    model: str,
    steps: int,
) -> TrainedModel:
    """Fine-tunes on the labels of all folds but one."""
    parent = load_model(model)
    fold_of = folds([question for question, _ in known])
    training = [(q, label) for q, label in known if fold_of[q[:2]] != fold]
    table = torch.from_numpy(np.frombuffer(content).reshape(shape).copy())
    seen = LabelledTable(
        parent.network.transform(table[None])[0].float(),
        torch.tensor([(i, j, *cond) for (i, j, cond), _ in training]),
        torch.tensor([label for _, label in training]),
    )
    config = TrainingConfig(steps=steps, learning_rate=LEARNING_RATE, warmup=max(1, steps // 10))
    network, seed = parent.network, SEED + fold
    train_on(network, lambda _, generator: seen.draw(generator), config, seed=seed, progress=False)
    null = fit_null(
        network, parent.recipe.stream, seed=seed, questions=NULL_QUESTIONS_PER_FOLD, progress=False
    )
    return replace(parent, network=network, null=null, history={})


@dataclass(frozen=True)
class LabelledTable:
    """A table and labelled questions about it, with conditioning sets of one size.

    Attributes:
        values: The table after the network's transform.
        columns: X, Y and Z of each question.
        labels: 1 where X and Y are dependent.
    """

    values: Float[Tensor, "rows d"]
    columns: Int[Tensor, "questions 2_and_d_z"]
    labels: Int[Tensor, " questions"]

    def draw(self, generator: Generator) -> Batch:
        """Draws questions, half of each label, each on its own subsample of the rows."""
        questions = torch.cat([self._choose(label, generator) for label in (0, 1)])
        drawn = torch.rand((len(questions), len(self.values)), generator=generator)
        rows = drawn.argsort(dim=1)[:, :ROWS]
        cells = self.values[rows[..., None], self.columns[questions][:, None, :]]
        dependent = self.labels[questions].bool()[:, None, None] | torch.eye(2, dtype=torch.bool)
        x = cells[..., :2].transpose(1, 2)[..., None]
        return Batch(z=cells[..., 2:], x=x, dependent=dependent, source="labelled")

    def _choose(self, label: int, generator: Generator) -> Int[Tensor, " chosen"]:
        there = (self.labels == label).nonzero()[:, 0]
        return there[torch.randint(0, len(there), (DATASETS // 2,), generator=generator)]
