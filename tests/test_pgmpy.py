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


@pytest.mark.parametrize("interface", ["estimators", "causal_discovery"])
def test_pgmpy_finds_the_graph(frame: pd.DataFrame, interface: str) -> None:
    from acid_causal.pgmpy import ACID

    test = ACID(frame)
    if interface == "estimators":
        from pgmpy.estimators import PC

        edges = PC(frame).estimate(ci_test=test, show_progress=False, return_type="cpdag").edges()
    else:
        from pgmpy.causal_discovery import PC

        edges = PC(ci_test=test, show_progress=False).fit(frame).causal_graph_.edges()
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
    assert test("a", "d", boolean=False, data=frame.copy()) == test("a", "d", boolean=False)
    for other in (frame[:-1], frame[["b", "a", "c", "d"]]):
        with pytest.raises(InputError, match="this test was made of another one"):
            test("a", "d", data=other)
    with pytest.raises(InputError, match="two of data's are the same"):
        ACID(frame.set_axis(["a", "b", "b", "d"], axis=1), model=tiny_model)
