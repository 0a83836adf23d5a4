"""ACID inside tigramite, the real package."""

import re
import warnings

import numpy as np
import pytest

from acid_causal.errors import AcidWarning, InputError, OptionError
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
    with pytest.raises(InputError, match=r"the p-value of the statistic 1\.5 was asked for"):
        test.get_analytic_significance(1.5, 50, 3, np.arange(3))
    with pytest.raises(OptionError, match="significance must be \"analytic\", not 'shuffle_test'"):
        ACID(model=tiny_model, significance="shuffle_test")


def test_tigramite_is_warned_once_and_by_the_names_of_its_nodes(tiny_model: TrainedModel) -> None:
    from tigramite.data_processing import DataFrame
    from tigramite.pcmci import PCMCI

    from acid_causal.tigramite import ACID

    walks = np.floor(np.cumsum(np.random.default_rng(3).normal(size=(150, 3)), axis=0) / 2)
    for names, shown in ((["temp", "wind", "sun"], r"temp\(t-1\), temp\(t\)"), (None, "0.t-1., ")):
        search = PCMCI(DataFrame(walks, var_names=names), ACID(model=tiny_model))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search.run_pcmci(tau_max=2, pc_alpha=0.05)
        told = [str(w.message) for w in caught if issubclass(w.category, AcidWarning)]
        ties = [message for message in told if "few different values" in message]
        assert len(ties) == 1
        assert re.search(shown, ties[0])
        assert len(set(told)) == len(told)
        # That neighbouring rows of a series are alike is known, and what PCMCI is for.
        assert not any("neighbouring rows" in message for message in told)


def test_variables_of_several_components(tiny_model: TrainedModel) -> None:
    from tigramite.data_processing import DataFrame

    from acid_causal.tigramite import ACID

    x = np.random.default_rng(4).normal(size=(100, 4))
    test = ACID(model=tiny_model)
    test.set_dataframe(DataFrame(x, vector_vars={0: [(0, 0), (1, 0)], 1: [(2, 0)], 2: [(3, 0)]}))
    got = test.run_test([(0, 0)], [(1, 0)], [(2, 0)])
    expected = ci_test(x[:, :2], x[:, 2], x[:, 3], model=tiny_model)
    assert got == pytest.approx(tuple(expected))


def test_tigramite_cannot_choose_its_alpha(tiny_model: TrainedModel) -> None:
    from tigramite.data_processing import DataFrame
    from tigramite.pcmci import PCMCI

    from acid_causal.tigramite import ACID

    series = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(OptionError, match=r"give one number, as in run_pcmci\(pc_alpha=0.05\)"):
        PCMCI(DataFrame(series), ACID(model=tiny_model)).run_pcmci(tau_max=1, pc_alpha=None)


def test_tigramite_with_constant_and_periodic_series(tiny_model: TrainedModel) -> None:
    """A clock, a reset line and a constant have p-values, too, all of them numbers."""
    from tigramite.data_processing import DataFrame
    from tigramite.pcmci import PCMCI

    from acid_causal.tigramite import ACID

    step = np.arange(80)
    series = np.stack([np.ones(80), step % 2, step > 40, step % 7], axis=1).astype(float)
    with pytest.warns(AcidWarning):
        found = PCMCI(DataFrame(series), ACID(model=tiny_model)).run_pcmciplus(tau_max=1)
    assert ((found["p_matrix"] >= 0) & (found["p_matrix"] <= 1)).all()
    assert (found["p_matrix"][0, 1:] == 1).all()


def test_options_of_the_checked_null() -> None:
    from acid_causal.tigramite import ACID

    rng = np.random.default_rng(0)
    array = rng.integers(0, 4, size=(2, 200)).astype(float)
    array[1] += array[0]
    test = ACID(null="checked", alpha=0.01)
    value = test.get_dependence_measure(array, np.array([0, 1]))
    assert test.get_analytic_significance(value, 200, 2, np.array([0, 1])) <= 0.01
    with pytest.raises(OptionError, match="draws must be a whole number, 99 or more"):
        ACID(null="checked", alpha=0.01, draws=50).get_dependence_measure(array, np.array([0, 1]))


def test_discrete_series_are_categories(tiny_model: TrainedModel) -> None:
    from tigramite.data_processing import DataFrame
    from tigramite.pcmci import PCMCI

    from acid_causal.tigramite import ACID

    rng = np.random.default_rng(5)
    series = rng.normal(size=(120, 3))
    series[:, 1] = rng.integers(0, 4, 120)
    kinds = np.zeros((120, 3), dtype=int)
    kinds[:, 1] = 1
    kinds[:5, 2] = 1  # not throughout
    test = ACID(model=tiny_model)
    test.set_dataframe(DataFrame(series, data_type=kinds))
    got = test.run_test([(0, 0)], [(1, 0)], [(2, 0)])
    expected = ci_test(series[:, 0], series[:, 1], series[:, 2], model=tiny_model, categorical="y")
    assert got[:2] == pytest.approx(tuple(expected))
    numbers = ci_test(series[:, 0], series[:, 1], series[:, 2], model=tiny_model)
    assert got[0] != pytest.approx(numbers.statistic)
    found = PCMCI(DataFrame(series, data_type=kinds), ACID(model=tiny_model)).run_pcmci(
        tau_max=1, pc_alpha=0.05
    )
    assert np.isfinite(found["p_matrix"]).all()
    # Components of one variable, of both kinds.
    array, xyz = series.T, np.array([0, 0, 1])
    value = test.get_dependence_measure(array, xyz, kinds.T)
    same = ci_test(series[:, :2], series[:, 2], model=tiny_model, categorical="x[X2]")
    assert value == pytest.approx(same.statistic)
    kinds[:, 0] = 1
    other = ACID(model=tiny_model)  # tigramite keeps answers by the values alone
    other.set_dataframe(DataFrame(series, data_type=kinds))
    with pytest.raises(InputError, match=r"the array has categories of too many levels: '0\(t\)'"):
        other.run_test([(0, 0)], [(1, 0)], [(2, 0)])
