"""Null distributions: fits against known parameters."""

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.stats import kstest, skewnorm

from acid_causal.calibration.designs import CATEGORY_COVARIATES
from acid_causal.calibration.facts import Facts
from acid_causal.calibration.null import NullDistribution
from acid_causal.calibration.null_regression import NullRegression
from acid_causal.calibration.reference import Reference
from acid_causal.errors import OptionError


def facts(m: int, rng: np.random.Generator) -> Facts:
    return Facts(
        n=np.exp(rng.uniform(np.log(50), np.log(1000), m)),
        d_z=rng.integers(0, 11, m).astype(float),
        explained_x=rng.uniform(0, 0.9, m),
        explained_y=rng.uniform(0, 0.9, m),
        pairs=np.ones(m),
        nonlinear_x=rng.uniform(0, 1, m),
        nonlinear_y=rng.uniform(0, 1, m),
        categories=np.zeros(m),
        few_values=np.zeros(m),
        ties_x=1 / 50 + np.zeros(m),
        ties_y=1 / 50 + np.zeros(m),
    )


def plain_facts(m: int, rng: np.random.Generator) -> Facts:
    """Facts of which only d_z varies: so fewer questions tell as much of all else."""
    half, some = np.full(m, 0.5), np.full(m, 0.2)
    return replace(
        facts(m, rng),
        n=np.full(m, 300.0),
        d_z=rng.choice([0.0, 3.0], m),
        explained_x=half,
        explained_y=half,
        nonlinear_x=some,
        nonlinear_y=some,
    )


def skewed(rng: np.random.Generator, m: int) -> np.ndarray:
    """Noise that is fitted in fewer steps than normal noise, a saddle of the likelihood."""
    return skewnorm.rvs(2, size=m, random_state=rng)


def fit(statistic: np.ndarray, known: Facts) -> NullDistribution:
    return NullDistribution.fit(statistic, statistic, known)


@pytest.mark.parametrize("shape", [-3.0, 0.0, 2.0])
def test_pooled_fit_finds_a_skew_normal(shape: float) -> None:
    rng = np.random.default_rng(0)
    statistic = skewnorm.rvs(shape, loc=1, scale=2, size=20_000, random_state=rng)
    null = NullDistribution.fit(statistic, statistic[:500], facts(500, rng))  # the others: any
    p = np.exp(null.fitted("pooled").logsf(statistic, facts(20_000, rng)))
    assert kstest(p, "uniform").statistic < 0.012


def test_conditional_fit_holds_in_every_corner() -> None:
    """Where location and spread move with the facts, only the conditional null is uniform."""
    rng = np.random.default_rng(1)

    def draw(m: int) -> tuple[np.ndarray, Facts]:
        f = facts(m, rng)
        a, b = f.covariates()[:, 0], f.covariates()[:, 2]
        noise = skewed(rng, m)
        return 0.5 * a + b + np.exp(0.2 * a - 0.1 * b) * noise, f

    statistic, f = draw(12_000)
    null = NullDistribution.fit(statistic, statistic, f)
    statistic, f = draw(10_000)
    p = {name: np.exp(null.fitted(name).logsf(statistic, f)) for name in ("conditional", "pooled")}
    corner = (f.n > 500) & (f.explained_x > 0.6) & (f.explained_y > 0.6)
    assert corner.sum() > 200
    bound = 1.63 / np.sqrt(corner.sum())  # KS at 1 %
    assert kstest(p["conditional"][corner], "uniform").statistic < bound
    assert kstest(p["pooled"][corner], "uniform").statistic > 2 * bound
    assert kstest(p["conditional"], "uniform").statistic < 0.02


def test_the_sized_null_holds_at_every_size_and_asks_nothing_else() -> None:
    """Its level holds for each n, and what Z explains moves no p-value."""
    rng = np.random.default_rng(7)

    def draw(m: int) -> tuple[np.ndarray, Facts]:
        f = facts(m, rng)
        log_n, log_size, both, *_ = f.covariates().T
        noise = skewed(rng, m)
        return 0.5 * log_n - 0.3 * log_size + 0.5 * both + np.exp(0.2 * log_n) * noise, f

    statistic, f = draw(12_000)
    null = fit(statistic, f)
    statistic, f = draw(10_000)
    p = {name: np.exp(null.fitted(name).logsf(statistic, f)) for name in ("conditional", "sized")}
    for size in (f.n < 100, f.n > 500, f.d_z == 0, f.d_z > 7):
        assert kstest(p["sized"][size], "uniform").statistic < 1.63 / np.sqrt(size.sum())
    unexplained = (f.explained_x < 0.2) & (f.explained_y < 0.2)
    assert kstest(p["sized"][unexplained], "uniform").statistic > 0.15
    assert kstest(p["conditional"][unexplained], "uniform").statistic < 0.05
    other = replace(f, explained_x=f.explained_y, explained_y=0.5 * f.explained_x)
    np.testing.assert_array_equal(p["sized"], np.exp(null.fitted("sized").logsf(statistic, other)))


def test_files_of_before_the_sized_null_say_so() -> None:
    rng = np.random.default_rng(8)
    f = facts(1000, rng)
    table = fit(skewed(rng, 1000), f).to_dict()
    assert sorted(table) == ["conditional", "high", "low", "mended", "pooled", "sized"]
    del table["sized"]
    before = NullDistribution.from_dict(table)
    assert before.to_dict() == table
    with pytest.raises(OptionError, match="no sized null; run `acid-causal calibrate`"):
        before.fitted("sized").logsf(rng.normal(size=1000), f)


def test_heavy_tails_are_mended() -> None:
    """Logits are more skewed than any skew-normal: the levels hold all the same."""
    rng = np.random.default_rng(5)

    def draw(m: int) -> tuple[np.ndarray, Facts]:
        f = facts(m, rng)
        return 0.3 * f.covariates()[:, 2] + rng.lognormal(sigma=0.8, size=m), f

    statistic, f = draw(30_000)
    null = fit(statistic, f)
    statistic, f = draw(30_000)
    p = {name: np.exp(null.fitted(name).logsf(statistic, f)) for name in ("conditional", "pooled")}
    for level in (0.1, 0.05, 0.01, 0.001):
        bound = 4 * np.sqrt(2 * level / 30_000)
        assert abs((p["conditional"] < level).mean() - level) < bound
    assert (p["pooled"] < 0.001).mean() > 0.005
    # Beyond the last point p keeps falling, and never reaches nought.
    far = np.array([50.0, 100.0, 200.0])
    few = Facts(*(np.full(3, v) for v in (200.0, 2.0, 0.3, 0.3, 1.0, *[0.0] * 6)))
    log_p = null.fitted("conditional").logsf(far, few)
    assert (np.diff(log_p) < 0).all()
    assert np.isfinite(log_p).all()


def test_null_is_symmetric_in_x_and_y() -> None:
    rng = np.random.default_rng(2)
    f = facts(500, rng)
    null = fit(skewed(rng, 500), f)
    swapped = replace(
        f,
        explained_x=f.explained_y,
        explained_y=f.explained_x,
        nonlinear_x=f.nonlinear_y,
        nonlinear_y=f.nonlinear_x,
    )
    statistic = rng.normal(size=500)
    np.testing.assert_allclose(
        null.fitted("conditional").logsf(statistic, f),
        null.fitted("conditional").logsf(statistic, swapped),
    )


def test_beyond_the_range_of_the_fit_the_nearest_null_is_used() -> None:
    rng = np.random.default_rng(3)
    null = fit(skewed(rng, 1000), facts(1000, rng))
    one = np.ones(1)
    others = {field.name for field in fields(Facts)} - {"n", "d_z", "pairs"}
    nothing = dict.fromkeys(others, 0 * one)
    far = Facts(n=1e6 * one, d_z=100 * one, pairs=one, **nothing)
    edge = Facts(
        n=200 * np.exp(null.conditional.high[:1]),
        d_z=np.expm1(null.conditional.high[1:2]),
        pairs=one,
        **nothing,
    )
    np.testing.assert_allclose(
        null.fitted("conditional").logsf(one, far), null.fitted("conditional").logsf(one, edge)
    )


def test_kinds_of_questions_with_categories_have_nulls_of_their_own() -> None:
    rng = np.random.default_rng(9)
    known, fresh = (
        replace(
            plain_facts(count, rng),
            n=np.exp(rng.uniform(np.log(50), np.log(1000), count)),
            explained_x=rng.uniform(0, 0.9, count),
            categories=rng.integers(0, 3, count).astype(float),
            pairs=rng.integers(1, 9, count).astype(float),
        )
        for count in (9_000, 20_000)
    )
    # Another location, and another scale, with every category.
    draws = [
        f.categories * (1 + 0.2 * np.log(f.pairs))
        + 0.3 * np.log(f.n)
        + f.explained_x
        - 3
        + (0.6 + f.categories / 4) * skewed(rng, len(f.n))
        for f in (known, fresh)
    ]
    null = NullRegression.fit(draws[0], known.covariates())
    read = NullRegression.from_dict(null.to_dict())
    p = np.exp(read.logsf(draws[1], fresh.covariates()))
    for count in range(3):
        for level in (0.05, 0.01):
            share = np.mean(p[fresh.categories == count] < level)
            assert share == pytest.approx(level, abs=0.25 * level + 0.003)


def test_questions_of_few_values_have_a_null_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(10)
    fit_regression = NullRegression.fit

    def fit_cheaply(statistic: np.ndarray, covariates: np.ndarray) -> NullRegression:
        """Fits the sized null, which is not asked here, to a few questions."""
        count = 500 if covariates.shape[1] == CATEGORY_COVARIATES else len(statistic)
        return fit_regression(statistic[:count], covariates[:count])

    monkeypatch.setattr(NullRegression, "fit", fit_cheaply)

    def draw(m: int) -> tuple[np.ndarray, Facts]:
        pairs = np.array([(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)])
        categories, few = pairs[rng.integers(0, 6, m)].T.astype(float)
        ties = 1 / rng.choice([2, 2, 3, 7, 7], (2, m))
        f = replace(plain_facts(m, rng), categories=categories, few_values=few)
        f = replace(f, ties_x=ties[0], ties_y=ties[1])
        # Few values have a wider distribution; the more of them, the less.
        values = np.log(f.ties_x * f.ties_y) * f.are_few_valued
        scale = np.exp((categories + few) / 4 + values / 8)
        return categories - few + scale * skewed(rng, m), f

    statistic, f = draw(8_000)
    null = NullDistribution.fit(statistic, statistic, f, unbounded=True)
    again = NullDistribution.from_dict(null.to_dict())
    statistic, f = draw(30_000)
    log_p = null.fitted("conditional").logsf(statistic, f)
    np.testing.assert_array_equal(again.fitted("conditional").logsf(statistic, f), log_p)
    p = np.exp(log_p)
    for categories, few in {(0, 0), (0, 2), (1, 1), (2, 0)}:
        some = (f.categories == categories) & (f.few_values == few)
        for of_ties in (f.ties_x < 0.2, f.ties_x > 0.4):
            assert np.mean(p[some & of_ties] < 0.05) == pytest.approx(0.05, abs=0.02)
    # That of numbers does not know of the others.
    numbers = ~f.are_few_valued
    alone = replace(null, few_valued=None).fitted("conditional").logsf(statistic, f)
    np.testing.assert_array_equal(alone[numbers], log_p[numbers])
    assert not np.isclose(alone[~numbers], log_p[~numbers]).any()
    with pytest.raises(ValueError, match="shapes"):
        NullDistribution.from_dict(null.to_dict() | {"few_valued": null.conditional.to_dict()})


def test_unbounded_statistics_hold_in_the_body_and_grow_in_the_tail() -> None:
    rng = np.random.default_rng(8)
    known, fresh = facts(5_000, rng), facts(10_000, rng)
    # The more of a relation is nonlinear the larger is what regressions leave.
    draws = [
        rng.normal(-2, 1, len(f.n)) + 2 * f.nonlinear_x * f.nonlinear_y + 0.3 * np.log(f.n)
        for f in (known, fresh)
    ]
    null = NullRegression.fit(draws[0], known.covariates())
    p = np.exp(null.logsf(draws[1], fresh.covariates()))
    for of_kind in (fresh.d_z == 0, fresh.d_z == 1, fresh.d_z > 3, fresh.nonlinear_x > 0.8):
        assert np.mean(p[of_kind] < 0.05) == pytest.approx(0.05, abs=0.02)
    read = NullRegression.from_dict(null.to_dict())
    statistic, one = np.array([0.0, 3.0, 10.0, 30.0, 100.0]), facts(1, rng)
    alike = Facts(*(np.repeat(value, 5) for value in vars(one).values()))
    log_p = read.logsf(statistic, alike.covariates())
    np.testing.assert_allclose(log_p, null.logsf(statistic, alike.covariates()))
    assert (np.diff(log_p) < 0).all()
    assert log_p[3] < -100
    assert np.isfinite(log_p).all()


def test_survives_its_header() -> None:
    rng = np.random.default_rng(4)
    f = facts(1000, rng)
    null = fit(rng.normal(size=1000), f)
    again = NullDistribution.from_dict(null.to_dict())
    t = rng.normal(size=1000)
    for name in ("conditional", "sized", "pooled"):
        np.testing.assert_array_equal(null.fitted(name).logsf(t, f), again.fitted(name).logsf(t, f))
    with pytest.raises(OptionError, match="pooled"):
        null.fitted("poold").logsf(t, f)
    with pytest.raises(OptionError, match="unknown fitted null 'permutation'"):
        null.fitted("permutation").logsf(t, f)
    assert null.sized is not None
    for broken, message in (
        ({"conditional": [[1.0]]}, "shape"),
        ({"high": [np.nan] * 5}, "not finite"),
        ({"mended": [[0.0, 1.0], [0.0, 0.0]]}, "not increase"),
        ({"pooled": [0.0, 0.0, 1.0]}, "scale"),
        ({"sized": null.sized.to_dict() | {"low": [0.0]}}, "shape"),
    ):
        with pytest.raises(ValueError, match=message):
            NullDistribution.from_dict(null.to_dict() | broken)


def test_the_reference_is_kept_beside_it() -> None:
    rng = np.random.default_rng(6)
    f = facts(1000, rng)
    null = fit(skewed(rng, 1000), f)
    assert "reference" not in null.to_dict()
    numbers = rng.normal(size=(1000, 4))
    reference = Reference.fit(numbers, f.n, f.d_z, f.explained_x)
    again = NullDistribution.from_dict(replace(null, reference=reference).to_dict()).reference
    assert again is not None
    known = (numbers, f.n, f.d_z, f.explained_x)
    np.testing.assert_allclose(again.distance(*known), reference.distance(*known), rtol=0.02)
    broken = {"reference": reference.to_dict() | {"bounds": [0.0]}}
    with pytest.raises(ValueError, match="bounds"):
        NullDistribution.from_dict(null.to_dict() | broken)
