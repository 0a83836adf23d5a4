"""The rows that a group of questions shares; columns are transformed when first needed."""

from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy.typing import NDArray
from torch import Tensor

from acid_causal.inference.row_hashes import Ranks, distinct_rows, ranks
from acid_causal.model import ACIDModel
from acid_causal.model.transform import rank_normal
from acid_causal.tables.inputs import Columns, Table

# A column is discrete if two rows have equal values with at least this probability: that of twenty
# equally frequent values.
TIES = 0.05
# Duplicate rows are left out if they are more than this share.
REPEATED = 0.05
# ... but not more than this: no sample repeats each row five times. Copies of a column of few
# values do, which have as many different rows as values.
_MOST_REPEATED = 0.8
# ... and if a column, or each of two pairs of columns, has this share of distinct values among the
# distinct rows. Then duplicate rows do not arise by chance.
_MANY_VALUED = 0.9
# A sorted table is looked at within groups of equal values of the column it is sorted by, if these
# have this many rows on average. Fewer may be the seasons of a year.
_GROUP_SIZE = 20
# A gap is looked for among the rows that are left without this share at either end.
_ENDS = 0.05
# Z has cells if at least this share of rows have the same values of Z as another row.
_IN_CELLS = 0.5


class Rows:
    """Some rows of a table, as inputs of the network and as ranks.

    Duplicate rows are left out if columns have so many values that such rows must be copies, as in
    a bootstrap sample: in leave-one-out regression a row would be predicted by its own copy. In
    tables of few values distinct observations may have equal rows, and all are kept.

    Attributes:
        incomplete: the columns whose missing values determined the rows.
        n: number of rows.
        repeated: share of the rows that was left out as duplicates.
        d: number of columns of the table.
    """

    def __init__(self, table: Table, incomplete: Columns, network: ACIDModel) -> None:
        self.incomplete = incomplete
        self._values, self._network = table.values, network
        self._categories, self._ordered = table.categories, table.ordered
        lacking = np.isnan(table.values[:, list(incomplete)]).any(axis=1)
        self._kept = np.flatnonzero(~lacking)
        self.n, self.d = len(self._kept), table.values.shape[1]
        self.repeated = 0.0
        self._ranks: dict[int, Int64[Ranks, " n"]] = {}
        self._read: dict[int, Float[Tensor, "n width"]] = {}
        self._constant: dict[int, bool] = {}
        self._tie_chance: dict[int, float] = {}
        self._widths: dict[int, int] = {}
        self._scores_of: dict[int, Float[NDArray[np.float64], " n"]] = {}
        self._widest_gap: dict[int, float] = {}
        self._distinct: dict[int, int] = {}
        self._cells_of: dict[frozenset[int], Int64[Ranks, " n"]] = {}
        self._function_of: dict[tuple[int, frozenset[int]], bool] = {}
        self._leave_out_repeated()

    def _leave_out_repeated(self) -> None:
        distinct = distinct_rows(self._values[self._kept])
        share = 1 - len(distinct) / self.n if self.n else 0.0
        if not REPEATED < share <= _MOST_REPEATED:
            return
        kept = self._kept[distinct]
        if _are_many_valued(self._values[kept]):
            self._kept, self.n, self.repeated = kept, len(kept), share

    def is_constant(self, column: int) -> bool:
        """Returns whether a column has a single value in these rows."""
        if column not in self._constant:
            values = self._column(column)
            self._constant[column] = bool(values.min() == values.max())
        return self._constant[column]

    def tie_chance(self, column: int) -> float:
        """Returns the probability that two random rows have the same value of a column."""
        if column not in self._tie_chance:
            _, counts = np.unique(self._column(column), return_counts=True)
            pairs = float(np.square(counts.astype(float)).sum() - self.n)
            self._tie_chance[column] = pairs / (self.n * (self.n - 1))
        return self._tie_chance[column]

    def is_function_of(self, column: int, given: Columns) -> bool:
        """Returns whether a column is constant within each cell of equal values of `given`.

        False if fewer than half of the rows share a cell with another row.
        """
        if not given or any(self.distinct_values(k) > (1 - _IN_CELLS) * self.n for k in given):
            return False
        key = (column, frozenset(given))
        if key not in self._function_of:
            cells = self._cells(given)
            counts = np.bincount(cells)
            in_cells = float(counts[counts > 1].sum()) >= _IN_CELLS * self.n
            values = self.ranks((column,))[:, 0]
            least = np.full(len(counts), values.max())
            largest = np.full(len(counts), values.min())
            np.minimum.at(least, cells, values)
            np.maximum.at(largest, cells, values)
            self._function_of[key] = in_cells and bool((least == largest).all())
        return self._function_of[key]

    def _cells(self, given: Columns) -> Int64[Ranks, " n"]:
        """Returns the index of each row's cell of equal values of some columns."""
        if (key := frozenset(given)) not in self._cells_of:
            _, cells = np.unique(self.ranks(given), axis=0, return_inverse=True)
            self._cells_of[key] = cells.reshape(-1).astype(np.int64)
        return self._cells_of[key]

    def distinct_values(self, column: int) -> int:
        """Returns the number of different values of a column."""
        if column not in self._distinct:
            self._distinct[column] = len(np.unique(self._column(column)))
        return self._distinct[column]

    def may_be_codes(self, column: int) -> bool:
        """Returns whether a column holds whole numbers that nobody called categories or ranks."""
        typed = column in self._categories or column in self._ordered
        return not typed and self._is_whole(column)

    def _is_whole(self, column: int) -> bool:
        """Returns whether a column holds whole numbers alone, as codes of categories are."""
        values = self._column(column)
        return bool((values == np.round(values)).all())

    def widest_gap(self, column: int) -> float:
        """Returns the widest gap between neighbouring values, in units of the column's range.

        The range is that of all but the lowest and highest twentieth of the rows. 0 for a column of
        few values, which has nothing but gaps.
        """
        if column not in self._widest_gap:
            ends = max(1, int(_ENDS * self.n))
            middle = np.sort(self._column(column))[ends : self.n - ends]
            gapless = len(middle) < 2 or self.tie_chance(column) > TIES
            widest = 0.0 if gapless else float(np.diff(middle).max() / np.ptp(middle))
            self._widest_gap[column] = widest
        return self._widest_gap[column]

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

    def _scores(self, column: int) -> Float[NDArray[np.float64], " n"]:
        """Returns normal scores, about their mean in each group of a sorted table."""
        if column not in self._scores_of:
            values = torch.from_numpy(self._column(column))[None, :, None]
            scores = rank_normal(values)[0, :, 0].double().numpy()
            groups = self._sorted_groups
            means = np.bincount(groups, weights=scores) / np.bincount(groups)
            self._scores_of[column] = scores - means[groups]
        return self._scores_of[column]

    @cached_property
    def _sorted_groups(self) -> Int64[NDArray[np.int64], " n"]:
        """The rows' groups of equal values of the column that the table is sorted by, if any."""
        groups = np.zeros(self.n, dtype=np.int64)
        for column in range(self.d):
            steps = np.diff(self._column(column))
            if not ((steps >= 0).all() or (steps <= 0).all()):
                continue
            found = np.append(0, np.cumsum(steps != 0))
            if groups[-1] < found[-1] < self.n / _GROUP_SIZE:
                groups = found.astype(np.int64)
        return groups

    def width(self, column: int) -> int:
        """Returns the number of columns that the network reads for a column of the table.

        It is 1 for numbers and for categories of two levels, else the number of levels. A column of
        two levels is read so that the rarer one is the larger, whatever the codes; if they are
        equally frequent, it is a category like others.
        """
        if column not in self._categories:
            return 1
        if column not in self._widths:
            values, levels = self._column(column), self.distinct_values(column)
            even = levels == 2 and 2 * int((values == values.max()).sum()) == len(values)
            as_levels = levels > 2 or (even and self._network.config.category_facts)
            self._widths[column] = levels if as_levels else 1
        return self._widths[column]

    def is_category(self, columns: Columns) -> bool:
        """Returns whether the network reads columns as one category.

        Networks that see only ranks read the indicators of levels as several numbers.
        """
        keeps_values = self._network.config.keeps_values
        return keeps_values and len(columns) == 1 and self.width(columns[0]) > 1

    def components(self, columns: Columns) -> Columns:
        """Returns for each column that the network reads the column of the table it is from."""
        return tuple(column for column in columns for _ in range(self.width(column)))

    def widths(self, columns: Columns) -> tuple[int, ...]:
        """Returns the width of each column in the order of `conditioning`: numbers come first."""
        return tuple(self.width(column) for column in self._numbers_first(columns))

    def conditioning(self, columns: Columns) -> Float[Tensor, "n width"]:
        """Returns what the network reads of a conditioning set, numbers first."""
        return self.columns(self._numbers_first(columns))

    def columns(self, columns: Columns) -> Float[Tensor, "n width"]:
        """Returns what the network reads of columns, on its device."""
        for column in columns:
            if column not in self._read:
                self._read[column] = self._transformed(column).to(self._network.device)
        if not columns:
            return torch.empty(self.n, 0, dtype=self._network.reads, device=self._network.device)
        return torch.cat([self._read[column] for column in columns], dim=1)

    def _transformed(self, column: int) -> Float[Tensor, "n width"]:
        values = torch.from_numpy(self._column(column))[:, None]
        if self.width(column) > 1:
            # Levels by frequency: an order that does not depend on their names.
            levels, counts = values.unique(return_counts=True)
            values = (values == levels[counts.argsort(stable=True)]).double()
            if self._network.config.keeps_values:
                return values
        return self._network.transform(values[None])[0].to(self._network.reads)

    def _numbers_first(self, columns: Columns) -> Columns:
        """Sorts columns by width, as `Layout` requires; columns of equal width keep their order."""
        return tuple(sorted(columns, key=self.width))

    def ranks(self, columns: Columns) -> Int64[Ranks, "n d"]:
        """Returns columns as ranks; see `acid_causal.inference.row_hashes`.

        Levels of a category are ranked by their frequency.
        """
        for column in columns:
            if column not in self._ranks:
                values = self._column(column)
                if column in self._categories:
                    _, level, counts = np.unique(values, return_inverse=True, return_counts=True)
                    values = np.argsort(np.argsort(counts, kind="stable"))[level].astype(float)
                self._ranks[column] = ranks(values)
        read = [self._ranks[column] for column in columns]
        return np.stack(read, axis=1) if read else np.empty((self.n, 0), dtype=np.int64)

    def _column(self, column: int) -> Float[NDArray[np.float64], " n"]:
        return self._values[self._kept, column]


def _are_many_valued(values: Float[NDArray[np.float64], "n d"]) -> bool:
    """Says whether distinct rows nearly always differ in a column, or in each of two pairs of them.

    One pair is not enough: if it is all of the table, equal rows may be distinct observations.
    """
    enough = _MANY_VALUED * len(values)
    counts = [len(np.unique(column)) for column in values.T]
    if max(counts) >= enough:
        return True
    if len(counts) < 4:
        return False
    first, second, third, fourth = np.argsort(counts)[:-5:-1].tolist()
    pairs = (first, fourth), (second, third)
    return all(len(distinct_rows(values[:, pair])) >= enough for pair in pairs)
