"""andrey-core's kernel tests: an optional package, so most of this runs only where it is."""

import sys

import numpy as np
import pytest
from questions import question

from acid_causal.errors import OptionError
from benchmarks.harness.search import search
from benchmarks.methods import get_method
from benchmarks.methods.andrey import TESTS

NAMES = tuple(TESTS)
pytestmark = pytest.mark.filterwarnings("ignore:RCoT on fewer than 500 rows")


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, "andrey.core.ci", None)
    with pytest.raises(OptionError, match=r"pip install 'acid-causal\[andrey\]'"):
        get_method(name).pvalues([question(effect=0.0)])


@pytest.mark.parametrize("d_z", [0, 2])
@pytest.mark.parametrize("name", NAMES)
def test_it_tells_dependence(name: str, d_z: int) -> None:
    pytest.importorskip("andrey")
    independent, dependent = get_method(name).pvalues(
        [question(effect=0.0, d_z=d_z), question(effect=1.0, d_z=d_z)]
    )
    assert 0.01 < independent <= 1
    assert 0 <= dependent < 0.01


def test_its_options_are_those_of_the_name() -> None:
    tests = pytest.importorskip("andrey.core.ci_kernel")
    x, y, z = question(effect=0.2)
    assert z is not None
    table = np.hstack([x, y, z])
    for name, test in (
        ("andrey-kci", tests.KCI(table)),
        ("andrey-kci-rank", tests.KCI(table, rank=100)),
        ("andrey-rcot", tests.RCoT(table, seed=0)),
    ):
        assert get_method(name).pvalues([(x, y, z)]) == [test(0, 1, [2, 3])]
    assert not get_method("andrey-kci").reaches(2000, 5)
    assert get_method("andrey-rcot").reaches(2000, 5)


@pytest.mark.parametrize("name", NAMES)
def test_pc_asks_it(name: str) -> None:
    """A chain a -> b -> c: PC removes the edge between its ends."""
    pytest.importorskip("andrey")
    generator = np.random.default_rng(0)
    a = generator.normal(size=200)
    b = np.tanh(2 * a) + 0.4 * generator.normal(size=200)
    c = b**2 + b + 0.4 * generator.normal(size=200)
    found = search("pc", name, np.column_stack([a, b, c]), alpha=0.01)
    adjacent = found.endpoints != 0
    assert adjacent[0, 1]
    assert adjacent[1, 2]
    assert not adjacent[0, 2]
    assert found.tests_computed == len(found.questions)
