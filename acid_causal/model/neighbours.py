"""Rows with similar conditioning variables: what a smoother leaves of a rough function, they share.

A residual that still contains part of a function of Z resembles those of its neighbours in Z. So
the covariance of two residuals, less the covariance of each with the other's neighbours, has mean
about 0 under H0 even if both contain the same remainder. With one conditioning variable this is the
idea of difference-based estimators (Rice 1984). Results do not depend on the order of rows or of
columns: rows with equal Z are averaged, and so are neighbours at equal distance.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from acid_causal.model.numerics import row_blocks

# Neighbours of a row. Fewer are nearer, but the covariance is noisier: its variance grows by 1/k.
NEAREST = 5
# Candidates come from windows in the orders of all columns. Above `_ROWS_OF_WINDOW` rows windows
# grow with the square root of n, up to a factor.
_WINDOW_OF_ONE, _WINDOWS, _SMALLEST_WINDOW = 3, 24, 3
_ROWS_OF_WINDOW, _MAX_WINDOW_FACTOR = 1000, 4.0
# Distances that differ by less than this share count as equal.
_EQUAL = 1e-5


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The neighbours of each row.

    Attributes:
        rows: candidates, each one row of a group of rows with equal Z.
        weight: of the candidates; sums to 1, or to 0 if there are none.
        group: index of the group of rows with equal Z.
        size: size of that group.
    """

    rows: Int[Tensor, "batch n c"]
    weight: Float[Tensor, "batch n c"]
    group: Int[Tensor, "batch n"]
    size: Float[Tensor, "batch n"]

    @classmethod
    def find(cls, z: Float[Tensor, "batch n d_z"], at: Float[Tensor, "batch n d"]) -> "Neighbours":
        """Finds the neighbours: the nearest of all rows that are close in one of the columns.

        Args:
            z: the conditioning set; d_z at least 1.
            at: coordinates for distances.
        """
        n, d_z = z.shape[1:]
        group, by_group = _groups(z)
        size = torch.zeros_like(at[..., 0]).scatter_add_(1, group, torch.ones_like(at[..., 0]))
        window = _WINDOW_OF_ONE
        if d_z > 1:
            growth = min(max(1.0, (n / _ROWS_OF_WINDOW) ** 0.5), _MAX_WINDOW_FACTOR)
            window = max(_SMALLEST_WINDOW, round(_WINDOWS / d_z * growth))
        windows = [_window(z[..., k], by_group, group, window) for k in range(d_z)]
        rows, present = (torch.cat(parts, dim=2) for parts in zip(*windows, strict=True))
        weights = [_weights(at, rows[:, some], present[:, some], some) for some in row_blocks(n)]
        return cls(rows, torch.cat(weights, dim=1), group, size.gather(1, group))

    def __getitem__(self, sets: slice) -> "Neighbours":
        """Selects some of a batch of sets, without a copy."""
        return Neighbours(self.rows[sets], self.weight[sets], self.group[sets], self.size[sets])

    def deviations(self, v: Float[Tensor, "batch t n"]) -> Float[Tensor, "batch t n"]:
        """Subtracts from each value the mean of its neighbours, itself left out.

        If other rows have equal Z, they are the neighbours.
        """
        group, size = self.group[:, None].expand_as(v), self.size[:, None]
        total = torch.zeros_like(v).scatter_add_(2, group, v).gather(2, group)
        mean = total / size
        deviations = v - (total - v) / (size - 1).clamp(min=1)
        for some in row_blocks(v.shape[2]):
            rows, weight = self.rows[:, some], self.weight[:, some]
            index = rows.flatten(1)[:, None].expand(-1, v.shape[1], -1)
            near = torch.einsum(
                "btnc,bnc->btn", mean.gather(2, index).unflatten(2, rows.shape[1:]), weight
            )
            deviations[..., some] = torch.where(
                size[..., some] > 1, deviations[..., some], v[..., some] - near
            )
        return deviations


def _groups(
    z: Float[Tensor, "batch n d_z"],
) -> tuple[Int[Tensor, "batch n"], Int[Tensor, "batch n"]]:
    """Numbers the groups of rows with equal Z, and sorts rows by group."""
    # Rows are told apart by a weighted sum. Weights are given to columns in an order that depends
    # on their values, not on their places.
    place = (z - 0.3).tanh().mean(dim=1).argsort(dim=1).argsort(dim=1)
    key = (z * (1.0 + place).sqrt()[:, None]).sum(dim=2)
    ordered, by_group = key.sort(dim=1)
    new = torch.zeros_like(by_group)
    new[:, 1:] = (ordered.diff(dim=1) != 0).long()
    return torch.empty_like(by_group).scatter_(1, by_group, new.cumsum(dim=1)), by_group


def _window(
    column: Float[Tensor, "batch n"],
    by_group: Int[Tensor, "batch n"],
    group: Int[Tensor, "batch n"],
    window: int,
) -> tuple[Int[Tensor, "batch n c"], Bool[Tensor, "batch n c"]]:
    """Returns one row of each of the groups before and after a row's own, and which there are."""
    # Rows of one group are adjacent in this order, as sorting is stable.
    order = by_group.gather(1, column.gather(1, by_group).argsort(dim=1, stable=True))
    new = torch.zeros_like(order)
    new[:, 1:] = (group.gather(1, order).diff(dim=1) != 0).long()
    place = new.cumsum(dim=1)  # of the group of the row at each position
    first = torch.zeros_like(order).scatter_(1, place, order)
    of_row = torch.empty_like(order).scatter_(1, order, place)
    steps = torch.arange(1, window + 1, device=column.device)
    at = of_row[..., None] + torch.cat([-steps, steps])
    present = (at >= 0) & (at <= place[:, -1:, None])
    rows = first.gather(1, at.clamp(0, column.shape[1] - 1).flatten(1)).unflatten(1, at.shape[1:])
    return rows, present


def _weights(
    at: Float[Tensor, "batch n d"],
    rows: Int[Tensor, "batch m c"],
    present: Bool[Tensor, "batch m c"],
    some: slice,
) -> Float[Tensor, "batch m c"]:
    """Weighs the nearest candidates of each row equally, and the others 0."""
    distance = torch.zeros_like(rows, dtype=at.dtype)
    for k in range(at.shape[2]):
        there = at[..., k].gather(1, rows.flatten(1)).view_as(distance)
        distance += (there - at[:, some, k, None]).square()
    distance = torch.where(present, distance, torch.inf)
    least = distance.kthvalue(min(NEAREST, rows.shape[2]), dim=2, keepdim=True).values
    taken = (present & (distance <= least * (1 + _EQUAL))).to(at.dtype)
    return taken / taken.sum(dim=2, keepdim=True).clamp(min=1)
