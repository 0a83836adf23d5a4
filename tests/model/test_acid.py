"""The network: cached equals uncached, and the symmetries that a test must have."""

from dataclasses import replace

import pytest
import torch

from acid_causal.model import ACIDModel, ModelConfig

FAST = ModelConfig(e=16, layers=2, attention_heads=2, head_count=4, smoother_rank=24)
PAPER = replace(
    FAST, residual_channels=False, sample_attention=True, head="paper", transform="standardise"
)
MIXED = replace(FAST, sample_attention=True, residual_channels=False)
VALUES = replace(FAST, transform="values")
DIRECTIONS = replace(VALUES, learned_directions=True)
CONFIGS = pytest.mark.parametrize(
    "config",
    [FAST, PAPER, MIXED, VALUES, DIRECTIONS],
    ids=["fast", "paper", "mixed", "values", "directions"],
)


def network(config: ModelConfig) -> ACIDModel:
    torch.manual_seed(0)
    return ACIDModel(config).eval()


def draw(
    d_x: int, d_y: int, d_z: int, batch: int = 3, n: int = 40, seed: int = 0
) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(batch, n, d, generator=generator) for d in (d_x, d_y, d_z)]


@CONFIGS
@pytest.mark.parametrize("dims", [(1, 1, 0), (1, 1, 1), (1, 1, 4), (2, 3, 2), (3, 1, 0)])
def test_encode_and_score_equals_forward(config: ModelConfig, dims: tuple[int, int, int]) -> None:
    model = network(config)
    x, y, z = draw(*dims)
    with torch.no_grad():
        conditioning = model.encode_conditioning(z)
        # Another target rides along, as in a batch of a PC level.
        along = torch.cat([x[:, None], x[:, None].flip(2)], dim=1)
        encoded_x = model.encode_targets(along, conditioning)[torch.arange(0, 6, 2)]
        encoded_y = model.encode_targets(y[:, None], conditioning)
        cached = model.score(encoded_x, encoded_y)
        torch.testing.assert_close(cached, model(x, y, z), atol=1e-5, rtol=1e-5)


@CONFIGS
@pytest.mark.parametrize("dims", [(1, 1, 3), (2, 2, 2)])
def test_symmetries(config: ModelConfig, dims: tuple[int, int, int]) -> None:
    model = network(config)
    x, y, z = draw(*dims)
    rows = torch.randperm(x.shape[1], generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = model(x, y, z)
        for same in (
            model(y, x, z),
            model(x[:, rows], y[:, rows], z[:, rows]),
            model(x, y, z.flip(2)),
            model(x.flip(2), y, z),
        ):
            torch.testing.assert_close(same, expected, atol=1e-4, rtol=1e-4)


@CONFIGS
def test_datasets_of_a_batch_do_not_mix(config: ModelConfig) -> None:
    model = network(config)
    x, y, z = draw(1, 1, 3)
    with torch.no_grad():
        alone = torch.cat([model(x[k : k + 1], y[k : k + 1], z[k : k + 1]) for k in range(3)])
        torch.testing.assert_close(alone, model(x, y, z), atol=1e-5, rtol=1e-5)


@CONFIGS
def test_every_parameter_learns(config: ModelConfig) -> None:
    model = network(config).train()
    x, y, z = draw(2, 2, 3)
    model(x, y, z).sum().backward()
    idle = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert not idle


def test_y_does_not_reach_the_encoding_of_x() -> None:
    model = network(FAST)
    x, y, z = draw(1, 1, 2)
    targets = torch.stack([x, y], dim=1)
    with torch.no_grad():
        conditioning = model.encode_conditioning(z)
        first = model.encode_targets(targets, conditioning)[torch.arange(0, 6, 2)]
        other = model.encode_targets(torch.stack([x, y**2], dim=1), conditioning)
    torch.testing.assert_close(first.features, other[torch.arange(0, 6, 2)].features)


def test_features_hold_nothing_that_z_tells() -> None:
    """What the head compares is residualised: smoothed again, next to nothing comes out."""
    model = network(FAST)
    generator = torch.Generator().manual_seed(5)
    z = torch.randn(2, 200, 1, generator=generator)
    x = torch.sin(2 * z) + 0.2 * torch.randn(2, 200, 1, generator=generator)
    x = model.transform(x)
    with torch.no_grad():
        conditioning = model.encode_conditioning(z)
        features = model.encode_targets(x[:, None], conditioning).features.flatten(1, 3)
        ridges = torch.zeros(2, features.shape[1], dtype=torch.long)
        told = conditioning.smoothers[-1].smooth(features, ridges)
    assert told.var() < 0.05 * features.var()
    assert features.var() > 1e-4


@pytest.mark.parametrize("config", [FAST, DIRECTIONS], ids=["fast", "directions"])
def test_rows_in_blocks_make_no_difference(
    config: ModelConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = network(config)
    x, y, z = draw(1, 2, 3)
    with torch.no_grad():
        expected = model(x, y, z)
        monkeypatch.setattr("acid_causal.model.numerics.ROW_BLOCK", 7)
        torch.testing.assert_close(model(x, y, z), expected, atol=1e-5, rtol=1e-5)


@CONFIGS
@pytest.mark.parametrize("tokens", [1, 130, 500])
def test_few_tokens_at_a_time_make_no_difference(
    config: ModelConfig, tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of a set's targets, single sets, and a few sets at a time, the last of them smaller."""
    model = network(config)
    targets, z = torch.randn(5, 3, 40, 2), torch.randn(5, 40, 2)
    with torch.no_grad():
        expected = model.encode_targets(targets, model.encode_conditioning(z))
        monkeypatch.setattr("acid_causal.model.acid._TOKENS", tokens)
        got = model.encode_targets(targets, model.encode_conditioning(z))
    torch.testing.assert_close(got.features, expected.features, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("config", [FAST, DIRECTIONS], ids=["fast", "directions"])
@pytest.mark.parametrize("d_z", [1, 3])
def test_sets_encoded_together_are_the_same_alone(config: ModelConfig, d_z: int) -> None:
    """Whichever part is taken of conditioning sets that were read together."""
    model = network(config)
    x, _, z = draw(1, 1, d_z, batch=5)
    with torch.no_grad():
        whole = model.encode_targets(x[:, None], model.encode_conditioning(z))
        some = model.encode_conditioning(z)[1:4]
        part = model.encode_targets(x[1:4, None], some)
    if d_z == 1:  # one smoother stands for two, in a part as in the whole
        assert some.smoothers[1] is some.smoothers[2]
    torch.testing.assert_close(part.features, whole.features[1:4], atol=1e-5, rtol=1e-4)


@CONFIGS
@pytest.mark.parametrize("d", [1, 2])
def test_all_pairs_at_once_are_the_pairs_one_by_one(config: ModelConfig, d: int) -> None:
    model = network(config)
    t = 4
    targets, z = torch.randn(3, t, 40, d), torch.randn(3, 40, 2)
    with torch.no_grad():
        encoding = model.encode_targets(targets, model.encode_conditioning(z))
        got = model.score_grid(encoding, encoding, t, t)
        i, j = torch.triu_indices(t, t, 1)
        for s in range(3):
            alone = model.score(encoding[s * t + i], encoding[s * t + j])
            torch.testing.assert_close(got[s, i, j], alone, atol=1e-5, rtol=1e-5)


def test_no_pairs_have_no_logits() -> None:
    """As where none of a batch's questions is one of independence."""
    model = network(FAST)
    with torch.no_grad():
        encoding = model.encode_targets(
            torch.randn(1, 2, 40, 1), model.encode_conditioning(torch.randn(1, 40, 2))
        )
        none = encoding[torch.tensor([], dtype=torch.long)]
        assert model.score(none, none).shape == (0,)


def test_the_papers_classifier_sees_nothing_but_the_head() -> None:
    config = replace(FAST, head="paper", classifier_facts=False)
    classifier = network(config).classifier
    assert isinstance(classifier, torch.nn.Sequential)
    assert classifier[0].in_features == FAST.head_count


def test_functions_of_z_are_noticed() -> None:
    model = network(replace(FAST, smoother_rank=64))
    generator = torch.Generator().manual_seed(6)
    z = model.transform(torch.randn(1, 853, 2, generator=generator))
    noise = torch.randn(1, 853, 1, generator=generator)
    one = z[..., :1]
    columns = [one, one**2, torch.sin(2 * one), one + 0.1 * noise, noise, noise.sign()]
    targets = model.transform(torch.cat(columns, dim=2)).transpose(1, 2)[..., None]
    with torch.no_grad():
        encoding = model.encode_targets(targets, model.encode_conditioning(z))
    assert encoding.determined[:, 0].tolist() == [True] * 3 + [False] * 3
    assert encoding.explained[3, 0] > 0.9
    assert encoding.explained[4, 0] < 0.1


def test_autocast_leaves_the_regressions_alone() -> None:
    model = network(FAST)
    x, y, z = draw(1, 1, 3, n=80)
    with torch.no_grad():
        expected = model(x, y, z)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            smoother = model.encode_conditioning(z).smoothers[-1]
            got = model(x, y, z)
    plain = model.encode_conditioning(z).smoothers[-1]
    assert smoother.u.dtype == torch.float32
    torch.testing.assert_close(smoother.leverage, plain.leverage)
    torch.testing.assert_close(got.float(), expected, atol=0.05, rtol=0.05)


def test_dropout_acts_in_training_only() -> None:
    model = network(replace(FAST, dropout=0.3))
    x, y, z = draw(1, 1, 2)
    with torch.no_grad():
        assert torch.equal(model(x, y, z), model(x, y, z))
        model.train()
        assert not torch.equal(model(x, y, z), model(x, y, z))
