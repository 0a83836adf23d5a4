"""Conditioning sets with categories: distances, tokens, and independence of the order of levels."""

import pytest
import torch

from acid_causal.model import ACIDModel, Layout, ModelConfig, TargetEncoding


def indicators(levels: torch.Tensor, count: int) -> torch.Tensor:
    return torch.nn.functional.one_hot(levels, count).double()


def test_there_is_no_layout_without_categories() -> None:
    assert Layout.from_widths([(1, 1), (1, 1)], torch.device("cpu")) is None


def test_two_levels_are_equally_far_apart_and_numbers_stay() -> None:
    layout = Layout.from_widths([(1, 3, 4), (1, 4, 3)], torch.device("cpu"))
    assert layout is not None
    assert (layout.numbers, layout.categories) == (1, 2)
    levels = torch.tensor([[0, 1, 2, 0], [1, 0, 2, 1]])
    first = torch.cat([indicators(levels, 3), indicators(levels, 4)], dim=2)
    second = torch.cat([indicators(levels, 4), indicators(levels, 3)], dim=2)
    z = torch.cat([torch.arange(4.0).double()[:, None], first[0]], dim=1)
    z = torch.stack([z, torch.cat([torch.arange(4.0).double()[:, None], second[1]], dim=1)])
    squares = (z - z[:, :1]).square().mT  # to the first row
    expected = torch.tensor(
        [
            [[0, 1, 4, 9], [0, 2, 2, 0], [0, 2, 2, 0]],
            [[0, 1, 4, 9], [0, 2, 2, 0], [0, 2, 2, 0]],
        ]
    ).double()
    torch.testing.assert_close(layout.sums(squares), expected)


def test_tokens_rank_levels_by_frequency() -> None:
    layout = Layout.from_widths([(1, 3)], torch.device("cpu"))
    assert layout is not None
    levels = torch.tensor([[2, 2, 2, 0, 0, 1]])
    numbers = torch.randn(1, 6, 1, dtype=torch.float64)
    z = torch.cat([numbers, indicators(levels, 3)], dim=2)
    tokens = layout.tokens(z, z)
    assert tokens.shape == (1, 6, 2)
    torch.testing.assert_close(tokens[..., 0], numbers[..., 0])
    of_level = tokens[0, :, 1]
    assert of_level[0] == of_level[2] > of_level[3] == of_level[4] > of_level[5]


@pytest.fixture(scope="module")
def network() -> ACIDModel:
    torch.manual_seed(0)
    config = ModelConfig(e=16, layers=1, attention_heads=2, head_count=4, transform="values")
    return ACIDModel(config).eval()


def question(
    generator: torch.Generator, n: int = 150
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """A number, levels of X, and of two categories in Z, one of them with equal frequencies."""
    balanced = torch.arange(n) % 5
    of_z = torch.randint(0, 6, (n,), generator=generator)
    x = torch.where(torch.rand(n, generator=generator) < 0.6, of_z % 4, balanced % 4)
    return torch.randn(n, generator=generator).double(), x, balanced, of_z


def encode(
    network: ACIDModel, number: torch.Tensor, x: torch.Tensor, *given: torch.Tensor
) -> tuple[TargetEncoding, TargetEncoding]:
    """Encodes a category and a number, given a number and two categories."""
    z = torch.cat([number.roll(1)[:, None], indicators(given[0], 5), indicators(given[1], 6)], 1)
    layout = Layout.from_widths([(1, 5, 6)], z.device)
    with torch.inference_mode():
        conditioning = network.encode_conditioning(z[None], layout)
        category = indicators(x, 4)[None, None]
        return (
            network.encode_targets(category, conditioning, categories=True),
            network.encode_targets(number[None, None, :, None], conditioning),
        )


def test_order_of_levels_moves_no_statistic(network: ACIDModel) -> None:
    generator = torch.Generator().manual_seed(1)
    number, x, first, second = question(generator)
    category, plain = encode(network, number, x, first, second)
    assert category.d_z == 3
    renamed = [
        torch.randperm(k, generator=generator)[levels]
        for k, levels in ((4, x), (5, first), (6, second))
    ]
    other_category, other_plain = encode(network, number, *renamed)
    with torch.inference_mode():
        torch.testing.assert_close(
            network.score(category, plain),
            network.score(other_category, other_plain),
            atol=1e-4,
            rtol=1e-5,
        )


def test_order_of_rows_moves_no_statistic(network: ACIDModel) -> None:
    generator = torch.Generator().manual_seed(2)
    number, x, first, second = question(generator)
    order = torch.randperm(len(number), generator=generator)
    given = number.roll(1)

    def score(*columns: torch.Tensor) -> torch.Tensor:
        number, given, x, first, second = columns
        z = torch.cat([given[:, None], indicators(first, 5), indicators(second, 6)], 1)[None]
        conditioning = network.encode_conditioning(z, Layout.from_widths([(1, 5, 6)], z.device))
        category = network.encode_targets(
            indicators(x, 4)[None, None], conditioning, categories=True
        )
        plain = network.encode_targets(number[None, None, :, None], conditioning)
        return network.score(category, plain)

    columns = number, given, x, first, second
    with torch.inference_mode():
        one, two = score(*columns), score(*(column[order] for column in columns))
    torch.testing.assert_close(one, two, atol=1e-3, rtol=1e-4)


def test_levels_without_rows_and_levels_that_z_determines_leave_nothing(network: ACIDModel) -> None:
    generator = torch.Generator().manual_seed(3)
    number, x, first, second = question(generator)
    x = torch.where(first == 0, 3, x % 2)  # level 2 has no rows, and Z determines level 3
    category, _ = encode(network, number, x, first, second)
    assert not category.residuals[:, 2:].any()
    assert category.residuals[:, :2].abs().amax(dim=(0, 2, 3)).min() > 0.5
    # Nothing left at all is no dependence.
    nothing, plain = encode(network, number, first * 0 + 1, first, second)
    with torch.inference_mode():
        score, independent = network.score(nothing, plain), network.score(category, plain)
    assert torch.isfinite(score).all()
    assert score < independent + 1


def test_more_levels_than_a_head_is_wide_take_several_components(network: ACIDModel) -> None:
    generator = torch.Generator().manual_seed(4)
    levels = torch.randint(0, 20, (400,), generator=generator)
    y = torch.where(torch.rand(400, generator=generator) < 0.5, levels % 3, 2)
    z = torch.randn(1, 400, 1, generator=generator).double()
    with torch.inference_mode():
        conditioning = network.encode_conditioning(z)
        wide, narrow, shuffled = (
            network.encode_targets(indicators(v, k)[None, None], conditioning, categories=True)
            for v, k in ((levels, 20), (y, 3), (y[torch.randperm(400, generator=generator)], 3))
        )
        assert wide.features.shape[:3] == (1, 2, 4)
        assert narrow.features.shape[:3] == (1, 1, 4)
        assert network.score(wide, narrow) > network.score(wide, shuffled) + 1
