"""What becomes of degenerate questions, without asking a network."""

import numpy as np
import pytest

from acid_causal.inference.batching import Task
from acid_causal.inference.degenerate import Refusal, undetermined, without_constants
from acid_causal.inference.rows.rows import Rows
from acid_causal.tables.inputs import read_table
from acid_causal.weights.checkpoint import TrainedModel

CONSTANT, LEVELS = 11, 12
NAMES = [f"X{k}" for k in range(13)]


@pytest.fixture
def rows(tiny_model: TrainedModel) -> Rows:
    """Fifteen rows of eleven numbers, a constant and three levels."""
    values = np.random.default_rng(0).normal(size=(15, 13))
    values[:, CONSTANT], values[:, LEVELS] = 1.0, np.repeat([0, 1, 2], 5)
    table = read_table(values, missing="raise", categorical=[LEVELS])
    return Rows(table, (), tiny_model.network)


def test_constants_are_left_out(rows: Rows) -> None:
    plain = Task(7, (0,), (1,), (2,))
    assert without_constants(plain, rows, NAMES) == plain
    assert without_constants(Task(7, (0, CONSTANT), (1,), (2, CONSTANT)), rows, NAMES) == plain
    refused = without_constants(Task(7, (0,), (CONSTANT,), (2,)), rows, NAMES)
    assert isinstance(refused, Refusal)
    assert refused.kind == "constant"
    assert refused.message.endswith(": X11")


def test_levels_of_categories_count_as_columns_of_z(rows: Rows) -> None:
    """Of 15 rows a mean, 8 numbers and 3 levels leave 3, which is enough."""
    largest = Task(0, (0,), (1,), (*range(2, 10), LEVELS))
    assert without_constants(largest, rows, NAMES) == largest
    refused = without_constants(Task(0, (0,), (1,), (*range(2, 11), LEVELS)), rows, NAMES)
    assert isinstance(refused, Refusal)
    assert refused.kind == "full"
    assert refused.message.startswith("15 rows are too few for (X0, X1 | X2, ")


def test_what_the_conditioning_set_determines(rows: Rows) -> None:
    assert undetermined((0, 1), (2,), [False, True], rows) == (0,)
    # A category is determined if all of its levels are.
    assert undetermined((LEVELS,), (2,), [True, False, True], rows) == (LEVELS,)
    assert undetermined((LEVELS,), (2,), [True, True, True], rows) == ()
