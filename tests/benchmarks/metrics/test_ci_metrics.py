import numpy as np
import pytest

from benchmarks.metrics.ci_metrics import METRICS, fold_interval, metrics_of


def test_metrics_by_hand() -> None:
    # Dependent: p = .01, .20, .02; independent: p = .03, .50, .90.
    pvalues = np.array([0.01, 0.03, 0.20, 0.50, 0.02, 0.90])
    labels = np.array([1, 0, 1, 0, 1, 0])
    metrics = metrics_of(pvalues, labels)
    assert tuple(metrics) == METRICS
    # Of the nine pairs (dependent, independent) only .20 against .03 is the wrong way round.
    assert metrics["auc"] == pytest.approx(8 / 9)
    # At .05: two hits, one miss, one false alarm, two correct acceptances.
    assert metrics["type_1"] == pytest.approx(1 / 3)
    assert metrics["type_2"] == pytest.approx(1 / 3)
    assert metrics["f1_dependence"] == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert metrics["f1_independence"] == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))


def test_a_test_that_always_rejects_tells_nothing() -> None:
    metrics = metrics_of(np.zeros(4), np.array([0, 1, 0, 1]))
    assert metrics["auc"] == 0.5
    assert (metrics["type_1"], metrics["type_2"]) == (1.0, 0.0)
    assert metrics["f1_independence"] == 0.0


def test_interval_over_folds_by_hand() -> None:
    # Mean .5, sd .1, five folds; the 97.5 % point of Student's t with 4 degrees is 2.776.
    values = 0.5 + 0.1 * np.sqrt(2.0) * np.array([-1.0, 1.0, 0.0, 0.0, 0.0])
    mean, half = fold_interval(values)
    assert mean == pytest.approx(0.5)
    assert half == pytest.approx(2.776 * 0.1 / np.sqrt(5), rel=1e-3)


def test_interval_over_equal_folds_has_no_width() -> None:
    mean, half = fold_interval(np.ones(5))
    assert mean == 1.0
    assert half == 0.0
