"""The checked null: which questions it checks, and what must not move its answers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from causallearn.search.ConstraintBased.PC import pc
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from acid_causal import acid
from acid_causal.inference.tester import Tester, ci_test
from acid_causal.weights.checkpoint import TrainedModel

MODELS = ("acid-ranks", "acid-base")


def draw(n: int, rho: float, seed: int, d_z: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d_z))
    first, other = rng.normal(size=(2, n))
    x, y = z[:, 0] + first, z[:, -1] + rho * first + np.sqrt(1 - rho**2) * other
    return np.column_stack([x, y, z])


@pytest.mark.parametrize("model", MODELS)
def test_only_would_be_rejections_are_checked(model: str) -> None:
    tables = [draw(150, rho, seed) for rho in (0.0, 0.2, 0.6) for seed in range(6)]
    doubtful = 0
    for table in tables:
        fitted = Tester(table, model=model).test(0, 1, (2,))
        checked = Tester(table, model=model, null="checked").test(0, 1, (2,))
        assert checked.statistic == fitted.statistic
        assert (fitted.null, fitted.draws) == ("conditional", 0)
        doubtful += 0.05 < fitted.pvalue < 0.1
        if fitted.pvalue > 0.05:
            assert checked == fitted
        else:
            assert checked.null == "permutation"
            assert 9 <= checked.draws <= 199
            assert checked.pvalue >= 1 / 200
    assert doubtful


# The statistic of acid-ranks falls where dependence is strong and rows are many.
@pytest.mark.parametrize(
    ("model", "n", "correlations"),
    [
        ("acid-ranks", 200, (0.7, 0.9, 0.99)),
        ("acid-base", 200, (0.7, 0.9, 0.99)),
        ("acid-base", 5000, (0.99,)),
    ],
)
def test_strong_dependence_takes_a_few_dozen_draws(
    model: str, n: int, correlations: tuple[float, ...]
) -> None:
    """Correlations up to .99 given Z are found, whatever the number of rows."""
    for rho in correlations:
        answer = Tester(draw(n, rho, seed=1), model=model, null="checked").test(0, 1, (2,))
        assert answer.reject()
        assert answer.draws == 39


@pytest.mark.parametrize("model", MODELS)
def test_marginal_ranks_need_no_check(model: str) -> None:
    """Without Z and ties the fitted null is that of every table; with ties it is not."""
    table = draw(200, 0.8, seed=2)
    answer = Tester(table, model=model, null="checked").test(0, 1)
    assert (answer.null, answer.draws) == ("conditional", 0)
    assert answer.pvalue < 1e-3
    rounded = Tester(np.round(table), model=model, null="checked").test(0, 1)
    assert (rounded.null, rounded.draws) == ("permutation", 39)


def test_two_squares_of_one_sum() -> None:
    """A case that training missed: the fitted null rejects most of the time, the checked seldom."""
    fitted = checked = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(200, 3))
        square = z.sum(axis=1) ** 2 / 3
        x, y = square + 0.5 * rng.normal(size=(2, 200))
        fitted += ci_test(x, y, z, model="acid-ranks").reject()
        checked += ci_test(x, y, z, model="acid-ranks", null="checked").reject()
    assert checked <= 0.5 * fitted


@pytest.mark.filterwarnings("ignore::acid_causal.errors.AcidWarning")
@pytest.mark.parametrize("kind", ["nothing", "two values"])
def test_the_level_is_exact_where_rows_are_exchangeable(
    tiny_model: TrainedModel, kind: str
) -> None:
    """With discrete tables and no Z, or one of two values, even without training: at most alpha."""
    rng = np.random.default_rng(0)
    tests, alpha = 40, 0.2
    rejected = 0
    for _ in range(tests):
        z = rng.integers(0, 2, size=(40, 1)) if kind == "two values" else np.zeros((40, 1))
        x, y = np.floor(2 * z + rng.exponential(2, size=(2, 40, 1)))
        tester = Tester(np.hstack([x, y, z]), model=tiny_model, null="checked", alpha=alpha)
        rejected += tester.test(0, 1, (2,) if z.any() else ()).reject(alpha)
    assert rejected <= binom.ppf(0.9995, tests, alpha)


# A random table may have a deterministic relation, or be unlike those of training.
@pytest.mark.filterwarnings("ignore::acid_causal.errors.AcidWarning")
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), d_z=st.integers(0, 3), levels=st.sampled_from([None, 3]))
def test_invariances(seed: int, d_z: int, levels: int | None) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 2 + d_z)) @ rng.normal(size=(2 + d_z, 2 + d_z))
    if levels:
        x = np.floor(levels * x.argsort(axis=0).argsort(axis=0) / 60)

    def ask(data: np.ndarray, i: int, j: int, cond: Sequence[int]) -> tuple[Any, int]:
        answer = Tester(data, null="checked").test(i, j, cond)
        return pytest.approx(answer.pvalue, rel=5e-3), answer.draws

    cond = tuple(range(2, 2 + d_z))
    expected = ask(x, 0, 1, cond)
    columns, rows = rng.permutation(2 + d_z), rng.permutation(60)
    inverse = np.argsort(columns)
    assert ask(x[rows], 0, 1, cond) == expected
    assert ask(x, 1, 0, cond[::-1]) == expected
    turned = ask(x[:, columns], inverse[0], inverse[1], [inverse[k] for k in cond])
    assert turned == expected


def test_batches_move_nothing(table: np.ndarray) -> None:
    asked = [(0, 1, ()), (0, 2, ()), (0, 3, (2,)), (1, 4, (2,)), (4, 5, (0, 1)), (2, 3, (0, 1))]
    answers = Tester(table, null="checked").test_many(asked)
    small = Tester(table, null="checked", batch_entries=1, cache_bytes=0)
    for question, together in zip(asked, answers, strict=True):
        alone = small.test(*question)
        assert alone.pvalue == pytest.approx(together.pvalue, rel=1e-3)
        assert (alone.null, alone.draws) == (together.null, together.draws)
    assert {answer.null for answer in answers} == {"conditional", "permutation"}


def test_several_components_are_checked_together() -> None:
    rng = np.random.default_rng(3)
    z, common = rng.normal(size=(200, 2)), rng.normal(size=(200, 1))
    x = z + np.hstack([common, rng.normal(size=(200, 1))])
    y = z[:, [0]] + common + 0.3 * rng.normal(size=(200, 1))
    answer = ci_test(x, y, z, null="checked")
    assert (answer.null, answer.draws) == ("permutation", 39)
    assert ci_test(y, x[:, ::-1], z, null="checked").pvalue == answer.pvalue


def test_doubtful_questions_about_numbers_and_categories_meet_in_a_batch() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = x + rng.normal(size=200)
    table = np.column_stack([x, y, y + rng.normal(size=200), np.digitize(x, [-0.3, 0.3])])
    tester = Tester(table, null="checked", categorical=[3])
    both = tester.test_many([(0, 1, (2,)), (0, 3, (2,))])
    assert [answer.null for answer in both] == ["permutation"] * 2
    alone = [tester.test(0, 1, (2,)), tester.test(0, 3, (2,))]
    assert [one.pvalue for one in both] == [one.pvalue for one in alone]


def test_levels_of_a_category_are_all_kept() -> None:
    """Of ten levels five depend, in a tenth of the rows: a few components would lose them."""
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=300)
        x, y = rng.integers(0, 10, (2, 300))
        alike = (x < 5) & (y < 5) & (rng.random(300) < 0.4)
        table = np.column_stack([x, np.where(alike, x, y), z])
        tester = Tester(table, null="checked", categorical=[0, 1])
        found += tester.test(0, 1, (2,)).reject()
    assert found >= 8


def test_the_fingerprint_knows_level_and_draws(tiny_model: TrainedModel, table: np.ndarray) -> None:
    """p-values that depend on where draws stopped are never served for another level."""

    def fingerprint(**options: Any) -> str:
        return Tester(table, model=tiny_model, **options).fingerprint

    assert fingerprint(null="checked") != fingerprint()
    assert fingerprint(null="checked") == fingerprint(null="checked", alpha=0.05, draws=199)
    assert fingerprint(null="checked") != fingerprint(null="checked", alpha=0.01, draws=199)
    assert fingerprint(null="checked") != fingerprint(null="checked", draws=99)
    assert fingerprint(alpha=0.01) == fingerprint()  # a fitted null decides at no level


def test_a_search_tells_its_level(tiny_model: TrainedModel, table: np.ndarray) -> None:
    options: dict[str, Any] = {"null": "checked", "show_progress": False}
    found = pc(table[:, :4], 0.01, acid, model="acid-ranks", **options)
    pvalues = found.test.pvalue_cache
    assert min(pvalues.values()) <= 0.01
    own = Tester(table[:, :4], model="acid-ranks", null="checked", alpha=0.01)
    assert found.test.data_hash == own.fingerprint
    for question, pvalue in pvalues.items():
        assert pvalue == pytest.approx(own.test(*question).pvalue, rel=1e-3)
    assert set(found.test.statistics) == set(pvalues)
