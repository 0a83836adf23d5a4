"""Questions with known answers, made from a user's own table.

The conditioning set Z and one target, X, are the table's own, row by row. The other targets are
redrawn given Z (see `acid_causal.training.redrawing`), and so are independent of X and of one
another given Z, whatever is true of the columns themselves. Dependence is put in on top: some
targets become functions of others. No label of the user's is needed or guessed.

What a target is redrawn from comes from rows that the dataset does not contain. With a regression
of the same rows, X would depend on the residuals that the regression could not help following.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from acid_causal.model.transform import rank_normal
from acid_causal.synthetic import Batch
from acid_causal.synthetic.categories import indicators, with_indicators
from acid_causal.synthetic.draws import coin, integer, log_uniform, rand
from acid_causal.synthetic.structures import driven
from acid_causal.training.redrawing import Category, Number, classify, regress

# Of the fewest rows half go into the smallest dataset, and half into its regressions.
MIN_ROWS = 100
MIN_COLUMNS = 2
_SMALLEST, _LARGEST = 50, 1000
_MOST_CONDITIONED = 8
# Regressions use at most this many rows; more would not change the questions noticeably.
_MOST_TEACHERS = 400


class TableStream:
    """Labelled batches in the style of a table, drawn like those of `acid_causal.synthetic.Stream`.

    Args:
        values: the table, complete and without constant columns: numbers as a network reads them,
            categories as codes 0, 1 and so on.
        seed: streams of different seeds share no draws.
        device: where batches are made.
        entries: scalars in a batch, at most.
        targets: bounds of the number of targets of a conditioning set.
        max_batch: most datasets in a batch.
        levels: number of levels of each column, 1 of numbers; None: all are numbers.
    """

    def __init__(
        self,
        values: Float[Tensor, "rows d"],
        seed: int,
        device: torch.device | str = "cpu",
        *,
        entries: int = 16_000,
        targets: tuple[int, int] = (4, 8),
        max_batch: int = 64,
        levels: Sequence[int] | None = None,
    ) -> None:
        self.seed, self.device = seed, device
        self._values = values.to(device)
        self._scores = rank_normal(self._values[None])[0]
        self._sorted = self._values.sort(dim=0).values
        self._levels = tuple(levels or (1 for _ in range(values.shape[1])))
        self._mixed = max(self._levels) > 1
        # What a network reads and what regressions read: an indicator for each level of categories.
        self._read = self._with_indicators(self._values)
        self._regressors = self._with_indicators(self._scores)
        self._entries, self._targets, self._max_batch = entries, targets, max_batch
        rows, d = self._values.shape
        self.n = (_SMALLEST, min(_LARGEST, 2 * rows // 3))
        self.d_z = (0, min(_MOST_CONDITIONED, d - 2))

    def draw(self, generator: Generator, *, n: int | None = None, d_z: int | None = None) -> Batch:
        """Draws a batch; n and d_z are random unless given."""
        if n is None:
            low, high = self.n
            n = round(float(log_uniform(generator, float(low), float(high), 1)))
        if d_z is None:
            d_z = min(integer(generator, *self.d_z), integer(generator, *self.d_z))
        t = integer(generator, *self._targets)
        total, d = self._values.shape
        size = n * (d_z + t) * self._read.shape[1] / d
        batch = max(2, min(self._max_batch, math.ceil(self._entries / size)))

        rows = rand(generator, batch, total).argsort(dim=1)
        asked, teachers = rows[:, :n], rows[:, n : n + _MOST_TEACHERS]
        # Categories differ in their numbers of levels, so with them all datasets share columns.
        choices = 1 if self._mixed else batch
        columns = rand(generator, choices, d).argsort(dim=1).expand(batch, -1)
        cond, others = columns[:, :d_z], columns[:, d_z:]
        pick = torch.randint(0, d - d_z, (choices, t), generator=generator, device=generator.device)
        templates = others.gather(1, pick.expand(batch, -1))
        cond = self._numbers_first(cond)

        places = self._places(cond)
        known, here = (_cells(self._regressors, some, places) for some in (teachers, asked))
        targets = self._given_z(known, here, teachers, templates, generator)
        first = templates[:, :1]
        real = _cells(self._values, asked, first)[..., 0].long()
        if isinstance(targets[0], Number):
            real = _cells(self._scores, asked, first)[..., 0]
        latent, dependent = _redraw(real, targets, here, generator)

        kinds = self._kinds(templates)
        numbers = [j for j, count in enumerate(kinds) if count == 1]
        categories = [j for j, count in enumerate(kinds) if count > 1]
        order = numbers + categories
        return Batch(
            z=_cells(self._read, asked, places),
            x=self._numbers(numbers, asked, templates, latent),
            dependent=dependent[:, order][:, :, order],
            source="table",
            categories=self._categories(categories, max(kinds), latent),
            widths=self._kinds(cond) if self._mixed else None,
        )

    def _given_z(
        self,
        known: Float[Tensor, "batch known columns"],
        here: Float[Tensor, "batch n columns"],
        teachers: Int[Tensor, "batch known"],
        templates: Int[Tensor, "batch t"],
        generator: Generator,
    ) -> list[Number | Category]:
        """Regresses each target on Z; see `regress` and `classify`."""
        kinds = self._kinds(templates)
        numbers = [j for j, count in enumerate(kinds) if count == 1]
        targets: dict[int, Number | Category] = {}
        if numbers:
            scores = _cells(self._scores, teachers, templates[:, numbers])
            targets.update(zip(numbers, regress(known, scores, here, generator), strict=True))
        for j, count in enumerate(kinds):
            if count > 1:
                levels = _cells(self._values, teachers, templates[:, [j]])[..., 0].long()
                targets[j] = classify(known, levels, here, count, generator)
        return [targets[j] for j in range(len(kinds))]

    def _numbers(
        self,
        numbers: Sequence[int],
        asked: Int[Tensor, "batch n"],
        templates: Int[Tensor, "batch t"],
        latent: Sequence[Tensor],
    ) -> Float[Tensor, "batch numbers n 1"]:
        """Returns the targets that are numbers; redrawn ones get values of their columns."""
        first = _cells(self._values, asked, templates[:, :1])
        parts = [first if 0 in numbers else first[..., :0]]
        again = [j for j in numbers if j]
        if again:
            ranks = torch.stack([latent[j] for j in again], dim=2).argsort(dim=1).argsort(dim=1)
            place = ((ranks + 0.5) * (len(self._sorted) / asked.shape[1])).long()
            parts.append(self._sorted[place, templates[:, None, again]])
        return torch.cat(parts, dim=2).transpose(1, 2)[..., None]

    def _categories(
        self, categories: Sequence[int], most: int, latent: Sequence[Tensor]
    ) -> Float[Tensor, "batch categories n levels"] | None:
        """Returns the indicators of the targets that are categories."""
        if not categories:
            return None
        return indicators(torch.stack([latent[j] for j in categories], dim=1), most)

    # ---- columns ------------------------------------------------------------------

    def _kinds(self, columns: Int[Tensor, "batch k"]) -> tuple[int, ...]:
        """Returns the number of levels of columns, in which datasets do not differ."""
        if not self._mixed:
            return (1,) * columns.shape[1]
        return tuple(self._levels[k] for k in columns[0].tolist())

    def _numbers_first(self, columns: Int[Tensor, "batch k"]) -> Int[Tensor, "batch k"]:
        kinds = self._kinds(columns)
        return columns[:, sorted(range(len(kinds)), key=lambda k: kinds[k] > 1)]

    def _places(self, columns: Int[Tensor, "batch k"]) -> Int[Tensor, "batch places"]:
        """Returns where columns are among those that a network reads."""
        if not self._mixed:
            return columns
        starts = [sum(self._levels[:k]) for k in columns[0].tolist()]
        counts = self._kinds(columns)
        places = [at + k for at, count in zip(starts, counts, strict=True) for k in range(count)]
        return torch.tensor(places, dtype=torch.long, device=self.device).expand(len(columns), -1)

    def _with_indicators(self, numbers: Float[Tensor, "rows d"]) -> Float[Tensor, "rows places"]:
        """Replaces categories by indicators of their levels."""
        return with_indicators(numbers[None], self._values[None].long(), self._levels)[0]


def _cells(
    table: Float[Tensor, "rows d"], rows: Int[Tensor, "batch n"], columns: Int[Tensor, "batch k"]
) -> Float[Tensor, "batch n k"]:
    return table[rows[:, :, None], columns[:, None, :]]


# ---- redrawing -------------------------------------------------------------------


def _redraw(
    real: Float[Tensor, "batch n"] | Int[Tensor, "batch n"],
    targets: Sequence[Number | Category],
    z: Float[Tensor, "batch n columns"],
    generator: Generator,
) -> tuple[list[Tensor], Bool[Tensor, "batch t t"]]:
    """Redraws all targets but the first, some of them as functions of others.

    Args:
        real: the first target, as it is.
        targets: all targets given Z.
        z: conditioning variables of the datasets.
        generator: source of randomness.

    Returns:
        All targets, each of shape (batch, n), and which pairs are dependent given Z.
    """
    batch, t = len(z), len(targets)
    # Without a conditioning set of its own this is a sparse graph over the targets.
    structure = driven(batch, 0, t, 0, generator)
    parents = structure.parents.clone()
    # Nothing is made dependent on a first target that Z determines.
    parents[:, :, 0] &= ~targets[0].is_barren(real)
    structure = replace(structure, parents=parents)

    # A target's own noise is that of the table, half of the time, or less: strong common causes.
    less = log_uniform(generator, 0.2, 1.0, batch, 1, t)
    share = torch.where(coin(generator, 0.5, batch, 1, t) > 0, 1.0, less)
    # What depends on a target depends on its innovation given Z, or on its values.
    by_value = coin(generator, 0.5, batch, 1, t) > 0
    with_z = coin(generator, 0.4, batch, 1) > 0
    drawn = [targets[0].as_it_is(real, generator)]
    for j in range(1, t):
        causes = [
            torch.where(by_value[..., k], cause.value, cause.innovation)
            for k, cause in enumerate(drawn)
        ]
        present = parents[:, j, :j]
        near = rand(generator, batch, z.shape[2]) < 1 / max(1, z.shape[2])
        near = near & with_z & present.any(dim=1, keepdim=True)
        links = torch.cat([torch.stack(causes, dim=2), z], dim=2), torch.cat([present, near], dim=1)
        drawn.append(targets[j].redraw(links, share[..., j], generator))
    return [target.latent for target in drawn], structure.dependent(generator)
