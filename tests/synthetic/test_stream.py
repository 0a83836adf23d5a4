"""The stream: reproducible by number, labelled, standardised, and disjoint between seeds."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from acid_causal.errors import OptionError
from acid_causal.synthetic import NULL_STREAMS, Stream, StreamConfig, null_datasets, six_models
from acid_causal.synthetic.draws import seeded
from acid_causal.synthetic.mechanisms import ALL, MLPS
from acid_causal.synthetic.noise import HEAVY, MARGINS, NOISES
from acid_causal.synthetic.sem import measure


def test_batch_is_a_function_of_seed_and_number() -> None:
    a, b = Stream(StreamConfig(), seed=3), Stream(StreamConfig(), seed=3)
    b[5]  # what was drawn before does not matter
    assert torch.equal(a[9].x, b[9].x)
    assert torch.equal(a[9].dependent, b[9].dependent)
    other = Stream(StreamConfig(), seed=4)[9]
    assert other.x.shape != a[9].x.shape or not torch.equal(other.x, a[9].x)


def test_batches_keep_to_their_bounds() -> None:
    config = StreamConfig(entries=6000, n=(60, 120), d_z=(0, 4), targets=(3, 5))
    sources = set()
    for number in range(30):
        batch = Stream(config, 0)[number]
        count, t, n, d_x = batch.x.shape
        assert batch.z.shape[:2] == (count, n)
        assert 60 <= n <= 120
        assert 0 <= batch.z.shape[2] <= 4
        assert batch.dependent.shape == (count, t, t)
        assert torch.equal(batch.dependent, batch.dependent.transpose(1, 2))
        assert count == 2 or count * n * (batch.z.shape[2] + t * d_x) <= 6000 + n * 20
        assert batch.x.isfinite().all()
        sources.add(batch.source)
    assert sources == {"six-models", "driven", "random_dags"}


def test_variables_are_standardised() -> None:
    batch = Stream(StreamConfig(n=(2000, 2000), six_models=0.0), 1)[0]
    assert batch.x.mean(dim=2).abs().max() < 0.3
    assert (batch.x.std(dim=2) - 1).abs().max() < 0.35


@pytest.mark.parametrize("name", sorted(NOISES))
def test_noise_has_mean_0_and_variance_1(name: str) -> None:
    draws = NOISES[name](seeded("noise", name), (200_000,))
    assert abs(draws.mean()) < 0.02
    assert abs(draws.var() - 1) < 0.1


@pytest.mark.parametrize("name", sorted(HEAVY))
def test_heavy_noise_is_as_wide_as_the_normal_in_its_middle_half(name: str) -> None:
    draws = HEAVY[name](seeded("noise", name), (200_000,))
    low, median, high = np.quantile(draws.numpy(), (0.25, 0.5, 0.75))
    assert high - low == pytest.approx(2 * 0.6745, abs=0.02)
    assert median == pytest.approx(0, abs=0.01)
    assert draws.abs().max() > 15
    assert draws.isfinite().all()


def test_the_stream_draws_the_noise_that_it_is_told_to() -> None:
    def largest(noises: str) -> float:
        stream = Stream(StreamConfig(entries=8000, n=(500, 500), six_models=0.0, noises=noises), 0)
        return max(float(stream[k].x.abs().max()) for k in range(20))

    assert largest("usual") < 20 < largest("heavy")


@pytest.mark.parametrize("name", sorted({**ALL, **MLPS}))
def test_mechanisms_ignore_absent_parents(name: str) -> None:
    mechanism = {**ALL, **MLPS}[name]
    parents = torch.randn(4, 50, 3, generator=torch.Generator().manual_seed(0))
    strength = torch.tensor([[1.0, 0.5, 0.0]]).expand(4, 3)
    changed = parents.clone()
    changed[..., 2] = 100.0
    first = mechanism(parents, strength, seeded("mechanism"))
    second = mechanism(changed, strength, seeded("mechanism"))
    assert first.shape == (4, 50)
    assert first.std() > 0
    torch.testing.assert_close(first, second)


def test_benchmark_datasets() -> None:
    data = six_models(10, 50, 3, seed=1)
    assert data.x.shape == (10, 50, 1)
    assert data.z.shape == (10, 50, 3)
    assert data.label.tolist() == [0, 1] * 5
    assert torch.equal(data.x, six_models(10, 50, 3, seed=1).x)
    assert not torch.equal(data.x, six_models(10, 50, 3, seed=2).x)
    assert six_models(6, 50, 3, label=1, seed=1).label.tolist() == [1] * 6


@pytest.mark.parametrize("stream", sorted(NULL_STREAMS))
@pytest.mark.parametrize("d_z", [0, 3])
def test_null_datasets(stream: str, d_z: int) -> None:
    data = null_datasets(stream, 20, 60, d_z, seed=1)
    assert data.x.shape == data.y.shape == (20, 60, 1)
    assert data.z.shape == (20, 60, d_z)
    assert data.label.sum() == 0


def test_unknown_names_are_refused() -> None:
    with pytest.raises(OptionError, match="switching"):
        null_datasets("switch", 2, 50, 1, seed=0)
    with pytest.raises(OptionError, match="mlp16"):
        Stream(replace(StreamConfig(), mechanisms="mlp_16"), 0)


def test_discrete_nodes_have_few_levels_and_labels_stay_right() -> None:
    config = StreamConfig(discrete=1.0, six_models=0.0, driven=1.0, mechanisms="linear")
    batch = Stream(config, 0).draw(seeded("discrete", 1), n=400, d_z=2)
    levels = [len(column.unique()) for column in batch.x[..., 0].flatten(0, 1)]
    assert max(levels) <= 8
    assert min(levels) == 2
    assert batch.x.isfinite().all()
    # Independent targets stay independent given the levels of their common causes: within each
    # pattern of Z's levels correlations average to nothing.
    i, j = torch.triu_indices(batch.x.shape[1], batch.x.shape[1], 1)
    correlations = []
    for b in range(len(batch.x)):
        _, pattern = batch.z[b].unique(dim=0, return_inverse=True)
        means = torch.stack([batch.x[b][:, pattern == k].mean(1)[:, 0] for k in pattern], dim=1)
        residual = batch.x[b, :, :, 0] - means
        for p, q in zip(i.tolist(), j.tolist(), strict=True):
            if not batch.dependent[b, p, q]:
                pair = residual[[p, q]]
                if (pair.std(dim=1) > 0.1).all():
                    correlations.append(float(torch.corrcoef(pair)[0, 1]))
    assert len(correlations) > 30
    assert abs(np.mean(correlations)) < 4 * np.std(correlations) / np.sqrt(len(correlations))
    assert np.std(correlations) < 0.08


def test_values_are_recorded_in_many_ways() -> None:
    values = torch.randn(400, 300, generator=torch.Generator().manual_seed(5))
    recorded = measure(values, 1.0, seeded("measure"))
    assert recorded.isfinite().all()
    levels = torch.tensor([len(row.unique()) for row in recorded])
    top = (recorded == recorded.amax(1, keepdim=True)).float().mean(1)
    assert 0.1 < (levels < 150).float().mean() < 0.4  # rounded
    assert 0.1 < ((top > 0.01) & (levels > 150)).float().mean() < 0.4  # censored
    # Whatever is done keeps the order.
    order = values.argsort(1)
    assert (recorded.gather(1, order).diff(dim=1) >= -1e-5).all()
    torch.testing.assert_close(measure(values, 0.0, seeded("measure")), values)


@pytest.mark.parametrize("name", sorted(MARGINS))
def test_margins_of_several_parts(name: str) -> None:
    draws = MARGINS[name](seeded("margin"), (20, 500))
    assert draws.mean() == pytest.approx(0, abs=1e-4)
    assert draws.square().mean() == pytest.approx(1, abs=1e-3)
    gap = draws.flatten().sort().values.diff().max()
    assert gap > 0.3


def test_long_tables_are_drawn_now_and_then() -> None:
    config = StreamConfig(entries=4000, n=(20, 30), long=0.5, n_long=60, d_z=(0, 1))
    n = [Stream(config, 0)[k].x.shape[2] for k in range(40)]
    assert max(n) <= 60
    assert 10 < sum(size > 30 for size in n) < 30


def test_targets_of_coarse_batches_have_few_values() -> None:
    config = StreamConfig(entries=3000, n=(50, 60), six_models=0.3, coarse=0.5)
    counts = []
    for number in range(16):
        batch, before = Stream(config, 3)[number], Stream(replace(config, coarse=0.0), 3)[number]
        assert torch.equal(batch.z, before.z)
        assert torch.equal(batch.dependent, before.dependent)
        targets = batch.x.mT.flatten(0, 2)
        values = torch.tensor([len(one.unique()) for one in targets])
        assert ((values <= 3) | (values == 50) | (values > 40)).all()
        counts.append((values <= 3).float().mean())
    none = torch.tensor(counts) == 0
    assert 0.3 < none.float().mean() < 0.7
    assert 0.6 < torch.tensor(counts)[~none].mean() < 0.8
