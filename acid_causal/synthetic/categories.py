"""Unordered categories: drawn from a continuous variable, and as causes of others.

A category as an effect is a function of a continuous variable, with noise of its own in half of the
datasets. As a cause it acts by a random effect of each level, drawn anew for each of its effects.
"""

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from acid_causal.synthetic.draws import coin, gumbel, integer, rand, randn

# Numbers of levels; small ones are more frequent.
FEWEST, MOST = 3, 12
# A batch has at most so many columns of Z, and a row at least this many samples for each level.
_MOST_COLUMNS, _ROWS_OF_LEVEL = 40, 6


def draw_widths(count: int, n: int, chance: float, generator: Generator) -> tuple[int, ...]:
    """Draws the numbers of columns of variables, numbers first: 1, or the levels of a category.

    Args:
        count: number of variables.
        n: number of samples.
        chance: probability of a category.
        generator: random generator.
    """
    widths: list[int] = []
    for _ in range(count):
        levels = draw_levels(n, generator)
        is_category = float(rand(generator, 1)) < chance
        fits = sum(widths) + levels + count - len(widths) <= max(_MOST_COLUMNS, count)
        widths.append(levels if is_category and fits else 1)
    return tuple(sorted(widths, key=lambda width: width > 1))


def draw_levels(n: int, generator: Generator) -> int:
    """Draws a number of levels."""
    most = most_levels(n)
    return min(integer(generator, FEWEST, most), integer(generator, FEWEST, most))


def most_levels(n: int) -> int:
    """Returns the largest number of levels that a category of n rows is given."""
    return max(FEWEST, min(MOST, n // _ROWS_OF_LEVEL))


def categorise(
    values: Float[Tensor, "batch n"], levels: int, generator: Generator
) -> Int[Tensor, "batch n"]:
    """Draws the level of each row given a variable of mean 0 and variance 1.

    In half of the datasets the variable is cut at random quantiles, and the intervals get levels in
    a random order. In the others the level is drawn from a multinomial logit model.
    """
    batch, n = values.shape
    cuts = rand(generator, batch, levels - 1).mul(0.9).add(0.05).sort(dim=1).values
    rank = values.argsort(dim=1).argsort(dim=1) / n
    cut = torch.searchsorted(cuts, rank.contiguous())
    order = rand(generator, batch, levels).argsort(dim=1)
    slope = (0.5 + 2.5 * rand(generator, batch, 1, 1)) * randn(generator, batch, 1, levels)
    offset = 0.8 * randn(generator, batch, 1, levels)
    logit = slope * values[..., None] + offset + gumbel(generator, batch, n, levels)
    chosen = logit.argmax(dim=2)
    return torch.where(coin(generator, 0.5, batch, 1) > 0, order.gather(1, cut), chosen)


def random_effects(
    levels: Int[Tensor, "batch n nodes"], generator: Generator
) -> Float[Tensor, "batch n nodes"]:
    """Draws an effect of each level of each variable; of about unit variance over the rows."""
    batch, _, nodes = levels.shape
    of_level = randn(generator, batch, MOST, nodes)
    effect = of_level.gather(1, levels)
    effect = effect - effect.mean(dim=1, keepdim=True)
    return effect / effect.square().mean(dim=1, keepdim=True).sqrt().clamp(min=0.1)


def indicators(levels: Int[Tensor, "*rows"], count: int) -> Float[Tensor, "*rows count"]:
    """Returns a column for each level: 1 where a row has it."""
    return torch.nn.functional.one_hot(levels, count).float()


def with_indicators(
    values: Float[Tensor, "batch n d"], levels: Int[Tensor, "batch n d"], widths: tuple[int, ...]
) -> Float[Tensor, "batch n columns"]:
    """Replaces the variables that are categories by the indicators of their levels.

    Args:
        values: of the variables that are numbers.
        levels: of the others.
        widths: number of levels of each variable, 1 if it is a number.
    """
    parts = [
        indicators(levels[..., k], width) if width > 1 else values[..., k : k + 1]
        for k, width in enumerate(widths)
    ]
    return torch.cat([values[..., :0], *parts], dim=2)
