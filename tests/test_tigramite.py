"""ACID inside tigramite, the real package."""

import numpy as np
import pytest

from acid_causal.errors import OptionError
from acid_causal.inference.tester import ci_test
from acid_causal.weights.checkpoint import TrainedModel

pytestmark = pytest.mark.filterwarnings("ignore")  # of the package's own


def test_tigramite_finds_lagged_causes() -> None:
    from tigramite.data_processing import DataFrame
    from tigramite.pcmci import PCMCI

    from acid_causal.tigramite import ACID

    rng = np.random.default_rng(1)
    series = rng.normal(size=(300, 2))
    for t in range(1, 300):
        series[t, 1] = 0.4 * series[t, 1] + np.sin(2 * series[t - 1, 0])
    found = PCMCI(DataFrame(series), ACID()).run_pcmci(tau_max=2, pc_alpha=0.05, alpha_level=0.01)
    lagged = [tuple(map(int, edge)) for edge in np.argwhere(found["graph"] == "-->")]
    assert lagged == [(0, 1, 1)]


def test_tigramite_gets_our_answers(tiny_model: TrainedModel) -> None:
    from acid_causal.tigramite import ACID

    x, y, z = np.random.default_rng(2).normal(size=(3, 50, 1))
    test = ACID(model=tiny_model)
    assert (test.measure, test.significance) == ("acid", "analytic")
    expected = ci_test(x, y, z, model=tiny_model)
    assert test.run_test_raw(x, y, z) == (expected.statistic, expected.pvalue)
    with pytest.raises(OptionError, match="significance must be \"analytic\", not 'shuffle_test'"):
        ACID(model=tiny_model, significance="shuffle_test")
