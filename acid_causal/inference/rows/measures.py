"""What the columns of some rows are like: constant, discrete, in order of time."""

from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy.typing import NDArray

from acid_causal.model.transform import rank_normal
from acid_causal.tables.inputs import Columns

# A column is discrete if two rows have equal values with at least this probability: that of twenty
# equally frequent values.
TIES = 0.05
# A sorted table is looked at within groups of equal values of the column it is sorted by, if these
# have this many rows on average. Fewer may be the seasons of a year.
_GROUP_SIZE = 20
# A gap is looked for among the rows that are left without this share at either end.
_ENDS = 0.05
# Z has cells if at least this share of rows have the same values of Z as another row.
_IN_CELLS = 0.5

Column = Float[NDArray[np.float64], " n"]
Cells = Int64[NDArray[np.int64], " n"]


class Measures:
    """Measures of the columns of some rows, each computed when it is first asked for.

    Args:
        values: a table.
        kept: its rows that count; measured columns have no missing values there.
    """

    def __init__(
        self, values: Float[NDArray[np.float64], "rows d"], kept: Int64[NDArray[np.int64], " n"]
    ) -> None:
        self._values, self._kept = values, kept
        self._n, self._d = len(kept), values.shape[1]
        self._constant: dict[int, bool] = {}
        self._tie_chance: dict[int, float] = {}
        self._distinct: dict[int, int] = {}
        self._widest_gap: dict[int, float] = {}
        self._scores_of: dict[int, Column] = {}
        self._cells_of: dict[frozenset[int], Cells] = {}
        self._function_of: dict[tuple[int, frozenset[int]], bool] = {}

    # ---- how many values a column has ----------------------------------------------

    def is_constant(self, column: int) -> bool:
        """Returns whether a column has a single value."""
        if column not in self._constant:
            values = self._column(column)
            self._constant[column] = bool(values.min() == values.max())
        return self._constant[column]

    def is_whole(self, column: int) -> bool:
        """Returns whether a column holds whole numbers alone, as codes of categories are."""
        values = self._column(column)
        return bool((values == np.round(values)).all())

    def distinct_values(self, column: int) -> int:
        """Returns the number of different values of a column."""
        if column not in self._distinct:
            self._distinct[column] = len(np.unique(self._column(column)))
        return self._distinct[column]

    def tie_chance(self, column: int) -> float:
        """Returns the probability that two random rows have the same value of a column."""
        if column not in self._tie_chance:
            _, counts = np.unique(self._column(column), return_counts=True)
            pairs = float(np.square(counts.astype(float)).sum() - self._n)
            self._tie_chance[column] = pairs / (self._n * (self._n - 1))
        return self._tie_chance[column]

    def widest_gap(self, column: int) -> float:
        """Returns the widest gap between neighbouring values, in units of the column's range.

        The range is that of all but the lowest and highest twentieth of the rows. 0 for a column of
        few values, which has nothing but gaps.
        """
        if column not in self._widest_gap:
            ends = max(1, int(_ENDS * self._n))
            middle = np.sort(self._column(column))[ends : self._n - ends]
            gapless = len(middle) < 2 or self.tie_chance(column) > TIES
            widest = 0.0 if gapless else float(np.diff(middle).max() / np.ptp(middle))
            self._widest_gap[column] = widest
        return self._widest_gap[column]

    # ---- functions of discrete columns ---------------------------------------------

    def is_function_of(self, column: int, given: Columns) -> bool:
        """Returns whether a column is constant within each cell of equal values of `given`.

        False if fewer than half of the rows share a cell with another row.
        """
        if not given or any(self.distinct_values(k) > (1 - _IN_CELLS) * self._n for k in given):
            return False
        key = (column, frozenset(given))
        if key not in self._function_of:
            cells = self._cells(given)
            counts = np.bincount(cells)
            in_cells = float(counts[counts > 1].sum()) >= _IN_CELLS * self._n
            values = self._column(column)
            least = np.full(len(counts), values.max())
            largest = np.full(len(counts), values.min())
            np.minimum.at(least, cells, values)
            np.maximum.at(largest, cells, values)
            self._function_of[key] = in_cells and bool((least == largest).all())
        return self._function_of[key]

    def _cells(self, given: Columns) -> Cells:
        """Returns the index of each row's cell of equal values of some columns."""
        if (key := frozenset(given)) not in self._cells_of:
            values = np.stack([self._column(k) for k in given], axis=1)
            _, cells = np.unique(values, axis=0, return_inverse=True)
            self._cells_of[key] = cells.reshape(-1).astype(np.int64)
        return self._cells_of[key]

    # ---- rows in the order of time -------------------------------------------------

    def serial_correlation(self, column: int, given: Columns = ()) -> float:
        """Returns the lag-one autocorrelation of a column's normal scores over the rows.

        Args:
            column: the column.
            given: columns whose linear effects are removed first, as is the order of a table that
                was sorted by a column of few values.
        """
        scores = self._scores(column)
        if given:
            z = np.stack([self._scores(k) for k in given], axis=1)
            scores = scores - z @ np.linalg.lstsq(z, scores, rcond=None)[0]
        variance = float(scores @ scores)
        return float(scores[1:] @ scores[:-1]) / variance if variance > 0 else 0.0

    def _scores(self, column: int) -> Column:
        """Returns normal scores, about their mean in each group of a sorted table."""
        if column not in self._scores_of:
            values = torch.from_numpy(self._column(column))[None, :, None]
            scores = rank_normal(values)[0, :, 0].double().numpy()
            groups = self._sorted_groups
            means = np.bincount(groups, weights=scores) / np.bincount(groups)
            self._scores_of[column] = scores - means[groups]
        return self._scores_of[column]

    @cached_property
    def _sorted_groups(self) -> Cells:
        """The rows' groups of equal values of the column that the table is sorted by, if any."""
        groups = np.zeros(self._n, dtype=np.int64)
        for column in range(self._d):
            steps = np.diff(self._column(column))
            if not ((steps >= 0).all() or (steps <= 0).all()):
                continue
            found = np.append(0, np.cumsum(steps != 0))
            if groups[-1] < found[-1] < self._n / _GROUP_SIZE:
                groups = found.astype(np.int64)
        return groups

    def _column(self, column: int) -> Column:
        return self._values[self._kept, column]
