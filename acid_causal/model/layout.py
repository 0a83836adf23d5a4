"""Which columns of a conditioning set are numbers, and which indicate the levels of a category.

A category has a column for each of its levels, with 1 where a row has that level and 0 elsewhere.
Distances between rows add up over the columns of a category, so that any two levels are equally far
apart, and the order of levels makes no difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from acid_causal.model.transform import rank_normal

# Weight of `column_keys` where they only decide between equals: far above rounding errors.
BETWEEN_EQUALS = 1e-6
# How often columns are told apart anew by what is known of the others.
_REFINEMENTS = 4


def column_keys(z: Float[Tensor, "batch n columns"]) -> Float[Tensor, "batch columns"]:
    """Computes a number for each column that depends on its values, and not on its place.

    Columns with the same values equally often are told apart by the rows that have them, unless the
    table stays the same if they change places.
    """
    values = torch.tanh(z - 0.3)
    return _weighted_means(values, values.mean(dim=2))


def _weighted_means(
    values: Float[Tensor, "batch n columns"], row: Float[Tensor, "batch n"]
) -> Float[Tensor, "batch columns"]:
    """Averages columns with a weight for each row, which is a function of `row`."""
    weight = 1 + row + row.square()
    return (values.mT @ weight[..., None])[..., 0] / row.shape[1]


def _refined_keys(values: Float[Tensor, "batch n columns"]) -> Float[Tensor, "batch columns"]:
    """Tells columns apart by their products with others, with those of these, and so on.

    This is the colour refinement by which graphs are compared (Weisfeiler and Leman 1968).
    """
    together = values.mT @ values / values.shape[1]
    # A power, as sums of whole numbers often coincide.
    together = together.abs().pow(1.5)
    key = torch.zeros_like(together[..., 0])
    for _ in range(_REFINEMENTS):
        key = torch.tanh((together @ (1 + key)[..., None])[..., 0] / together.shape[1])
    return _weighted_means(values, (values @ key[..., None])[..., 0])


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns of a batch of conditioning sets: first the numbers, then those of categories.

    Attributes:
        numbers: number of numeric variables, the same in all sets.
        categories: number of categories, likewise; at least 1.
        category: index of the category of each further column.
    """

    numbers: int
    categories: int
    category: Int[Tensor, "batch indicators"]

    @classmethod
    def from_widths(cls, sets: Sequence[Sequence[int]], device: torch.device) -> "Layout | None":
        """Builds the layout of sets of equally many numbers, categories and columns.

        Args:
            sets: the number of columns of each variable of each set, numbers (one column) first.
            device: where the sets are.

        Returns:
            The layout; None if there are no categories.
        """
        levels = [torch.tensor([k for k in widths if k > 1], dtype=torch.long) for widths in sets]
        categories = len(levels[0])
        if not categories:
            return None
        category = [torch.arange(categories).repeat_interleave(some) for some in levels]
        return cls(len(sets[0]) - categories, categories, torch.stack(category).to(device))

    @cached_property
    def _membership(self) -> Float[Tensor, "batch categories indicators"]:
        """1 where a column belongs to a category, else 0."""
        each = torch.arange(self.categories, device=self.category.device)
        return (self.category[:, None] == each[:, None]).double()

    def sums(self, squares: Float[Tensor, "batch columns k"]) -> Float[Tensor, "batch d_z k"]:
        """Sums numbers given for each column over the columns of each variable."""
        numbers, of_levels = squares.split([self.numbers, self.category.shape[1]], dim=1)
        return torch.cat([numbers, self._membership.to(squares.dtype) @ of_levels], dim=1)

    def keep_indicators(
        self, transformed: Float[Tensor, "batch n columns"], z: Float[Tensor, "batch n columns"]
    ) -> Float[Tensor, "batch n columns"]:
        """Replaces the transformed columns of categories by the indicators that they were."""
        numbers, levels = transformed[..., : self.numbers], z[..., self.numbers :]
        return torch.cat([numbers, levels.to(transformed.dtype)], dim=2)

    def tokens(
        self, ranks: Float[Tensor, "batch n columns"], z: Float[Tensor, "batch n columns"]
    ) -> Float[Tensor, "batch n d_z"]:
        """Returns one number for each variable: its rank, or that of the frequency of its level.

        The frequency of a row's level depends neither on the names nor on the order of levels.
        """
        levels = z[..., self.numbers :].double()
        frequency = (levels.mean(dim=1, keepdim=True) * levels) @ self._membership.mT
        return torch.cat([ranks[..., : self.numbers], rank_normal(frequency).to(ranks.dtype)], 2)

    def column_keys(self, z: Float[Tensor, "batch n columns"]) -> Float[Tensor, "batch columns"]:
        """Computes a number for each column that depends on its values, and not on its place.

        Levels of equal frequency are told apart by the rows that have them: by their numbers, by
        the frequencies of their other levels, and by how often they have both.
        """
        z = z.double()
        levels = z[..., self.numbers :]
        row = (levels @ levels.mean(dim=1)[..., None])[..., 0]
        values = torch.tanh(z - 0.3)
        if self.numbers:
            row = row + values[..., : self.numbers].mean(2)
        return _weighted_means(values, row) + BETWEEN_EQUALS * _refined_keys(values)
