"""The stages of a permutation test: exact p-values wherever it stops."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from acid_causal.errors import OptionError
from acid_causal.inference.nulls import sequential
from acid_causal.inference.nulls.sequential import DrawPlan, make_plan


def stop(plan: DrawPlan, reaches: np.ndarray) -> tuple[float, int]:
    """Runs a test on given draws; returns its p-value and the number of draws."""
    for k, stage in enumerate(plan.stages):
        reached = int(reaches[: stage.draws].sum())
        if reached <= stage.reject or reached >= stage.accept:
            return plan.pvalue(k, reached), stage.draws
    raise AssertionError("no stage has stopped the test")


@pytest.mark.parametrize(
    ("alpha", "draws"), [(0.05, None), (0.01, None), (0.2, None), (0.05, 60), (0.05, 19), (0.5, 3)]
)
def test_pvalues_are_valid_at_every_level(alpha: float, draws: int | None) -> None:
    """P(p <= t) <= t for every p-value t that can occur: its law is computed, not simulated."""
    plan = make_plan(alpha, draws)
    law = dict(plan._law())
    assert sum(law.values()) == pytest.approx(1)
    p = np.array([plan.pvalue(*point) for point in law])
    order = np.argsort(p, kind="stable")
    total = np.cumsum(np.array(list(law.values()))[order])
    last = np.append(np.diff(p[order]) > 0, True)  # of equal p-values
    assert (total[last] <= p[order][last] + 1e-9).all()


def test_pvalues_are_uniform_when_statistics_are_exchangeable() -> None:
    """The same by simulation, which does not know how the law was computed."""
    rng = np.random.default_rng(0)
    plan, tests = make_plan(0.05, None), 4000
    statistics = rng.normal(size=(tests, 200))
    reaches = statistics[:, 1:] >= statistics[:, :1]
    p = np.array([stop(plan, row)[0] for row in reaches])
    for level in (0.025, 0.05, 0.1, 0.5):
        low, high = binom.ppf([0.0005, 0.9995], tests, level)
        assert (p <= level).sum() <= high
        assert level == 0.5 or (p <= level).sum() >= 0.8 * low


def test_one_stage_counts_all_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequential, "_STAGES", ())
    plan = DrawPlan(0.05, 19)
    assert [plan.pvalue(0, r) for r in range(20)] == [
        pytest.approx((1 + r) / 20) for r in range(20)
    ]
    assert plan.pvalue(0, 0) <= 0.05


def test_clear_cases_take_few_draws() -> None:
    plan = make_plan(0.05, None)
    assert stop(plan, np.zeros(199)) == (0.025, 39)
    assert stop(plan, np.ones(199))[1] == 9
    assert stop(plan, np.arange(199) % 2)[1] == 9
    # At the level itself nothing is clear.
    assert stop(plan, np.arange(199) % 20 == 7)[1] == 199


@pytest.mark.parametrize("p", [0.0, 0.005, 0.01, 0.04, 0.07, 0.12, 0.3])
def test_the_decision_is_nearly_that_of_all_draws(p: float) -> None:
    """The probability to reject, by p-value of infinitely many draws, is computed exactly."""
    plan = make_plan(0.05, None)
    going, before, rejects = {0: 1.0}, 0, 0.0
    for k, stage in enumerate(plan.stages):
        more = stage.draws - before
        chance = np.zeros(stage.draws + 1)
        for r, w in going.items():
            chance[r : r + more + 1] += w * binom.pmf(np.arange(more + 1), more, p)
        stops = [r <= stage.reject or r >= stage.accept for r in range(stage.draws + 1)]
        rejects += sum(
            chance[r] for r in np.flatnonzero(stops).tolist() if plan.pvalue(k, r) <= 0.05
        )
        going = {r: chance[r] for r in np.flatnonzero(~np.array(stops)).tolist()}
        before = stage.draws
    error = 0.01 if p <= 0.01 or p >= 0.12 else 0.1
    assert abs(rejects - binom.cdf(9, 199, p)) <= error


def test_earlier_rejections_have_smaller_pvalues() -> None:
    plan = make_plan(0.05, None)
    rejections = [
        plan.pvalue(k, r)
        for k, stage in enumerate(plan.stages[:-1])
        for r in range(stage.reject + 1)
        if (k, r) in plan._pvalues
    ]
    assert rejections == sorted(rejections)
    assert max(rejections) <= 0.05


@pytest.mark.parametrize(
    ("alpha", "draws", "message"),
    [
        (0.0, None, "alpha must be between 0 and 1"),
        (1.0, None, "alpha must be between 0 and 1"),
        ("0.05", None, "alpha must be between 0 and 1"),
        (0.05, 18, "draws must be a whole number, 19 or more at alpha = 0.05"),
        (0.01, 98, "99 or more"),
        (0.05, 99.0, "draws must be a whole number"),
        (0.05, True, "draws must be a whole number"),
    ],
)
@pytest.mark.usefixtures("wrong_types")
def test_wrong_options_are_refused(alpha: Any, draws: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make_plan(alpha, draws)


def test_draws_follow_from_alpha() -> None:
    assert make_plan(0.05, None).draws == 199
    assert make_plan(0.01, None).draws == 999
    assert make_plan(0.05, 19).stages[-1].draws == 19
