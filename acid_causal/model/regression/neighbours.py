"""Rows with similar conditioning variables: what a smoother leaves of a rough function, they share.

A residual that still contains part of a function of Z resembles those of its neighbours in Z. So
the covariance of two residuals, less the covariance of each with the other's neighbours, has mean
about 0 under H0 even if both contain the same remainder. With one conditioning variable this is the
idea of difference-based estimators (Rice 1984). Results do not depend on the order of rows or of
columns: rows with equal Z are averaged, and so are neighbours at equal distance.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from acid_causal.model.layout import BETWEEN_EQUALS, Layout, column_keys
from acid_causal.model.numerics import row_blocks

# Neighbours of a row. Fewer are nearer, but the covariance is noisier: its variance grows by 1/k.
NEAREST = 5
# Candidates come from windows in the orders of all columns. Above `_ROWS_OF_WINDOW` rows windows
# grow with the square root of n, up to a factor.
_WINDOW_OF_ONE, _WINDOWS, _SMALLEST_WINDOW = 3, 24, 3
_ROWS_OF_WINDOW, _MAX_WINDOW_FACTOR = 1000, 2.0
# Distances that differ by less than this share count as equal.
_EQUAL = 1e-5


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The neighbours of each row.

    Attributes:
        at: coordinates for distances.
        group: index of the group of rows with equal Z.
        size: size of that group.
        orders: groups in the order of each conditioning variable.
        window: groups before and after a row's own, in each order, that are candidates.
        kept: candidates and weights of all rows; None for long tables, where they are found anew
            for each block of rows.
    """

    at: Float[Tensor, "batch n d"]
    group: Int[Tensor, "batch n"]
    size: Float[Tensor, "batch n"]
    orders: tuple["Order", ...]
    window: int
    kept: "Candidates | None" = None

    @classmethod
    def find(
        cls,
        z: Float[Tensor, "batch n columns"],
        at: Float[Tensor, "batch n d"],
        layout: Layout | None = None,
    ) -> "Neighbours":
        """Finds the neighbours: the nearest of all rows that are close in a numeric column.

        If all of Z is categories, a row whose levels no other row has is without neighbours.

        Args:
            z: the conditioning set; at least one column.
            at: coordinates for distances.
            layout: which columns are numbers; None: all.
        """
        n, d_z = z.shape[1], layout.numbers if layout else z.shape[2]
        group, by_group = _groups(z, layout.column_keys(z) if layout else None)
        size = torch.zeros_like(at[..., 0]).scatter_add_(1, group, torch.ones_like(at[..., 0]))
        window = _WINDOW_OF_ONE
        if d_z > 1:
            growth = min(max(1.0, (n / _ROWS_OF_WINDOW) ** 0.5), _MAX_WINDOW_FACTOR)
            window = max(_SMALLEST_WINDOW, round(_WINDOWS / d_z * growth))
        orders = tuple(Order.by(z[..., k], by_group, group) for k in range(d_z))
        found = cls(at, group, size.gather(1, group), orders, window)
        blocks = list(row_blocks(n))
        return replace(found, kept=found._candidates(blocks[0])) if len(blocks) == 1 else found

    def __getitem__(self, sets: slice) -> "Neighbours":
        """Selects some of a batch of sets, without a copy."""
        return Neighbours(
            self.at[sets],
            self.group[sets],
            self.size[sets],
            tuple(order[sets] for order in self.orders),
            self.window,
            self.kept and self.kept[sets],
        )

    def deviations(self, v: Float[Tensor, "batch t n"]) -> Float[Tensor, "batch t n"]:
        """Subtracts from each value the mean of its neighbours, itself left out.

        If other rows have equal Z, they are the neighbours.
        """
        group, size = self.group[:, None].expand_as(v), self.size[:, None]
        total = torch.zeros_like(v).scatter_add_(2, group, v).gather(2, group)
        mean = total / size
        deviations = v - (total - v) / (size - 1).clamp(min=1)
        for some in row_blocks(v.shape[2]):
            near = (self.kept or self._candidates(some)).mean(mean)
            alone = size[..., some] < 2
            deviations[..., some] = torch.where(alone, v[..., some] - near, deviations[..., some])
        return deviations

    def _candidates(self, some: slice) -> "Candidates":
        """Finds the candidates of some rows and weighs the nearest equally, the others 0."""
        windows = [order.window(some, self.window) for order in self.orders]
        if not windows:
            nothing = self.group[:, some, None][..., :0]
            return Candidates(nothing, nothing.to(self.at.dtype))
        rows, present = (torch.cat(parts, dim=2) for parts in zip(*windows, strict=True))
        distance = torch.zeros_like(rows, dtype=self.at.dtype)
        for column in self.at.unbind(2):
            there = column.gather(1, rows.flatten(1)).view_as(distance)
            distance += (there - column[:, some, None]).square()
        distance = torch.where(present, distance, torch.inf)
        least = distance.kthvalue(min(NEAREST, rows.shape[2]), dim=2, keepdim=True).values
        taken = (present & (distance <= least * (1 + _EQUAL))).to(self.at.dtype)
        return Candidates(rows, taken / taken.sum(dim=2, keepdim=True).clamp(min=1))


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates of some rows.

    Attributes:
        rows: each is one row of a group of rows with equal Z.
        weight: sums to 1, or to 0 if there is no candidate.
    """

    rows: Int[Tensor, "batch m c"]
    weight: Float[Tensor, "batch m c"]

    def __getitem__(self, sets: slice) -> "Candidates":
        """Selects some of a batch of sets, without a copy."""
        return Candidates(self.rows[sets], self.weight[sets])

    def mean(self, v: Float[Tensor, "batch t n"]) -> Float[Tensor, "batch t m"]:
        """Computes the weighted mean of the candidates' values."""
        index = self.rows.flatten(1)[:, None].expand(-1, v.shape[1], -1)
        values = v.gather(2, index).unflatten(2, self.rows.shape[1:])
        return torch.einsum("btmc,bmc->btm", values, self.weight)


@dataclass(frozen=True, eq=False)
class Order:
    """Groups of rows with equal Z in the order of one conditioning variable; 32-bit integers.

    Attributes:
        place: of each row's group.
        first: one row of the group at each place; places beyond the last are not used.
    """

    place: Int[Tensor, "batch n"]
    first: Int[Tensor, "batch n"]

    @classmethod
    def by(
        cls,
        column: Float[Tensor, "batch n"],
        by_group: Int[Tensor, "batch n"],
        group: Int[Tensor, "batch n"],
    ) -> "Order":
        """Sorts groups by a column.

        Args:
            column: the conditioning variable.
            by_group: rows sorted by group.
            group: of each row.
        """
        # Rows of one group are adjacent in this order, as sorting is stable.
        order = by_group.gather(1, column.gather(1, by_group).argsort(dim=1, stable=True))
        new = torch.zeros_like(order)
        new[:, 1:] = (group.gather(1, order).diff(dim=1) != 0).long()
        place = new.cumsum(dim=1)
        first = torch.zeros_like(order).scatter_(1, place, order)
        return cls(torch.empty_like(order).scatter_(1, order, place).int(), first.int())

    def __getitem__(self, sets: slice) -> "Order":
        """Selects some of a batch of sets, without a copy."""
        return Order(self.place[sets], self.first[sets])

    def window(
        self, some: slice, width: int
    ) -> tuple[Int[Tensor, "batch m c"], Bool[Tensor, "batch m c"]]:
        """Returns a row of each group around the groups of some rows, and which there are."""
        steps = torch.arange(1, width + 1, device=self.place.device)
        at = self.place[:, some, None].long() + torch.cat([-steps, steps])
        present = (at >= 0) & (at <= self.place.amax(dim=1)[:, None, None])
        index = at.clamp(0, self.place.shape[1] - 1).flatten(1)
        return self.first.gather(1, index).long().unflatten(1, at.shape[1:]), present


def _groups(
    z: Float[Tensor, "batch n columns"], of_columns: Float[Tensor, "batch columns"] | None
) -> tuple[Int[Tensor, "batch n"], Int[Tensor, "batch n"]]:
    """Numbers the groups of rows with equal Z, and sorts rows by group."""
    # Rows are told apart by a weighted sum. Weights are given to columns in an order that depends
    # on their values, not on their places: by their means, and where these are equal, as are those
    # of columns with the same levels equally often, by the rows that have large values.
    if of_columns is None:
        of_columns = (z - 0.3).tanh().mean(dim=1) + BETWEEN_EQUALS * column_keys(z)
    place = of_columns.argsort(dim=1).argsort(dim=1)
    key = (z * _unrelated(z.shape[2]).to(z)[place][:, None]).sum(dim=2)
    ordered, by_group = key.sort(dim=1)
    new = torch.zeros_like(by_group)
    new[:, 1:] = (ordered.diff(dim=1) != 0).long()
    return torch.empty_like(by_group).scatter_(1, by_group, new.cumsum(dim=1)), by_group


def _unrelated(count: int) -> Float[Tensor, " count"]:
    """Returns weights whose sums differ: square roots of numbers without a square factor.

    Between these there are no rational relations (Besicovitch 1940), as there are between 1 and the
    root of 4. With such, rows of few values would be taken for equal.
    """
    numbers = torch.arange(1, 2 * count + 4)  # six in ten have no square factor
    squares = torch.arange(2, math.isqrt(2 * count + 4) + 1).square()
    free = (numbers[:, None] % squares != 0).all(dim=1)
    return numbers[free][:count].double().sqrt()
