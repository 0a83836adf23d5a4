"""Metrics of a conditional independence test, from p-values and labels."""

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.metrics import f1_score, roc_auc_score

# In the order of the CSV. Papers differ in which class is positive for F1, so there are two.
METRICS = ("auc", "f1_dependence", "f1_independence", "type_1", "type_2")


def metrics_of(
    pvalues: NDArray[np.float64], labels: NDArray[np.int64], alpha: float = 0.05
) -> dict[str, float]:
    """Computes the metrics of a test.

    Args:
        pvalues: Shape (datasets,).
        labels: Shape (datasets,): 1 where X and Y are dependent given Z, 0 where H0 is true.
        alpha: Level of the decisions; the area under the ROC curve does not depend on it.

    Returns:
        A value for each name in `METRICS`.
    """
    rejected = (pvalues < alpha).astype(np.int64)
    return {
        "auc": float(roc_auc_score(labels, -pvalues)),
        "f1_dependence": float(f1_score(labels, rejected, pos_label=1, zero_division=0.0)),
        "f1_independence": float(f1_score(labels, rejected, pos_label=0, zero_division=0.0)),
        "type_1": float(rejected[labels == 0].mean()),
        "type_2": float(1 - rejected[labels == 1].mean()),
    }


def fold_interval(
    values: NDArray[np.float64], level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the mean over folds and the half width of its Student t interval.

    Args:
        values: One value, or several, for each fold: shape (folds, ...), at least two folds.
        level: Coverage of the interval.
    """
    # scipy.stats.t and sem give the same numbers, twenty times slower.
    standard_error = np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
    half = special.stdtrit(len(values) - 1, (1 + level) / 2) * standard_error
    return np.mean(values, axis=0), half
