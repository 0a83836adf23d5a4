"""Models fine-tuned for a benchmark: none is asked about a pair whose labels it has seen."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from acid_causal import Tester, finetune
from acid_causal.inference.result import CITestResult
from acid_causal.synthetic.draws import seeded
from acid_causal.tables.inputs import Question
from acid_causal.weights.checkpoint import TrainedModel
from benchmarks.methods import finetuned

QUESTIONS = [
    (i, j, tuple(k for k in cond))
    for i, j in combinations(range(6), 2)
    for cond in combinations(sorted(set(range(6)) - {i, j}), 2)
]
LABELS = {(i, j, cond): int((i + j) % 2) for i, j, cond in QUESTIONS}


@pytest.fixture
def model(
    tiny_model: TrainedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    path = tmp_path / "tiny.safetensors"
    tiny_model.save(path)
    for module in ("acid_causal.training.finetuning", "benchmarks.methods.finetuned"):
        monkeypatch.setattr(f"{module}.fit_null", lambda *_, **__: tiny_model.null)
    monkeypatch.setattr(finetuned, "DATASETS", 8)
    yield str(path)
    finetuned._adapted.cache_clear()
    finetuned._labelled.cache_clear()


def test_folds_are_of_pairs_and_of_equal_size() -> None:
    fold_of = finetuned.folds(QUESTIONS)
    assert set(fold_of) == set(combinations(range(6), 2))
    assert np.bincount(list(fold_of.values())).tolist() == [3] * 5
    assert fold_of == finetuned.folds(QUESTIONS[::-1])


def test_each_question_is_answered_by_a_model_that_never_saw_its_pair(
    model: str, table: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[tuple[int, int]]] = []
    answered: list[set[tuple[int, int]]] = []

    class Spy(finetuned.LabelledTable):
        def __init__(
            self, values: torch.Tensor, columns: torch.Tensor, labels: torch.Tensor
        ) -> None:
            seen.append({(i, j) for i, j in columns[:, :2].tolist()})
            super().__init__(values, columns, labels)

    class Spying(Tester):
        def test_many(
            self,
            questions: Sequence[Question],
            progress: Callable[[int], object] | None = None,
        ) -> list[CITestResult]:
            answered.append({(i, j) for i, j, _ in questions})
            return super().test_many(questions, progress)

    monkeypatch.setattr(finetuned, "LabelledTable", Spy)
    monkeypatch.setattr(finetuned, "Tester", Spying)
    asked = QUESTIONS[::2]
    pvalues = finetuned.labelled_pvalues(table, asked, LABELS, model=model, steps=2)
    assert len(pvalues) == len(asked)
    assert all(0 <= p <= 1 for p in pvalues)
    assert len(seen) == len(answered) == finetuned.FOLDS
    for training, test in zip(seen, answered, strict=True):
        assert not training & test
        assert len(training) == 12
    # Asked again in another order, it is trained no more, and the answers are the same.
    again = finetuned.labelled_pvalues(table, asked[::-1], LABELS, model=model, steps=2)
    assert len(seen) == finetuned.FOLDS
    np.testing.assert_allclose(again[::-1], pvalues, atol=1e-4)


def test_labels_are_those_that_were_given(table: np.ndarray) -> None:
    questions = torch.tensor([(0, 1, 2, 3), (4, 5, 0, 1), (2, 3, 4, 5)])
    labels = torch.tensor([1, 0, 1])
    values = torch.from_numpy(table).float()
    batch = finetuned.LabelledTable(values, questions, labels).draw(seeded("labels"))
    count = finetuned.DATASETS
    assert batch.z.shape == (count, finetuned.ROWS, 2)
    assert batch.x.shape == (count, 2, finetuned.ROWS, 1)
    assert int(batch.dependent[:, 0, 1].sum()) == count // 2
    label_of: dict[tuple[int, ...], bool] = {(2, 3): True, (0, 1): False, (4, 5): True}
    for dataset in range(count):
        column = [int((values == v).any(dim=0).nonzero()[0, 0]) for v in batch.z[dataset, 0]]
        assert bool(batch.dependent[dataset, 0, 1]) == label_of[tuple(column)]
        rows = [int((values[:, column[0]] == v).nonzero()[0, 0]) for v in batch.z[dataset, :, 0]]
        assert len(set(rows)) == finetuned.ROWS


def test_an_adapted_model_is_tuned_once_a_table(
    model: str, table: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def noted(data: object, **options: Any) -> TrainedModel:
        calls.append(options["steps"])
        return finetune(data, **options)

    monkeypatch.setattr(finetuned, "finetune", noted)
    one = finetuned.adapted_pvalues(table, QUESTIONS, model=model, steps=2)
    np.testing.assert_allclose(
        finetuned.adapted_pvalues(table, QUESTIONS[:7], model=model, steps=2), one[:7], atol=1e-4
    )
    assert calls == [2]
    assert len(one) == len(QUESTIONS)
