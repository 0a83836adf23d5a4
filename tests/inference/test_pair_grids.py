"""Pairs of targets become cells of grids: each once, few rows, and the same logits."""

from itertools import combinations

import numpy as np
import pytest
import torch

from acid_causal.inference.encoding_cache import Encodings, Place
from acid_causal.inference.pair_grids import Grid, grids
from acid_causal.inference.rows.rows import Rows
from acid_causal.tables.inputs import read_table
from acid_causal.weights.checkpoint import TrainedModel

COND = (7,)


@pytest.fixture
def places(tiny_model: TrainedModel) -> list[Place]:
    """Seven targets given one set: five encoded together, two later."""
    table = read_table(np.random.default_rng(3).normal(size=(60, 8)))
    network = tiny_model.network
    encodings, rows = Encodings(network, 2**20, 2**20), Rows(table, (), network)
    with torch.inference_mode():
        encodings.encode([(COND, (k,)) for k in range(5)], rows)
        found = encodings.encode([(COND, (k,)) for k in range(7)], rows)
    return [found[COND, (k,)] for k in range(7)]


def cells(grid: Grid) -> set[frozenset[Place]]:
    return {
        frozenset(
            (
                Place(grid.of_rows, grid.rows[row]),
                Place(grid.of_columns, grid.columns.start + column),
            )
        )
        for row, column in grid.cells
    }


@pytest.mark.parametrize("cells_at_once", [4, 4096])
@pytest.mark.parametrize(
    "asked",
    [
        [(0, 1)],
        [(1, 0), (1, 4), (2, 1)],
        [(0, 6), (6, 1), (5, 6), (2, 6), (3, 4)],
        list(combinations(range(7), 2)),
    ],
    ids=["one", "star", "two encodings", "all"],
)
def test_every_pair_is_scored_once_and_as_if_alone(
    tiny_model: TrainedModel,
    places: list[Place],
    asked: list[tuple[int, int]],
    cells_at_once: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("acid_causal.inference.pair_grids._MAX_CELLS", cells_at_once)
    pairs = [(places[i], places[j]) for i, j in asked]
    found = list(grids(pairs))
    assert sorted(index for grid in found for index in grid.indices) == list(range(len(pairs)))
    for grid in found:
        assert cells(grid) == {frozenset(pairs[index]) for index in grid.indices}
        with torch.inference_mode():
            logits = grid.score(tiny_model.network)
            for index, logit in zip(grid.indices, logits, strict=True):
                x, y = pairs[index]
                alone = tiny_model.network.score(x.encoding, y.encoding)[0]
                torch.testing.assert_close(logit, alone, atol=1e-5, rtol=1e-5)


def test_a_star_is_one_row_whoever_is_named_first(places: list[Place]) -> None:
    (grid,) = grids([(places[3], places[0]), (places[1], places[3]), (places[3], places[4])])
    assert grid.rows == [3]
    assert grid.columns == slice(0, 5)


def test_all_pairs_leave_the_last_target_without_a_row(places: list[Place]) -> None:
    (grid,) = grids(list(combinations(places[:5], 2)))
    assert grid.rows == [0, 1, 2, 3]


def test_an_encoding_found_again_is_the_same(places: list[Place]) -> None:
    assert places[0].among is places[4].among
    assert places[5].among is places[6].among is not places[0].among
