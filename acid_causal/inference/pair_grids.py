"""Arranges pairs of targets in grids, so that many comparisons share one matrix product.

PC asks about one variable and each of its neighbours given the same set. So one target is compared
with many others, which are contiguous in memory: a row of a grid. If all pairs are asked, every
target has a row.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from acid_causal.inference.encoding_cache import Encoded, Place
from acid_causal.model import ACIDModel, TargetEncoding

# Cells per matrix product; each cell needs a matrix of features by features for each head.
_MAX_CELLS = 4096


@dataclass(frozen=True)
class Grid:
    """Pairs of targets given one conditioning set, as cells of a grid.

    Attributes:
        of_rows: the encodings that contain the targets of the rows.
        rows: indices of the rows' targets there.
        of_columns: the encodings that contain the targets of the columns.
        columns: indices of the columns' targets there; a slice, so that nothing is copied.
        cells: row and column of each pair.
        indices: index of each pair in the argument of `grids`.
    """

    of_rows: Encoded
    rows: list[int]
    of_columns: Encoded
    columns: slice
    cells: list[tuple[int, int]]
    indices: list[int]

    def score(self, network: ACIDModel) -> Float[Tensor, " pairs"]:
        """Computes the logit of dependence of each pair."""
        columns = self.of_columns.targets[self.columns]
        width = self.columns.stop - self.columns.start
        step = max(1, _MAX_CELLS // width)
        parts = [self.rows[start : start + step] for start in range(0, len(self.rows), step)]
        logits = [
            network.score_grid(self._targets(rows), columns, len(rows), width)[0] for rows in parts
        ]
        row, column = torch.tensor(self.cells).T
        return torch.cat(logits)[row, column]

    def _targets(self, rows: list[int]) -> TargetEncoding:
        """Selects rows, without a copy if they are contiguous."""
        first, last = rows[0], rows[-1]
        is_run = last - first + 1 == len(rows)
        return self.of_rows.targets[slice(first, last + 1) if is_run else torch.tensor(rows)]


def grids(pairs: Sequence[tuple[Place, Place]]) -> Iterator[Grid]:
    """Arranges pairs of targets of one conditioning set in grids; each pair is in one of them.

    The target that occurs more often becomes the row, so that few rows are needed.
    """
    asked = Counter(place for pair in pairs for place in pair)
    together: dict[tuple[Encoded, Encoded], list[tuple[int, int, int]]] = defaultdict(list)
    for index, (x, y) in enumerate(pairs):
        hub, other = (x, y) if asked[x] >= asked[y] else (y, x)
        together[hub.among, other.among].append((index, hub.index, other.index))
    for (of_rows, of_columns), found in together.items():
        indices, hubs, others = zip(*found, strict=True)
        rows, first = sorted(set(hubs)), min(others)
        row_of = {hub: row for row, hub in enumerate(rows)}
        yield Grid(
            of_rows,
            rows,
            of_columns,
            columns=slice(first, max(others) + 1),
            cells=[(row_of[hub], other - first) for hub, other in zip(hubs, others, strict=True)],
            indices=list(indices),
        )
