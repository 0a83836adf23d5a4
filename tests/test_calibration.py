"""The fitted null: on fresh questions of its streams the levels hold."""

import numpy as np
import torch

from acid_causal.calibration import fit_null, wider
from acid_causal.model import ACIDModel, ModelConfig
from acid_causal.null import Facts
from acid_causal.scoring import score_pairs, transform_batch
from acid_causal.synthetic import Stream, StreamConfig

STREAM = StreamConfig(entries=6000, n=(40, 60), d_z=(0, 3), six_models=0.2, driven=0.3)


def test_levels_hold_on_fresh_questions():
    torch.manual_seed(0)
    network = ACIDModel(
        ModelConfig(e=16, layers=1, attention_heads=2, head_count=4, smoother_rank=16)
    ).eval()
    null = fit_null(network, STREAM, seed=0, questions=6000, progress=False)
    pvalues = []
    stream = Stream(STREAM, seed=1)
    number = 0
    while sum(map(len, pvalues)) < 3000:
        batch = stream[number]
        number += 1
        with torch.no_grad():
            scored = score_pairs(network, transform_batch(batch, network.transform))
        keep = (scored.label == 0).numpy()
        ones = np.ones(keep.sum())
        facts = Facts(
            n=batch.x.shape[2] * ones,
            d_z=batch.z.shape[2] * ones,
            explained_x=scored.explained_x.double().numpy()[keep],
            explained_y=scored.explained_y.double().numpy()[keep],
            pairs=batch.x.shape[3] ** 2 * ones,
        )
        statistic = scored.logit.double().numpy()[keep]
        pvalues.append(np.exp(null.logsf(statistic, facts, "conditional")))
    p = np.concatenate(pvalues)
    # Questions of a batch share datasets, so the bound is three times the binomial one.
    for level in (0.01, 0.05, 0.2):
        assert abs((p < level).mean() - level) < 9 * np.sqrt(level * (1 - level) / len(p))


def test_the_null_is_fitted_beyond_the_sizes_of_training():
    mixture = wider(STREAM)
    assert all(config.n == (10, 120) and config.d_z == (0, 4) for config, _ in mixture)
    hard = [config for config, _ in mixture if config.driven == 1]
    assert hard[0].noise_ratio[1] < 1
    assert any(config.wide > 0.2 for config, _ in mixture)
    papers = StreamConfig(six_models=1.0, driven=0.0)
    assert [config.six_models for config, _ in wider(papers)] == [1.0]
