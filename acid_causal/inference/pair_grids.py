"""Which comparisons share a matrix product.

PC asks about one variable and each of its neighbours given a set of the others, so that one target
meets many which lie side by side in memory: a row of a grid. Where all pairs are asked every target
has a row.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from acid_causal.inference.encoding_cache import Encoded, Place
from acid_causal.model import ACIDModel, TargetEncoding

# So many cells go through one product: each holds a matrix of features by features for each head.
_CELLS = 4096


@dataclass(frozen=True)
class Grid:
    """Pairs of targets of one conditioning set: cells of some rows and some columns.

    Attributes:
        of_rows: what holds the targets of the rows.
        rows: which of them they are.
        of_columns: what holds the targets of the columns.
        columns: which of them they are: a run, so that none is copied.
        cells: the row and the column of each pair.
        numbers: the number of each pair.
    """

    of_rows: Encoded
    rows: list[int]
    of_columns: Encoded
    columns: slice
    cells: list[tuple[int, int]]
    numbers: list[int]

    def score(self, network: ACIDModel) -> Float[Tensor, " pairs"]:
        """Computes the logit of dependence of each pair."""
        columns = self.of_columns.targets[self.columns]
        width = self.columns.stop - self.columns.start
        step = max(1, _CELLS // width)
        parts = [self.rows[start : start + step] for start in range(0, len(self.rows), step)]
        logits = [
            network.score_grid(self._targets(rows), columns, len(rows), width)[0] for rows in parts
        ]
        row, column = torch.tensor(self.cells).T
        return torch.cat(logits)[row, column]

    def _targets(self, rows: list[int]) -> TargetEncoding:
        """Selects some rows; a run of them, and so a single one, is not copied."""
        first, last = rows[0], rows[-1]
        is_run = last - first + 1 == len(rows)
        return self.of_rows.targets[slice(first, last + 1) if is_run else torch.tensor(rows)]


def grids(pairs: Sequence[tuple[Place, Place]]) -> Iterator[Grid]:
    """Arranges pairs of targets of one conditioning set, so that each is a cell of one grid.

    Of a pair the target that is asked about more often has the row: few rows hold all pairs.
    """
    asked = Counter(place for pair in pairs for place in pair)
    together: dict[tuple[Encoded, Encoded], list[tuple[int, int, int]]] = defaultdict(list)
    for number, (x, y) in enumerate(pairs):
        hub, other = (x, y) if asked[x] >= asked[y] else (y, x)
        together[hub.among, other.among].append((number, hub.index, other.index))
    for (of_rows, of_columns), found in together.items():
        numbers, hubs, others = zip(*found, strict=True)
        rows, first = sorted(set(hubs)), min(others)
        place = {index: row for row, index in enumerate(rows)}
        yield Grid(
            of_rows,
            rows,
            of_columns,
            columns=slice(first, max(others) + 1),
            cells=[(place[hub], other - first) for hub, other in zip(hubs, others, strict=True)],
            numbers=list(numbers),
        )
