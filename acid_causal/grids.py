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

from acid_causal.encodings import Encoded, Place
from acid_causal.model import ACIDModel


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
        first, *others = self.rows
        # A single row is not copied either.
        rows = self.of_rows.targets[torch.tensor(self.rows) if others else slice(first, first + 1)]
        columns = self.of_columns.targets[self.columns]
        width = self.columns.stop - self.columns.start
        logits = network.score_grid(rows, columns, len(self.rows), width)
        row, column = torch.tensor(self.cells).T
        return logits[0, row, column]


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
