"""ACID inside pgmpy, the real package."""

import importlib
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from acid_causal.errors import InputError, InputTypeError, OptionError
from acid_causal.inference.tester import Tester
from acid_causal.weights.checkpoint import TrainedModel

pytestmark = pytest.mark.filterwarnings("ignore")  # of the package's own


@pytest.fixture
def frame() -> pd.DataFrame:
    """A collider, nonlinear: a and b cause c, c causes d."""
    rng = np.random.default_rng(0)
    a, b, *noise = rng.normal(size=(4, 400))
    c = np.sin(2 * a) + b + 0.3 * noise[0]
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": np.tanh(c) + 0.2 * noise[1]})


def edges_of(test: Any, data: Any, **options: Any) -> set[tuple[Any, ...]]:
    """Finds a graph with pgmpy's PC."""
    from pgmpy.causal_discovery import PC

    options = {"variant": "stable", "show_progress": False} | options
    edges = PC(ci_test=test, **options).fit(data).causal_graph_.edges()
    return {tuple(edge)[:2] for edge in edges}


@pytest.mark.parametrize(
    ("interface", "n_jobs"),
    [
        *(("estimators", 1), ("causal_discovery", 1), ("causal_discovery", 2)),
        # pgmpy's default starts processes that load torch and pgmpy.
        pytest.param("estimators", -1, marks=pytest.mark.slow),
    ],
)
def test_pgmpy_finds_the_graph(frame: pd.DataFrame, interface: str, n_jobs: int) -> None:
    from acid_causal.pgmpy import ACID

    test = ACID(frame)
    if interface == "estimators":
        from pgmpy.estimators import PC

        options = {"n_jobs": n_jobs, "show_progress": False, "return_type": "cpdag"}
        edges = PC(frame).estimate(ci_test=test, **options).edges()
    else:
        from pgmpy.causal_discovery import PC

        search = PC(ci_test=test, n_jobs=n_jobs, show_progress=False)
        edges = search.fit(frame).causal_graph_.edges()
    assert {tuple(edge)[:2] for edge in edges} == {("a", "c"), ("b", "c"), ("c", "d")}


def test_pgmpy_gets_the_testers_answers(frame: pd.DataFrame, tiny_model: TrainedModel) -> None:
    from acid_causal.pgmpy import ACID

    test = ACID(frame, model=tiny_model)
    expected = Tester(frame, model=tiny_model).test(0, 3, (1, 2))
    assert test("a", "d", ["c", "b"], boolean=False) == (expected.statistic, expected.pvalue)
    # As `CITestResult.reject` has it: p <= level rejects.
    assert not test("a", "d", ("b", "c"), significance_level=expected.pvalue)
    assert test("a", "d", {"b", "c"}, significance_level=expected.pvalue - 1e-6)
    assert not test.is_independent("a", "d", ["b", "c"], significance_level=expected.pvalue)
    assert test.run_test("a", "d", ["b", "c"]) == (expected.statistic, expected.pvalue)
    with pytest.raises(OptionError, match="unknown column 'aa'"):
        test("aa", "d")
    with pytest.raises(OptionError, match=r"unknown column \['a'\]"):
        test(["a"], "d")
    with pytest.raises(InputError, match="two of data's are the same"):
        ACID(frame.set_axis(["a", "b", "b", "d"], axis=1), model=tiny_model)
    with pytest.raises(InputError, match=r"some of data's cannot be compared.*rename"):
        ACID(frame.set_axis(["a", 1, "b", "d"], axis=1), model=tiny_model)
    assert "400 rows, 4 columns, model='tiny'" in repr(test)


def test_each_table_gets_its_own_answer(frame: pd.DataFrame, tiny_model: TrainedModel) -> None:
    """A bootstrap hands on one resample after another, and some people change theirs in place."""
    from acid_causal.pgmpy import ACID

    def expected(data: pd.DataFrame) -> tuple[float, float]:
        columns = [list(data.columns).index(name) for name in "adb"]
        result = Tester(data, model=tiny_model).test(columns[0], columns[1], columns[2:])
        return result.statistic, result.pvalue

    test = ACID(frame, model=tiny_model)
    rng = np.random.default_rng(1)
    resamples = [frame.iloc[rng.choice(400, 300, replace=False)] for _ in range(2)]
    others = [frame, frame[:-1], frame[["b", "a", "d"]], *resamples, frame.rename(columns=str)]
    for data in [*others, *others[::-1]]:
        assert test("a", "d", ["b"], data=data, boolean=False) == expected(data)
    changed = frame.copy()
    before = test("a", "d", ["b"], data=changed, boolean=False)
    tester = test.tester
    assert test("a", "b", data=changed.copy()) in (True, False)
    assert test.tester is tester  # equal tables share what is kept of them
    changed["a"] = rng.normal(size=400)
    after = test("a", "d", ["b"], data=changed, boolean=False)
    assert after == expected(changed) != before
    assert (test.statistic_, test.p_value_) == after


@pytest.mark.parametrize("rule", [None, "pvalue", "effect_size"])
def test_pgmpys_rules_of_orientation(frame: pd.DataFrame, rule: str | None) -> None:
    from pgmpy.causal_discovery import PC

    from acid_causal.pgmpy import ACID

    search = PC(ci_test=ACID(frame), orient_rule=rule, n_jobs=1, show_progress=False)
    edges = search.fit(frame).causal_graph_.edges()
    assert {tuple(edge)[:2] for edge in edges} == {("a", "c"), ("b", "c"), ("c", "d")}


def test_the_checked_null_decides_at_the_level_of_the_question() -> None:
    from acid_causal.pgmpy import ACID

    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, size=200).astype(float)
    frame = pd.DataFrame({"x": x, "y": x + rng.integers(0, 3, size=200)})
    test = ACID(frame, null="checked")
    for level in (0.05, 0.01, 0.05):
        assert not test("x", "y", significance_level=level)
        assert test.tester.alpha == level
        assert test.p_value_ <= level
    fixed = ACID(frame, null="checked", alpha=0.02)
    fixed("x", "y", significance_level=0.05)
    assert fixed.tester.alpha == 0.02
    with pytest.raises(OptionError, match=r"999 or more at alpha = 0\.001"):
        ACID(frame, null="permutation")("x", "y", significance_level=0.001)


def test_pgmpys_categories(frame: pd.DataFrame) -> None:
    from pgmpy.causal_discovery import PC

    from acid_causal.pgmpy import ACID

    mixed = pd.DataFrame({"a": frame["a"], "b": frame["b"], "code": np.arange(400) % 3})
    mixed["kind"] = pd.Categorical(np.where(frame["a"] + frame["b"] > 0, "up", "down"))
    test = ACID(mixed, categorical=["code"])
    assert test.tester.table.categories == {2: ("0", "1", "2"), 3: ("down", "up")}
    found = PC(ci_test=test, n_jobs=1, show_progress=False).fit(mixed)
    assert {tuple(edge)[:2] for edge in found.causal_graph_.edges()} == {
        ("a", "kind"),
        ("b", "kind"),
    }
    tester = test.tester
    test("a", "kind", data=mixed.assign(kind=mixed["kind"].astype(str)))
    assert test.tester is tester  # the same levels
    test("a", "kind", data=mixed.assign(kind=mixed["kind"].cat.as_ordered()))
    assert test.tester is not tester
    assert list(test.tester.table.ordered) == [3]


@pytest.fixture
def other(frame: pd.DataFrame) -> pd.DataFrame:
    """A table with the same columns, which are independent."""
    rng = np.random.default_rng(2)
    return frame.apply(lambda column: rng.permutation(column))


@pytest.mark.parametrize("options", [{}, {"variant": "parallel", "n_jobs": 2}])
def test_by_its_name_the_test_is_made_of_the_table_of_fit(
    frame: pd.DataFrame, other: pd.DataFrame, options: dict[str, Any]
) -> None:
    collider = {("a", "c"), ("b", "c"), ("c", "d")}
    for _ in range(2):
        assert edges_of("acid", frame, **options) == collider
        assert edges_of("acid", other, **options) == set()
    part = other.copy()
    part.iloc[:, :2] = frame.iloc[:, :2]
    assert edges_of("acid", part, **options) == set()


def test_the_class_is_no_test(frame: pd.DataFrame) -> None:
    from acid_causal.pgmpy import ACID

    with pytest.raises(InputTypeError, match='give pgmpy ci_test="acid", or ACID'):
        edges_of(ACID, frame)


def test_the_adapter_can_be_loaded_anew(frame: pd.DataFrame) -> None:
    import acid_causal.pgmpy as adapter

    before = adapter.ACID(frame).run_test("a", "b")
    again = importlib.reload(adapter)
    assert again.ACID(frame).run_test("a", "b") == before


def test_a_test_without_a_level_has_that_of_its_options(frame: pd.DataFrame) -> None:
    """As pgmpy's functions ask that compare p-values by themselves."""
    from acid_causal.pgmpy import ACID

    test = ACID(frame, null="checked", alpha=0.001)
    _, pvalue = test.run_test("b", "c")
    assert pvalue <= 0.001


def test_a_test_with_options_has_a_name(frame: pd.DataFrame, tiny_model: TrainedModel) -> None:
    from pgmpy.causal_discovery import PC

    from acid_causal.pgmpy import ACID, register

    register("ACID-Tiny", model=tiny_model, alpha=0.02)
    search = PC(ci_test="acid-tiny", variant="stable", show_progress=False).fit(frame)
    test = search.ci_test_
    assert isinstance(test, ACID)
    assert test.tester.model is tiny_model
    assert pickle.loads(pickle.dumps(search)).ci_test_.tester.fingerprint == test.tester.fingerprint
    register("acid-tiny", model=tiny_model, null="permutation", permutations=39)
    with pytest.raises(OptionError, match=r"99 or more at alpha = 0\.01"):
        edges_of("acid-tiny", frame, significance_level=0.01)
    with pytest.raises(InputError, match="pgmpy has its own test 'pearsonr'"):
        register("pearsonr")
    with pytest.raises(OptionError, match=r"unknown option of acid 'nul'.*null"):
        register("acid-tiny", nul="checked")


def test_pgmpys_other_functions_ask(frame: pd.DataFrame) -> None:
    from pgmpy.base import DAG
    from pgmpy.metrics import ImpliedCIs

    from acid_causal.pgmpy import ACID

    graph = DAG([("a", "c"), ("b", "c"), ("c", "d")])
    expected = [Tester(frame).test(*question).pvalue for question in ((0, 1), (0, 3, (2,)))]
    for test in ("acid", ACID(frame)):
        told = ImpliedCIs(ci_test=test, show_progress=False).evaluate(frame, graph)
        assert told["p-value"][:2].tolist() == expected
        assert set(graph.edge_strength(frame, ci_test=test)) == set(graph.edges())


def test_the_least_p_value_of_a_permutation_test_rejects(frame: pd.DataFrame) -> None:
    from acid_causal.pgmpy import ACID

    test = ACID(frame, null="permutation", permutations=19)
    assert not test("b", "c", significance_level=0.05)
    assert test.p_value_ == 0.05


def test_arrays_have_pgmpys_names(frame: pd.DataFrame) -> None:
    from acid_causal.pgmpy import ACID

    array = frame.to_numpy()
    collider = {("x0", "x2"), ("x1", "x2"), ("x2", "x3")}
    assert edges_of("acid", array) == edges_of(ACID(array), array) == collider
    assert edges_of(ACID(array), pd.DataFrame(array)) == {(0, 2), (1, 2), (2, 3)}
    assert ACID(array).run_test(0, 2) == ACID(array.tolist()).run_test("x0", "x2")
    codes = np.column_stack([array, np.arange(400) % 3])
    assert list(ACID(codes, categorical=["x4"]).tester.table.categories) == [4]
    with pytest.raises(OptionError, match="unknown column 'x4'"):
        ACID(array).run_test("x0", "x4")


def test_frames_of_other_packages(frame: pd.DataFrame, tiny_model: TrainedModel) -> None:
    from acid_causal.pgmpy import ACID

    expected = ACID(frame, model=tiny_model).run_test("a", "d", ["b"])
    for data in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert ACID(data, model=tiny_model).run_test("a", "d", ["b"]) == expected
    polars = pl.from_pandas(frame)
    test = ACID(polars, model=tiny_model)
    edges = edges_of(test, polars)  # pgmpy calls these columns x0 to x3
    assert edges <= {(f"x{i}", f"x{j}") for i in range(4) for j in range(4)}
    swapped = polars.rename({"a": "x1", "b": "x0"})
    with pytest.raises(InputError, match="pgmpy calls the columns of this table x0, x1"):
        ACID(swapped, model=tiny_model)
