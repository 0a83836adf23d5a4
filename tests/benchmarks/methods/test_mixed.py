"""The tests that take mixed tables."""

import numpy as np
import pytest

from acid_causal.errors import OptionError
from acid_causal.inference.tester import ci_test
from benchmarks.methods import mixed
from benchmarks.methods.mixed import mixed_method


def question(dependent: bool, numeric: bool = True) -> tuple[np.ndarray, list[int]]:
    """A category of three levels, with its effect on Y, given a binary cause of Y."""
    n, rng = 300, np.random.default_rng(0)
    x, z = rng.integers(0, 3, n), rng.integers(0, 2, n)
    y = rng.normal(size=n) + z + dependent * np.array([0, 1.5, -0.5])[x]
    y = y if numeric else np.digitize(y, [-0.5, 0.8]).astype(float)
    return np.stack([x, y, z], axis=1).astype(float), [0, 2] if numeric else [0, 1, 2]


@pytest.mark.parametrize("name", ["acid", "degen_gauss", "cond_gauss", "pillai", "chisq", "gsq"])
def test_each_test_tells_dependence(name: str) -> None:
    numeric = name not in mixed.ALL_CATEGORICAL
    answer = mixed_method(name)
    assert answer(*question(True, numeric)) < 0.001
    assert answer(*question(False, numeric)) > 0.01


def test_cmiknn_mixed_is_tigramites() -> None:
    """It tells dependence as far as 100 permutations can, and is told the categories."""
    tests = pytest.importorskip("tigramite.independence_tests.cmiknn_mixed")
    answer = mixed_method("cmiknn-mixed")
    table, codes = (question(True)[0][:60], question(True)[1])
    pvalue = answer(table, codes)
    assert pvalue == pytest.approx(1 / 101)
    test = tests.CMIknnMixed(workers=1, sig_samples=100)
    types = np.tile(np.isin(range(3), codes).astype(int), (60, 1))
    x, y, z = (table[:, [k]] for k in range(3))
    kinds = {f"{name}_type": types[:, [k]] for k, name in enumerate("xyz")}
    assert test.run_test_raw(x, y, z, **kinds)[1] == pvalue
    independent = question(False)[0][:60]
    categories = answer(independent, codes)
    assert categories > 0.05
    assert answer(independent, []) != categories


def test_acid_is_told_the_categories() -> None:
    asked = question(True)
    x, y, z = asked[0].T
    expected = ci_test(x, y, z, categorical=["x", "z"])
    assert mixed_method("acid")(*asked) == pytest.approx(expected.pvalue)
    codes = ci_test(x, y, z)
    assert mixed_method("acid-codes")(*asked) == pytest.approx(codes.pvalue)
    checked = ci_test(x, y, z, categorical=["x", "z"], null="checked")
    assert checked.null == "permutation"
    assert mixed_method("acid-checked")(*asked) == pytest.approx(checked.pvalue)


def test_what_cannot_be_computed_rejects_nothing() -> None:
    assert mixed._number(float("nan")) == 1.0
    assert mixed._number(0.25) == 0.25


def test_unknown_and_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="unknown method 'gauss'"):
        mixed_method("gauss")
    monkeypatch.setitem(__import__("sys").modules, "andrey.core.ci", None)
    with pytest.raises(OptionError, match=r"pip install 'acid-causal\[andrey\]'"):
        mixed_method("degen_gauss")(*question(True))
