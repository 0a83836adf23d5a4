"""Data frames on their way into causal-learn."""

import numpy as np
import pandas as pd
import pytest
from causallearn.search.ConstraintBased.CDNOD import cdnod
from causallearn.search.ConstraintBased.FCI import fci
from causallearn.search.ConstraintBased.PC import pc

from acid_causal import acid, read_frame
from acid_causal.errors import InputError, InputTypeError
from acid_causal.tables.inputs import read_table
from acid_causal.weights.checkpoint import TrainedModel


def test_pc_is_given_the_values_and_names_of_a_frame(table: np.ndarray) -> None:
    frame = pd.DataFrame(table, columns=[f"v{k}" for k in range(6)]).astype({"v1": object})
    data, names = read_frame(frame)
    assert names == list(frame.columns)
    np.testing.assert_array_equal(data, table)
    data[0, 0] = 9.0
    assert frame.iloc[0, 0] == table[0, 0]
    graph = pc(read_frame(frame)[0], 0.05, acid, node_names=names, show_progress=False).G
    assert {node.get_name() for node in graph.get_nodes()} == set(names)
    expected = pc(table, 0.05, acid, show_progress=False).G.graph
    np.testing.assert_array_equal(graph.graph, expected)


def test_what_no_test_can_use_is_refused(table: np.ndarray) -> None:
    frame = pd.DataFrame(table)
    frame.iloc[0, 0] = np.nan
    with pytest.raises(InputError, match="missing"):
        read_frame(frame)
    assert np.isnan(read_frame(frame, missing="drop")[0]).sum() == 1
    with pytest.raises(InputTypeError, match="'day'"):
        read_frame(frame.assign(day=pd.Timestamp("2020-01-01")))
    assert read_frame(table)[1] == ["X1", "X2", "X3", "X4", "X5", "X6"]


def test_categories_travel_with_the_array(table: np.ndarray) -> None:
    frame = pd.DataFrame(table, columns=list("abcdef"))
    frame["kind"] = ["p", "q", None] * 40
    frame["code"] = [3, 10, 1] * 40
    data, names = read_frame(frame, missing="drop", categorical=["code"])
    assert names == list(frame.columns)
    assert data[:3, 6].tolist() == ["p", "q", None]
    assert data[:3, 7].tolist() == ["3", "10", "1"]
    np.testing.assert_array_equal(data[:, :6].astype(float), table)
    expected = read_table(frame, missing="drop", categorical=["code"])
    for stage in (data, np.hstack([data, data[:, :1]])):  # as cdnod does
        again = read_table(stage, missing="drop")
        assert again.categories == expected.categories
        np.testing.assert_array_equal(again.values[:, :8], expected.values)


@pytest.mark.filterwarnings("ignore::acid_causal.errors.AcidWarning")
def test_searches_of_causal_learn_take_categories(tiny_model: TrainedModel) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    frame = pd.DataFrame({"x": x, "kind": np.where(x > 0, "up", "down"), "y": x**2})
    frame["code"] = rng.integers(0, 4, 200)
    data, names = read_frame(frame, categorical=["code"])
    options = {"model": tiny_model, "show_progress": False}
    graph = pc(data, 0.05, acid, node_names=names, **options).G
    codes = frame.assign(kind=frame["kind"] == "up").to_numpy(dtype=float)
    same = pc(codes, 0.05, acid, node_names=names, categorical=[1, "X4"], **options).G
    np.testing.assert_array_equal(graph.graph, same.graph)
    fci(data, acid, verbose=False, **options)
    cdnod(data, np.arange(200.0)[:, None], 0.05, acid, **options)
