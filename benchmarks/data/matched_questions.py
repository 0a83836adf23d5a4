"""Questions with known answers about a real table, made in another way than fine-tuning makes them.

X and Z are the table's own. Y is drawn row by row from the values of a column in other rows, those
nearest in Z: no regression, no additive noise. Where X and Y are to be dependent, a function of X
says which of these values is taken, a low one or a high one, so that the distribution of Y given Z
stays what it is. The functions are of families that `acid-ranks` never saw. Levels of a category
are low or high in an order that is drawn for each dataset.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Generator, Tensor

from acid_causal.errors import require
from acid_causal.synthetic.datasets import LabelledDatasets
from acid_causal.synthetic.draws import coin, log_uniform, rand, randn, seeded
from acid_causal.synthetic.mechanisms import HELD_OUT

Array = NDArray[np.float64]

# Values that Y is drawn from in each row.
NEIGHBOURS = 10
# Distance of two levels of a category, in standard deviations of a number.
_LEVELS_APART = 2.0


def table_questions(
    data: Array, *, count: int, n: int, d_z: int, seed: int, categorical: Sequence[int] = ()
) -> LabelledDatasets:
    """Draws datasets of n of the table's rows; every second one is dependent.

    Args:
        data: The table, (rows, d), complete and without constant columns.
        count: Number of datasets, one question each.
        n: Rows of each; the others are where Y is drawn from, so at most half of the table.
        d_z: Columns of Z; at most d - 2.
        seed: Of all draws.
        categorical: Columns that are unordered categories, as codes 0, 1 and so on.

    Raises:
        OptionError: n or d_z is too large for the table.
    """
    total, d = data.shape
    require(n <= total // 2, "n", n, f"at most {total // 2}, half of the rows")
    require(d_z <= d - 2, "d_z", d_z, f"at most {d - 2}, two fewer than the columns")
    generator = seeded("benchmark", "table", n, d_z, seed)
    values = torch.from_numpy(data)
    is_category = torch.tensor([k in categorical for k in range(d)])
    coordinates = _coordinates(values, is_category)
    label = torch.arange(count) % 2
    x, y, z, kinds = [], [], [], []
    for dependent in label.tolist():
        rows = torch.randperm(total, generator=generator)
        columns = torch.randperm(d, generator=generator)
        asked, others = rows[:n], rows[n:]
        i, cond = columns[0], columns[2 : 2 + d_z]
        # Y's column may be X's own: drawn anew given Z it is another variable.
        j = columns[int(rand(generator, 1) * 2)]
        in_z = torch.cat([torch.empty(total, 0), *(coordinates[int(k)] for k in cond)], dim=1)
        near = _nearest(in_z[asked], in_z[others], generator)
        of_x, of_y = (_scores(values[:, k], bool(is_category[k]), generator) for k in (i, j))
        order = of_y[others][near].argsort(dim=1, stable=True)
        choices = values[others][:, j][near].gather(1, order)  # (n, NEIGHBOURS), low to high
        place = randn(generator, n)
        if dependent:
            cause = _cause(of_x[asked], of_x[others][near], generator)
            strength = float(log_uniform(generator, 0.3, 0.95, 1))
            place = strength * cause + math.sqrt(1 - strength**2) * place
        pick = (torch.special.ndtr(place) * NEIGHBOURS).long().clamp(max=NEIGHBOURS - 1)
        x.append(values[asked, i])
        y.append(choices.gather(1, pick[:, None])[:, 0])
        z.append(values[asked][:, cond])
        kinds.append(is_category[torch.cat([torch.stack([i, j]), cond])])
    return LabelledDatasets(
        torch.stack(x)[..., None],
        torch.stack(y)[..., None],
        torch.stack(z),
        label,
        torch.stack(kinds) if categorical else None,
    )


def _normal_scores(column: Tensor) -> Tensor:
    places = stats.rankdata(column.numpy()) - 0.5
    return torch.from_numpy(stats.norm.ppf(places / len(column))).float()


def _scores(column: Tensor, is_category: bool, generator: Generator) -> Tensor:
    """Returns normal scores of a column, of a category after its levels came in a random order."""
    if is_category:
        order = torch.randperm(int(column.max()) + 1, generator=generator)
        column = order[column.long()]
    return _normal_scores(column)


def _coordinates(values: Tensor, is_category: Tensor) -> list[Tensor]:
    """Returns for each column the coordinates between which rows are near: (rows, 1 or levels)."""
    coordinates = []
    for column, category in zip(values.T, is_category.tolist(), strict=True):
        if category:
            indicators = torch.nn.functional.one_hot(column.long()).float()
            coordinates.append(_LEVELS_APART / math.sqrt(2) * indicators)
        else:
            coordinates.append(_normal_scores(column)[:, None])
    return coordinates


def _nearest(z: Tensor, others: Tensor, generator: Generator) -> Tensor:
    """Returns the nearest of the other rows for each row, (n, NEIGHBOURS), ties at random."""
    distance = torch.cdist(z, others) + 1e-4 * rand(generator, len(z), len(others))
    return distance.topk(NEIGHBOURS, dim=1, largest=False).indices


def _cause(x: Tensor, near: Tensor, generator: Generator) -> Tensor:
    """Draws a function of X, or of X's place among the X of the nearest other rows; unit variance.

    Args:
        x: Normal scores of X, (n,).
        near: The same of the nearest other rows, (n, NEIGHBOURS).
        generator: Source of randomness.
    """
    below = (near < x[:, None]).float().mean(1) + 0.5 * (near == x[:, None]).float().mean(1)
    place = torch.special.ndtri((NEIGHBOURS * below + 0.5) / (NEIGHBOURS + 1))
    argument = x if float(coin(generator, 0.5, 1)) else place
    family = list(HELD_OUT.values())[int(rand(generator, 1) * len(HELD_OUT))]
    drawn = family(argument[None, :, None], torch.ones(1, 1), generator)[0]
    # Normal scores of a function keep what it is for, the order, and fill the range of places.
    jitter = 1e-3 * randn(generator, len(drawn))
    rank = (drawn + jitter).argsort().argsort()
    return torch.special.ndtri((rank + 0.5) / len(drawn))
