"""The rows that a group of questions shares; columns are transformed when first needed."""

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy.typing import NDArray
from torch import Tensor

from acid_causal.inference.rows.hashes import Ranks, distinct_rows, ranks
from acid_causal.inference.rows.measures import Measures
from acid_causal.model import ACIDModel
from acid_causal.tables.inputs import Columns, Table

# Duplicate rows are left out if they are more than this share.
REPEATED = 0.05
# ... but not more than this: no sample repeats each row five times. Copies of a column of few
# values do, which have as many different rows as values.
_MOST_REPEATED = 0.8
# ... and if a column, or each of two pairs of columns, has this share of distinct values among the
# distinct rows. Then duplicate rows do not arise by chance.
_MANY_VALUED = 0.9


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
        measures: what columns are like in these rows.
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
        self._widths: dict[int, int] = {}
        self._leave_out_repeated()
        self.measures = Measures(self._values, self._kept)

    def _leave_out_repeated(self) -> None:
        distinct = distinct_rows(self._values[self._kept])
        share = 1 - len(distinct) / self.n if self.n else 0.0
        if not REPEATED < share <= _MOST_REPEATED:
            return
        kept = self._kept[distinct]
        if _are_many_valued(self._values[kept]):
            self._kept, self.n, self.repeated = kept, len(kept), share

    def is_untyped_whole(self, column: int) -> bool:
        """Returns whether a column holds whole numbers, declared neither categories nor ordered."""
        typed = column in self._categories or column in self._ordered
        return not typed and self.measures.is_whole(column)

    def width(self, column: int) -> int:
        """Returns the number of columns that the network reads for a column of the table.

        It is 1 for numbers and for categories of two levels, else the number of levels. A column of
        two levels is read so that the rarer one is the larger, whatever the codes; if they are
        equally frequent, it is a category like others.
        """
        if column not in self._categories:
            return 1
        if column not in self._widths:
            values, levels = self._column(column), self.measures.distinct_values(column)
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
        """Returns columns as ranks; see `acid_causal.inference.rows.hashes`.

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
