"""ACID inside pgmpy, the real package."""

import numpy as np
import pandas as pd
import pytest

from acid_causal.errors import InputError, OptionError
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


@pytest.mark.parametrize(
    ("interface", "n_jobs"),
    [
        *(("estimators", 1), ("causal_discovery", 1)),
        # pgmpy's default starts processes that load torch and pgmpy.
        pytest.param("estimators", -1, marks=pytest.mark.slow),
        pytest.param("causal_discovery", -1, marks=pytest.mark.slow),
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
    assert test("a", "d", ("b", "c"), significance_level=expected.pvalue)
    assert not test("a", "d", {"b", "c"}, significance_level=expected.pvalue + 1e-6)
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
