"""Categories of the stream: levels, effects, and labels that stay right."""

import numpy as np
import pytest
import torch
from scipy.stats import chi2_contingency

from acid_causal.synthetic import Stream, StreamConfig
from acid_causal.synthetic.categories import categorise, draw_widths, indicators, random_effects
from acid_causal.synthetic.draws import seeded


def test_widths_put_numbers_first_and_bound_the_columns() -> None:
    generator = seeded("widths")
    for _ in range(200):
        widths = draw_widths(20, 1000, 1.0, generator)
        assert len(widths) == 20
        assert sum(widths) <= 40
        assert list(widths) == sorted(widths, key=lambda width: width > 1)
    assert draw_widths(5, 200, 0.0, generator) == (1,) * 5
    assert max(draw_widths(3, 20, 1.0, generator)) == 3  # few rows, few levels


def test_levels_depend_on_the_variable_and_all_of_them_occur() -> None:
    generator = seeded("levels")
    values = torch.randn(40, 500, generator=generator)
    levels = categorise(values, 4, generator)
    assert set(levels.unique().tolist()) == {0, 1, 2, 3}
    between = [
        np.var([float(v[level == k].mean()) for k in range(4) if (level == k).any()])
        for v, level in zip(values, levels, strict=True)
    ]
    assert np.mean(np.array(between) > 0.1) > 0.8


def test_effects_are_of_levels_and_of_unit_variance() -> None:
    generator = seeded("effects")
    levels = torch.randint(0, 5, (8, 300, 2), generator=generator)
    effect = random_effects(levels, generator)
    torch.testing.assert_close(effect.square().mean(1), torch.ones(8, 2))
    for k in range(5):
        of_level = effect[0, levels[0, :, 0] == k, 0]
        assert of_level.min() == of_level.max()
    other = random_effects(levels, generator)
    assert (effect - other).abs().max() > 0.5


def test_batches_hold_categories_as_indicators() -> None:
    config = StreamConfig(entries=4000, n=(60, 200), d_z=(0, 6), six_models=0.0, categories=1.0)
    stream = Stream(config, 3)
    seen = set()
    for k in range(40):
        batch = stream[k]
        assert batch.widths is not None
        assert batch.z.shape[2] == sum(batch.widths)
        assert batch.d_z == len(batch.widths)
        numbers = batch.widths.count(1)
        start = numbers
        for width in batch.widths[numbers:]:
            levels = batch.z[..., start : start + width]
            assert set(levels.unique().tolist()) == {0.0, 1.0}
            torch.testing.assert_close(levels.sum(2), torch.ones_like(levels[..., 0]))
            start += width
        targets = batch.x.shape[1]
        if batch.categories is not None:
            torch.testing.assert_close(
                batch.categories.sum(3), torch.ones_like(batch.categories[..., 0])
            )
            targets += batch.categories.shape[1]
        assert batch.dependent.shape[1:] == (targets, targets)
        seen.add((batch.x.shape[1] > 0, batch.categories is not None, numbers < batch.d_z))
    assert len(seen) >= 5  # numbers, categories and both, given numbers and categories


@pytest.mark.parametrize("siblings", [0.0, 1.0])
def test_labels_without_z_are_those_of_a_table_of_counts(siblings: float) -> None:
    config = StreamConfig(
        n=(1000, 1000), six_models=0.0, driven=0.0, siblings=siblings, categories=1.0
    )
    stream = Stream(config, 4)
    p: dict[bool, list[float]] = {True: [], False: []}
    for k in range(90):
        batch = stream.draw(seeded("counts", k), d_z=0)
        if batch.categories is None or batch.categories.shape[1] < 2:
            continue
        levels = batch.categories.argmax(3)
        place = batch.x.shape[1]
        for pair, dependent in zip(levels, batch.dependent[:, place, place + 1], strict=True):
            counts = indicators(pair[0], 12).mT @ indicators(pair[1], 12)
            counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]
            if min(counts.shape) > 1:
                p[bool(dependent)].append(float(chi2_contingency(counts.numpy()).pvalue))
    assert len(p[False]) > 18
    assert np.mean(np.array(p[False]) < 0.05) < 0.05 + 3 * (0.05 / len(p[False])) ** 0.5
    assert np.mean(np.array(p[True]) < 0.05) > 0.5
