"""causal-learn's own tests in our search: the graphs are those of its `pc`."""

import numpy as np
import pandas as pd
import pytest
from causallearn.search.ConstraintBased.PC import pc
from oracle import linear_data, random_dag

from acid_causal.discovery.discovery import discover
from acid_causal.discovery.search.other_tests import OtherTester
from acid_causal.errors import AcidWarning, InputError, OptionError
from acid_causal.tables.column_types import MOST_LEVELS
from acid_causal.tables.inputs import Table, read_table


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
    with pytest.warns(UserWarning, match="only complete rows: 90 of 100"):
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


@pytest.mark.parametrize("test", ["chisq", "gsq"])
def test_columns_of_many_values_are_no_levels(test: str) -> None:
    rng = np.random.default_rng(0)
    few = np.arange(300) % MOST_LEVELS
    frame = pd.DataFrame({"a": few, "b": rng.normal(size=300), "c": np.arange(300) % 51})
    message = rf"{test!r} takes each value .* 50: 'b' \(300\), 'c' \(51\)\. Group .*'fisherz'"
    with pytest.raises(InputError, match=message):
        discover(frame, test=test)
    assert OtherTester(read_table(frame[["a"]].assign(b=few)), test).test_many([(0, 1, ())])
    assert discover(frame, test="fisherz").edges


@pytest.mark.parametrize("test", ["fisherz", "chisq"])
@pytest.mark.parametrize("complete", [0, 3])
def test_too_few_complete_rows_are_independent(test: str, complete: int) -> None:
    frame = pd.DataFrame(np.arange(60).reshape(20, 3) % 7, columns=list("abc"), dtype=float)
    frame.loc[complete:9, "a"] = np.nan
    frame.loc[10:, "b"] = np.nan
    with pytest.warns(AcidWarning) as told:
        found = discover(frame, test=test, missing="drop")
    said = [str(one.message) for one in told]
    assert f"{test} uses only complete rows: {complete} of 20" in said
    assert [text for text in said if "p = 1" in text] == [
        f"only {complete} complete rows for (a, b | ): p = 1"
    ]
    assert found.edges == ()
    assert set(found.pvalues.values()) == {1.0}
    with pytest.raises(OptionError, match="Unknown method"), pytest.warns(AcidWarning):
        discover(frame, test="fisher", missing="drop")


def test_sets_as_large_as_the_rows_separate() -> None:
    data = np.random.default_rng(0).normal(size=(6, 6))
    tester = OtherTester(Table(data, tuple("abcdef"), None), "fisherz")
    with pytest.warns(AcidWarning, match=r"6 rows are too few for \(a, b \| c, d, e, f\): p = 1"):
        (answer,) = tester.test_many([(0, 1, (2, 3, 4, 5))])
    assert answer.pvalue == 1.0
    assert tester.test_many([(0, 1, (2, 3))])[0].pvalue < 1.0


def test_mistakes() -> None:
    data = linear_data(random_dag(3, 1.5, 1), 50, 1)
    with pytest.raises(OptionError, match="Unknown method"):
        discover(data, test="fisher")
    with pytest.raises(OptionError, match="null: an option of ACID"):
        discover(data, test="fisherz", null="permutation")
    with pytest.raises(OptionError, match="check must be False"):
        discover(data, test="fisherz", check=True)
