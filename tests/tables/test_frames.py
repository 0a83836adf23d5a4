"""Data frames on their way into causal-learn."""

import numpy as np
import pandas as pd
import pytest
from causallearn.search.ConstraintBased.PC import pc

from acid_causal import acid, read_frame
from acid_causal.errors import InputError, InputTypeError


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
    with pytest.raises(InputTypeError, match="'name'"):
        read_frame(frame.assign(name="x"))
    assert read_frame(table)[1] == ["X1", "X2", "X3", "X4", "X5", "X6"]
