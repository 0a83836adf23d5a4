"""The rows that some tests share, read column by column when a test needs them."""

import math

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy.typing import NDArray
from torch import Tensor

from acid_causal.inference.row_hashes import Ranks, distinct_rows, ranks
from acid_causal.model import ACIDModel
from acid_causal.tables.inputs import Columns, Table

# Chance that two rows hold the same value of a column: that of twenty values, equally frequent.
TIES = 0.05
# Share of rows that repeat another one.
REPEATED = 0.05


class Rows:
    """Some rows of a table, as the network reads them and as ranks.

    Rows that repeat others more often than ties would explain, as in a bootstrap sample, are there
    once: a regression judged by leaving a row out would find the row's own copy.

    Attributes:
        gaps: the columns whose missing values decided the rows.
        n: number of rows.
        repeated: share of the rows that was left out because they repeat others.
        d: number of columns of the table.
    """

    def __init__(self, table: Table, gaps: Columns, network: ACIDModel) -> None:
        self.gaps = gaps
        self._values, self._network = table.values, network
        lacking = np.isnan(table.values[:, list(gaps)]).any(axis=1)
        self._kept = np.flatnonzero(~lacking)
        self.n, self.d = len(self._kept), table.values.shape[1]
        self.repeated = 0.0
        self._transformed: dict[int, Float[Tensor, " n"]] = {}
        self._constant: dict[int, bool] = {}
        self._tie_chance: dict[int, float] = {}
        self._serial: dict[int, float] = {}
        self._leave_out_repeated()

    def _leave_out_repeated(self) -> None:
        distinct = distinct_rows(self._values[self._kept])
        share = 1 - len(distinct) / self.n if self.n else 0.0
        if share <= REPEATED:
            return
        # Columns of few values may depend on one another in any way, so they explain nothing.
        ties = [self.tie_chance(k) for k in range(self.d)]
        if share <= REPEATED + self.n * math.prod(tie for tie in ties if tie <= TIES):
            return
        self._kept, self.n, self.repeated = self._kept[distinct], len(distinct), share
        self._tie_chance.clear()

    def is_constant(self, column: int) -> bool:
        """Says whether a column has a single value in these rows."""
        if column not in self._constant:
            values = self._column(column)
            self._constant[column] = bool(values.min() == values.max())
        return self._constant[column]

    def tie_chance(self, column: int) -> float:
        """Returns the chance that two rows hold the same value of a column."""
        if column not in self._tie_chance:
            _, counts = np.unique(self._column(column), return_counts=True)
            pairs = float(np.square(counts.astype(float)).sum() - self.n)
            self._tie_chance[column] = pairs / (self.n * (self.n - 1))
        return self._tie_chance[column]

    def serial_correlation(self, column: int) -> float:
        """Returns the correlation of a column's values in rows that follow one another."""
        if column not in self._serial:
            values = self.columns((column,))[:, 0]
            self._serial[column] = float((values[1:] * values[:-1]).mean())
        return self._serial[column]

    def columns(self, columns: Columns) -> Float[Tensor, "n d"]:
        """Returns columns as the network reads them, on its device."""
        for column in columns:
            if column not in self._transformed:
                values = torch.from_numpy(self._column(column))
                read = self._network.transform(values[None, :, None])[0, :, 0].float()
                self._transformed[column] = read.to(self._network.device)
        if not columns:
            return torch.empty(self.n, 0, dtype=torch.float32, device=self._network.device)
        return torch.stack([self._transformed[column] for column in columns], dim=1)

    def ranks(self, columns: Columns) -> Int64[Ranks, "n d"]:
        """Returns columns as ranks; see `acid_causal.inference.row_hashes`."""
        read = [ranks(self._column(column)) for column in columns]
        return np.stack(read, axis=1) if read else np.empty((self.n, 0), dtype=np.int64)

    def _column(self, column: int) -> Float[NDArray[np.float64], " n"]:
        return self._values[self._kept, column]
