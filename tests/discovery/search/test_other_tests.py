"""causal-learn's own tests in our search: the graphs are those of its `pc`."""

import numpy as np
import pandas as pd
import pytest
from causallearn.search.ConstraintBased.PC import pc
from oracle import linear_data, random_dag

from acid_causal.discovery.discovery import discover
from acid_causal.discovery.search.other_tests import OtherTester
from acid_causal.errors import AcidWarning, OptionError
from acid_causal.tables.inputs import Table


def test_fisherz_as_causal_learn_runs_it() -> None:
    data = linear_data(random_dag(6, 2.5, 1), 100, 1)
    found = discover(data, test="fisherz", orient="first", alpha=0.1)
    expected = pc(data, 0.1, "fisherz", show_progress=False).G.graph
    np.testing.assert_array_equal(found.endpoints, expected)
    assert found.provenance["model"] == {"name": "fisherz", "sha256": ""}
    assert found.compare(discover(data, test="fisherz", orient="first", alpha=0.1)).distance == 0
    sampled = discover(data, test="fisherz", alpha=0.1, bootstrap=2, n_jobs=1)
    assert all(edge.confidence is not None for edge in sampled.edges)


def test_incomplete_rows_are_left_out() -> None:
    data = linear_data(random_dag(3, 1.5, 1), 100, 1)
    absent = np.zeros(data.shape, dtype=bool)
    absent[:10, 1] = True
    with pytest.warns(UserWarning, match="complete rows alone: 90 of 100"):
        tester = OtherTester(Table(data, ("a", "b", "c"), absent), "fisherz")
    rest = OtherTester(Table(data[10:], ("a", "b", "c"), None), "fisherz")
    assert tester.test_many([(0, 1, (2,))]) == rest.test_many([(0, 1, (2,))])


def test_categories_are_for_tests_of_levels() -> None:
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 300)
    other = np.where(rng.random(300) < 0.8, level, rng.integers(0, 3, 300))
    frame = pd.DataFrame({"a": level, "b": other, "c": rng.integers(0, 3, 300)})
    texts = frame.map(lambda code: f"level {code}")
    with pytest.raises(
        OptionError, match=r"'fisherz' takes numbers, and .* categories: 'a', 'c'\."
    ):
        discover(texts.assign(b=other.astype(float)), test="fisherz")
    found = discover(texts, test="chisq", alpha=0.01)
    assert [str(edge) for edge in found.edges] == ["a --- b"]
    with pytest.warns(AcidWarning, match="few different whole numbers"):
        coded = discover(frame, test="chisq", alpha=0.01)
    assert found.pvalues == coded.pvalues


def test_mistakes() -> None:
    data = linear_data(random_dag(3, 1.5, 1), 50, 1)
    with pytest.raises(OptionError, match="Unknown method"):
        discover(data, test="fisher")
    with pytest.raises(OptionError, match="null: an option of ACID"):
        discover(data, test="fisherz", null="permutation")
    with pytest.raises(OptionError, match="check must be False"):
        discover(data, test="fisherz", check=True)
