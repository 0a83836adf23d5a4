"""GCM: the generalised covariance measure, with gradient-boosted regressions.

References:
    Shah and Peters, "The Hardness of Conditional Independence Testing and the Generalised
    Covariance Measure", Annals of Statistics 2020.
"""

import numpy as np
from scipy import stats
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold

from benchmarks.methods.method import (
    Array,
    Method,
    one_by_one,
    random_seed,
    single_columns,
    standardised,
)

FOLDS = 5
TREES = {"max_leaf_nodes": 8, "min_samples_leaf": 5}
SMALLEST_N = 20


def gcm(x: Array, y: Array, z: Array | None) -> float:
    """Tests whether the residuals of X and Y given Z are uncorrelated.

    Args:
        x: Shape (n, 1).
        y: Shape (n, 1).
        z: Shape (n, d_z), or None.

    Returns:
        Two-sided p-value of `sqrt(n) mean(R) / sd(R)` with `R = r_x r_y`, by the normal law.

    Raises:
        InputError: More than one column each, or one that does not vary.
    """
    x, y, z = single_columns("GCM", x, y, z)
    seed = random_seed()
    product = residual(standardised(x), z, seed) * residual(standardised(y), z, seed)
    with np.errstate(divide="ignore"):  # a product that never varies is infinitely significant
        statistic = np.sqrt(len(product)) * product.mean() / product.std()
    return float(2 * stats.norm.sf(abs(statistic)))


def residual(values: Array, z: Array, seed: int) -> Array:
    """Returns the residuals of a variable given Z, by cross-validated boosted trees.

    The authors choose the number of trees by cross-validation and then predict in-sample. Boosted
    trees nearly fit their training rows, which costs power, so here each row is predicted by trees
    of the other folds, with the number of trees that has the least error. Trees and leaves are
    smaller than scikit-learn's defaults: in large leaves the rows in the tails of Z are predicted
    badly, and what is left of a common cause looks like dependence.

    Args:
        values: Centred, shape (n,).
        z: Shape (n, d_z); if it has no columns, the values are returned unchanged.
        seed: Seed of the folds and of the trees.
    """
    if not z.shape[1]:
        return values
    trees = HistGradientBoostingRegressor(**TREES, random_state=seed)
    predicted = np.empty((trees.max_iter, len(values)))
    for learn, ask in KFold(FOLDS, shuffle=True, random_state=seed).split(z):
        trees.fit(z[learn], values[learn])
        predicted[:, ask] = np.stack(list(trees.staged_predict(z[ask])))
    left = values - predicted
    return left[np.argmin((left**2).mean(axis=1))]


METHODS = (
    Method(
        "gcm",
        one_by_one(gcm),
        lambda n, d_z: n >= SMALLEST_N,
        f"out-of-fold predictions of boosted trees; runs at n >= {SMALLEST_N}.",
    ),
)
