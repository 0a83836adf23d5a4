"""Multinomial logistic regression: probabilities that are right."""

import pytest
import torch

from acid_causal.synthetic.draws import seeded
from acid_causal.training.classification import log_probabilities


def test_probabilities_are_those_that_the_levels_were_drawn_with() -> None:
    """A softmax of lines in two features; 30 features are noise."""
    generator = seeded("softmax")
    x = torch.randn(6, 1200, 32, generator=generator)
    slope = torch.zeros(32, 3)
    slope[0], slope[1] = torch.tensor([2.0, -2.0, 0.0]), torch.tensor([0.0, -1.0, 1.0])
    true = (x @ slope + torch.tensor([0.5, 0.0, -0.5])).softmax(dim=2)
    levels = torch.multinomial(true.flatten(0, 1), 1, generator=generator).view(6, 1200)
    p = log_probabilities(x[:, :1000], levels[:, :1000], x[:, 1000:], 3).exp()
    torch.testing.assert_close(p.sum(dim=2), torch.ones(6, 200))
    off = (p - true[:, 1000:]).abs()
    assert off.mean() < 0.06
    assert (p - true[:, 1000:]).mean(dim=(0, 1)).abs().max() < 0.02
    # Frequencies alone, which no feature betters, are far off.
    assert off.mean() < (true.mean(dim=(0, 1)) - true[:, 1000:]).abs().mean() / 5


@pytest.mark.parametrize("m", [0, 60])
def test_without_a_relation_they_are_the_frequencies(m: int) -> None:
    generator = seeded("none", m)
    levels = torch.tensor([0, 0, 0, 1, 2]).repeat(4, 60)
    levels = levels[:, torch.randperm(300, generator=generator)]
    known, at = (torch.randn(4, n, m, generator=generator) / 8 for n in (300, 50))
    p = log_probabilities(known, levels, at, 3).exp()
    expected = torch.tensor([0.6, 0.2, 0.2]).expand(4, 50, 3)
    assert (p - expected).abs().mean() < (0.06 if m else 0.005)


def test_a_level_that_is_absent_is_rare() -> None:
    generator = seeded("absent")
    known = torch.randn(2, 40, 3, generator=generator)
    levels = (known[..., 0] > 0).long() * 2  # level 1 is absent, 0 and 2 are separated
    log_p = log_probabilities(known, levels, known, 3)
    assert log_p.isfinite().all()
    assert log_p[..., 1].exp().max() < 0.05
    assert (log_p.argmax(dim=2) == levels).float().mean() > 0.95
