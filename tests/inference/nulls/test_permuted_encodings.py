"""Permuting rows of an encoding, in place of encoding permuted rows."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from acid_causal.inference.batching import Task
from acid_causal.inference.encoding_cache import EncodedQuestions, Encodings
from acid_causal.inference.nulls import permuted_encodings
from acid_causal.inference.nulls.permuted_encodings import PermutedEncodings
from acid_causal.inference.rows.rows import Rows
from acid_causal.inference.tester import Tester
from acid_causal.weights.checkpoint import TrainedModel
from acid_causal.weights.shared import shared_model


def encoded(table: np.ndarray, model: TrainedModel, tasks: list[Task]) -> EncodedQuestions:
    network = model.network
    rows = Rows(Tester(table, model=model).table, (), network)
    encodings = Encodings(network, 10**9, 10**6, predictions=True)
    with torch.inference_mode():
        wanted = [(task.cond, part) for task in tasks for part in (task.x, task.y)]
        places = encodings.encode(wanted, rows)
    pairs = [(places[task.cond, task.x], places[task.cond, task.y]) for task in tasks]
    return EncodedQuestions(tasks, pairs, rows)


@pytest.mark.parametrize("name", ["acid-ranks", "acid-base"])
def test_with_exact_cells_it_is_the_test_of_a_permuted_table(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Z, and with Z of few values, encoding and permuting commute."""
    monkeypatch.setattr(permuted_encodings, "_COMPONENTS", 99)  # all features
    model = shared_model(name)
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, size=120).astype(float)
    table = np.column_stack([z + rng.normal(size=120), z + rng.normal(size=120), z])
    for cond in ((), (2,)):
        questions = encoded(table, model, [Task(0, (0,), (1,), cond)])
        with torch.inference_mode():
            copies = PermutedEncodings(model.network, questions, [0], 10**6)
            asked = copies._asked[0]
            taken = asked.permutations(range(3))
            statistics = copies._statistics([0], taken[None])[0]
        if cond:
            assert all(len(set(z[asked.cells == cell])) == 1 for cell in set(asked.cells))
        moved = 0 if asked.moves is questions.pairs[0][0] else 1
        for statistic, rows in zip(statistics, taken, strict=True):
            permuted = table.copy()
            permuted[:, moved] = table[rows, moved]
            expected = Tester(permuted, model=model).test(0, 1, cond).statistic
            assert statistic == pytest.approx(expected, abs=2e-3)


def test_few_components_hold_the_statistic() -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(200, 3))
    table[:, 1] += 0.3 * table[:, 0]
    for name in ("acid-ranks", "acid-base"):
        model = shared_model(name)
        questions = encoded(table, model, [Task(0, (0,), (1,), (2,))])
        with torch.inference_mode():
            copies = PermutedEncodings(model.network, questions, [0], 10**6)
            same = copies._statistics([0], np.arange(200)[None, None])[0, 0]
        expected = Tester(table, model=model).test(0, 1, (2,)).statistic
        assert same == pytest.approx(expected, rel=0.1)


def test_questions_and_draws_are_counted_in_any_batches(table: np.ndarray) -> None:
    model = shared_model("acid-ranks")
    tasks = [Task(0, (0,), (1,), (2,)), Task(1, (0,), (3,), (2,)), Task(2, (4, 5), (3,), (2,))]
    questions = encoded(table, model, tasks)
    with torch.inference_mode():
        counts = [
            PermutedEncodings(model.network, questions, [0, 1, 2], entries).count(
                [0, 1, 2], range(20)
            )
            for entries in (1, 10**5, 10**7)
        ]
        parts = PermutedEncodings(model.network, questions, [2, 0], 10**6)
        split = parts.count([1, 0], range(7)) + parts.count([1, 0], range(7, 20))
    np.testing.assert_array_equal(counts[0], counts[1])
    np.testing.assert_array_equal(counts[0], counts[2])
    np.testing.assert_array_equal(split, counts[0][[0, 2]])


def test_heads_without_covariance_are_permuted_as_they_are(tiny_model: TrainedModel) -> None:
    config = replace(tiny_model.network.config, head="paper")
    torch.manual_seed(0)
    network = type(tiny_model.network)(config).eval()
    model = replace(tiny_model, network=network)
    table = np.random.default_rng(2).normal(size=(50, 3))
    questions = encoded(table, model, [Task(0, (0,), (1,), (2,))])
    with torch.inference_mode():
        copies = PermutedEncodings(network, questions, [0], 10**6)
        same = copies._statistics([0], np.arange(50)[None, None])[0, 0]
        assert 0 <= copies.count([0], range(19))[0] <= 19
    assert same == pytest.approx(Tester(table, model=model).test(0, 1, (2,)).statistic, abs=1e-4)
