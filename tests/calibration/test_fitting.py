"""The fitted null: on fresh questions of its streams the levels hold, and all look familiar."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from acid_causal.calibration import fitting
from acid_causal.calibration.facts import Facts
from acid_causal.calibration.fitting import fit_null, wider
from acid_causal.calibration.null import NullDistribution
from acid_causal.calibration.reference import summarise
from acid_causal.calibration.scoring import score_pairs, transform_batch
from acid_causal.model import ACIDModel, ModelConfig
from acid_causal.synthetic import Stream, StreamConfig

# Large batches: to draw one takes about as long whatever its size.
STREAM = StreamConfig(entries=12_000, n=(40, 60), d_z=(0, 3), six_models=0.2, driven=0.3)


@pytest.fixture(autouse=True, scope="module")
def more_questions_of_a_batch() -> Iterator[None]:
    """Takes more questions of each batch: the tables of this stream hardly differ in size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "_MAX_PER_BATCH", 128)
        yield


@pytest.fixture(scope="module")
def network() -> ACIDModel:
    torch.manual_seed(0)
    config = ModelConfig(e=16, layers=1, attention_heads=2, head_count=4, smoother_rank=16)
    return ACIDModel(config).eval()


@pytest.fixture(scope="module")
def null(network: ACIDModel) -> NullDistribution:
    return fit_null(network, STREAM, seed=0, questions=2500, progress=False)


def fresh_questions(
    network: ACIDModel, config: StreamConfig, count: int = 2000
) -> tuple[np.ndarray, Facts]:
    """Asks H0 questions of a stream that nothing was fitted to; returns statistics and facts."""
    statistics: list[np.ndarray] = []
    facts: list[Facts] = []
    stream = Stream(config, seed=1)
    while sum(map(len, statistics)) < count:
        batch = stream[len(statistics)]
        with torch.no_grad():
            scored = score_pairs(network, transform_batch(batch, network.transform))
        keep = (scored.label == 0).numpy()
        ones = np.ones(keep.sum())
        facts.append(
            Facts(
                n=batch.x.shape[2] * ones,
                d_z=batch.z.shape[2] * ones,
                explained_x=scored.explained_x.double().numpy()[keep],
                explained_y=scored.explained_y.double().numpy()[keep],
                pairs=batch.x.shape[3] ** 2 * ones,
                nonlinear_x=0 * ones,
                nonlinear_y=0 * ones,
                categories=0 * ones,
                few_values=0 * ones,
                ties_x=0 * ones,
                ties_y=0 * ones,
            )
        )
        statistics.append(scored.logit.double().numpy()[keep])
    return np.concatenate(statistics), Facts.concatenate(facts)


def test_levels_hold_on_fresh_questions(network: ACIDModel, null: NullDistribution) -> None:
    p = np.exp(null.fitted("conditional").logsf(*fresh_questions(network, STREAM)))
    # Questions of a batch share datasets, so the bound is three times the binomial one.
    for level in (0.01, 0.05, 0.2):
        assert abs((p < level).mean() - level) < 9 * np.sqrt(level * (1 - level) / len(p))


def test_levels_hold_on_other_sources_that_the_null_was_fitted_to(
    network: ACIDModel, null: NullDistribution
) -> None:
    unlike = replace(
        STREAM,
        six_models=0.0,
        driven=1.0,
        noise_ratio=(0.02, 0.05),
        d_z=(3, 3),
        heteroscedastic=1.0,
    )
    source = Stream(unlike, seed=3)
    fitted = fit_null(network, STREAM, seed=0, also=[(source, 1.0)], questions=2000, progress=False)
    asked = fresh_questions(network, unlike)
    p = [np.exp(each.fitted("conditional").logsf(*asked)) for each in (null, fitted)]
    far, near = (abs((of_one < 0.05).mean() - 0.05) for of_one in p)
    assert near < 0.02 < far


def test_targets_of_the_stream_are_familiar_and_others_are_not(
    network: ACIDModel, null: NullDistribution
) -> None:
    stream = Stream(STREAM, seed=2)
    distances: dict[str, list[np.ndarray]] = {"drawn": [], "rare": []}
    assert null.reference is not None
    for number in range(7):
        batch = transform_batch(stream[number], network.transform)
        # Two values, one of them in one row of twenty.
        often = batch.x < batch.x.quantile(0.95, dim=2, keepdim=True)
        rare = network.transform(often.float().flatten(0, 1)).view_as(batch.x)
        for kind, x in (("drawn", batch.x), ("rare", rare)):
            with torch.no_grad():
                encoding = network.encode_targets(x, network.encode_conditioning(batch.z))
            ones = np.ones(len(encoding.features))
            explained = encoding.explained.amax(1).double().numpy()
            n, d_z = x.shape[2] * ones, batch.z.shape[2] * ones
            distances[kind].append(null.reference.distance(summarise(encoding), n, d_z, explained))
    drawn, of_rare = map(np.concatenate, distances.values())
    assert len(drawn) > 1000
    assert (drawn > 1).mean() < 0.01
    assert (of_rare > 1).mean() > 0.2
    assert len(str(null.reference.to_dict())) < 4000


def test_the_null_is_fitted_beyond_the_sizes_of_training() -> None:
    mixture = wider(STREAM)
    assert all(config.n == (10, 120) for config, _ in mixture)
    assert {config.d_z for config, _ in mixture} == {(0, 4), (0, 3)}
    assert sum(share for _, share in mixture) == pytest.approx(0.75)
    hard = [config for config, _ in mixture if config.driven == 1]
    assert hard[0].noise_ratio[1] < 1
    assert any(config.wide > 0.2 for config, _ in mixture)
    values = wider(replace(STREAM, siblings=0.2))
    assert [config.d_z[1] for config, _ in values if config.mechanisms == "linear"] == [3]
    assert [config.n for config, _ in values if config.d_z == (0, 0)] == [(10, 120)]
    many_rows = [c for c, _ in wider(replace(STREAM, siblings=0.2, n=(40, 600))) if c.n[0] > 40]
    assert [(c.n, c.d_z, c.driven) for c in many_rows] == [
        ((100, 1200), (0, 4), 0.3),
        ((100, 1200), (0, 4), 1.0),
        ((100, 1200), (0, 3), 0.3),
    ]
    with_categories = wider(replace(STREAM, siblings=0.2, n=(40, 600), categories=0.2))
    mixed = [config for config, _ in with_categories if config.categories == 1]
    assert all(config.coarse for config in mixed)
    assert [(c.n, c.d_z) for c in mixed[:3]] == [
        ((10, 1200), (0, 3)),
        ((10, 1200), (0, 0)),
        ((100, 1200), (0, 3)),
    ]
    assert (mixed[3].long, mixed[3].n_long) == (1, 20_000)
    papers = StreamConfig(six_models=1.0, driven=0.0)
    ((config, share),) = wider(papers)
    assert (config.six_models, share) == (1.0, 0.75)
    assert (config.n, config.d_z, config.max_batch) == ((5, 2500), (0, 50), 8)
