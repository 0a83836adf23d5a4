"""causalts' KCI: an optional package, so most of this runs only where it is installed."""

import sys

import numpy as np
import pytest
from questions import question

from acid_causal.errors import OptionError
from benchmarks.methods import get_method


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "causalts.ci_tests", None)
    with pytest.raises(OptionError, match=r"pip install 'acid-causal\[causalts\]'"):
        get_method("causalts").pvalues([question(effect=0.0)])


@pytest.mark.parametrize("d_z", [0, 2])
def test_it_tells_dependence(d_z: int) -> None:
    pytest.importorskip("causalts.ci_tests")
    independent, dependent = get_method("causalts").pvalues(
        [question(effect=0.0, d_z=d_z), question(effect=1.0, d_z=d_z)]
    )
    assert 0.01 < independent <= 1
    assert 0 <= dependent < 0.01


def test_it_takes_several_columns() -> None:
    pytest.importorskip("causalts.ci_tests")
    x, y, z = question(effect=0.0)
    noise = np.random.default_rng(1).normal(size=y.shape)
    assert get_method("causalts").pvalues([(x, np.hstack([noise, x**2]), z)])[0] < 0.01
    assert get_method("causalts").pvalues([(x, np.hstack([noise, y]), z)])[0] > 0.01


def test_its_defaults_are_used() -> None:
    kci = pytest.importorskip("causalts.ci_tests.kci_gpu")
    x, y, z = question(effect=0.0)
    assert z is not None
    table = np.hstack([x, y, z])
    expected, _ = kci.KCIGPU(table)(0, 1, [2, 3])
    # Single precision: the two ways of naming a column differ in their rounding.
    assert get_method("causalts").pvalues([(x, y, z)])[0] == pytest.approx(expected, rel=1e-3)
    assert not get_method("causalts").reaches(5, 10)
