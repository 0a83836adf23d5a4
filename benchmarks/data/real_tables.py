"""Real tables that come with installed packages, for benchmarks."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn import datasets

from acid_causal.data.sachs import load_sachs
from acid_causal.errors import unknown

Array = NDArray[np.float64]


def _with_target(loaded: tuple[Array, Array]) -> Array:
    return np.column_stack(loaded).astype(float)


def _diabetes() -> Array:
    return _with_target(datasets.load_diabetes(return_X_y=True, scaled=False))


def _marriage() -> Array:
    """Fair's survey of 1974; occupations, his and hers, are codes of six levels, here from 0."""
    from statsmodels.datasets import fair  # slow to import, and only this table needs it

    table = fair.load_pandas().data.to_numpy(float)
    table[:, list(CATEGORIES["marriage"])] -= 1
    return table


# Rows x columns: 853 x 11, 442 x 11, 178 x 14, 569 x 31, 6366 x 9.
TABLES: dict[str, Callable[[], Array]] = {
    "sachs": lambda: load_sachs().data,
    "diabetes": _diabetes,
    "wine": lambda: _with_target(datasets.load_wine(return_X_y=True)),
    "breast-cancer": lambda: _with_target(datasets.load_breast_cancer(return_X_y=True)),
    "marriage": _marriage,
}
# Columns that are unordered categories.
CATEGORIES: dict[str, tuple[int, ...]] = {"marriage": (6, 7)}
# Ending of a table's name that asks for a coarse copy.
COARSE = "-coarse"


def real_table(name: str) -> Array:
    """Loads a table of shape (n, d), or with the ending "-coarse" a copy with few distinct values.

    Raises:
        OptionError: There is no such table.
    """
    plain = name.removesuffix(COARSE)
    if plain not in TABLES:
        raise unknown("table", name, TABLES)
    data = TABLES[plain]()
    return coarse(data) if name.endswith(COARSE) else data


def coarse(data: Array) -> Array:
    """Cuts every third column in two, every third into five uneven levels, and leaves the rest."""
    share = (stats.rankdata(data, axis=0) - 0.5) / len(data)
    columns = np.arange(data.shape[1])
    two, five = columns % 3 == 0, columns % 3 == 1
    cut = data.copy()
    cut[:, two] = share[:, two] > np.where(columns[two] % 2, 0.7, 0.3)
    cut[:, five] = np.floor(5 * share[:, five] ** 2)
    return cut
