"""ACID inside tigramite, the real package."""

import math
import re
import warnings
from typing import Any

import numpy as np
import pytest

from acid_causal.errors import AcidWarning, InputError, OptionError
from acid_causal.inference.tester import ci_test
from acid_causal.weights.checkpoint import TrainedModel

pytestmark = pytest.mark.filterwarnings("ignore")  # of the package's own


def value(statistic: float) -> float:
    """What tigramite is told, which ranks links by absolute values."""
    return math.log1p(math.exp(statistic))


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
    assert test.run_test_raw(x, y, z) == pytest.approx((value(expected.statistic), expected.pvalue))
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
    assert got == pytest.approx((value(expected.statistic), expected.pvalue))


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
    measured = test.get_dependence_measure(array, np.array([0, 1]))
    assert test.get_analytic_significance(measured, 200, 2, np.array([0, 1])) <= 0.01
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
    assert got[:2] == pytest.approx((value(expected.statistic), expected.pvalue))
    numbers = ci_test(series[:, 0], series[:, 1], series[:, 2], model=tiny_model)
    assert got[0] != pytest.approx(value(numbers.statistic))
    found = PCMCI(DataFrame(series, data_type=kinds), ACID(model=tiny_model)).run_pcmci(
        tau_max=1, pc_alpha=0.05
    )
    assert np.isfinite(found["p_matrix"]).all()
    # Components of one variable, of both kinds.
    array, xyz = series.T, np.array([0, 0, 1])
    measured = test.get_dependence_measure(array, xyz, kinds.T)
    same = ci_test(series[:, :2], series[:, 2], model=tiny_model, categorical="x[X2]")
    assert measured == pytest.approx(value(same.statistic))
    kinds[:, 0] = 1
    other = ACID(model=tiny_model)  # tigramite keeps answers by the values alone
    other.set_dataframe(DataFrame(series, data_type=kinds))
    with pytest.raises(InputError, match=r"the array has categories of too many levels: '0\(t\)'"):
        other.run_test([(0, 0)], [(1, 0)], [(2, 0)])


@pytest.fixture
def codes() -> np.ndarray:
    """The first causes the second one step later; both have few values."""
    rng = np.random.default_rng(0)
    series = rng.integers(0, 4, size=(200, 2)).astype(float)
    series[1:, 1] += series[:-1, 0]
    return series


def test_the_level_is_that_of_the_question(codes: np.ndarray) -> None:
    """A checked p-value stops at 1 / 40 at a level of .05, and nothing could be found at .01."""
    from tigramite.data_processing import DataFrame
    from tigramite.pcmci import PCMCI

    from acid_causal.tigramite import ACID

    search = PCMCI(DataFrame(codes), ACID(null="checked"))
    found = search.run_pcmci(tau_max=1, pc_alpha=0.05, alpha_level=0.01)
    assert found["graph"][0, 1, 1] == "-->"
    assert found["p_matrix"][0, 1, 1] <= 0.01


@pytest.mark.parametrize("given", [None, 0.02])
def test_answers_of_one_level_are_not_kept_for_another(
    codes: np.ndarray, given: float | None
) -> None:
    from tigramite.data_processing import DataFrame

    from acid_causal.tigramite import ACID

    test = ACID(null="checked", alpha=given)
    test.set_dataframe(DataFrame(codes))
    x, y = codes[:-1, :1], codes[1:, 1:]
    for level in (0.05, 0.01, 0.05, 999.0):  # the last is a dummy of tigramite's own
        alpha = given or (level if level < 1 else 0.05)
        expected = ci_test(x, y, null="checked", alpha=alpha)
        told = pytest.approx((value(expected.statistic), expected.pvalue, True))
        link: dict[str, Any] = {"X": [(0, -1)], "Y": [(1, 0)], "cut_off": "max_lag"}
        assert test.run_test(**link, alpha_or_thres=level) == told
        assert test.run_test_raw(x, y, alpha_or_thres=level) == told
        assert test.run_test_raw(x, y, None, None, None, None, level) == told
        assert test.run_test(**link) == test.run_test_raw(x, y)
    assert len(test.cached_ci_results) == (1 if given else 2)


def test_too_few_permutations_for_the_level(codes: np.ndarray, tiny_model: TrainedModel) -> None:
    from tigramite.data_processing import DataFrame
    from tigramite.pcmci import PCMCI

    from acid_causal.tigramite import ACID

    search = PCMCI(DataFrame(codes), ACID(model=tiny_model, null="permutation", permutations=19))
    search.run_pcmci(tau_max=1, pc_alpha=0.05, alpha_level=0.05)
    with pytest.raises(OptionError, match=r"99 or more at alpha = 0\.01"):
        search.run_pcmci(tau_max=1, pc_alpha=0.05, alpha_level=0.01)


def test_tigramite_ranks_links_by_dependence() -> None:
    """A link with a logit far below 0 is the weakest one."""
    from tigramite.data_processing import DataFrame
    from tigramite.pcmci import PCMCI

    from acid_causal.tigramite import ACID

    series = np.random.default_rng(0).normal(size=(300, 4))
    series[1:, 3] = 0.15 * series[:-1, 0] + 2 * np.tanh(series[:-1, 2])
    series[1:, 3] += np.random.default_rng(1).normal(size=299)
    logits = [ci_test(series[:-1, k], series[1:, 3]).statistic for k in range(3)]
    assert abs(logits[1]) > abs(logits[0])
    assert logits[2] > logits[0] > logits[1]
    search = PCMCI(DataFrame(series), ACID())
    values = search.run_bivci(tau_max=1)["val_matrix"][:3, 3, 1]
    assert (values >= 0).all()
    assert search._sort_parents(dict(enumerate(values))) == [2, 0, 1]
