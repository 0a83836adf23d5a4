"""What Z predicts of a variable: mean and scale."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from acid_causal.inference.nulls.predictions import predict
from acid_causal.weights.shared import shared_model


@pytest.mark.parametrize("model", ["acid-ranks", "acid-base"])
def test_mean_and_scale_are_predicted(model: str) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(500, 2))
    noise = rng.normal(size=(2, 500))
    mean, scale = np.sin(2 * z[:, 0]), np.exp(z[:, 1])
    targets = np.stack([mean + 0.3 * noise[0], scale * noise[1]])
    network = shared_model(model).network
    with torch.inference_mode():
        given = network.encode_conditioning(
            network.transform(torch.tensor(z)[None]).to(network.reads)
        )
        x = network.transform(torch.tensor(targets.T)[None]).to(network.reads)
        found = predict(x.mT[..., None], given).numpy()
    assert found.shape == (2, 1, 2, 500)
    assert spearmanr(found[0, 0, 0], mean)[0] > 0.9
    assert spearmanr(found[1, 0, 1], scale)[0] > 0.8


def test_shapes_of_sets_targets_and_components() -> None:
    network = shared_model("acid-ranks").network
    with torch.inference_mode():
        x = torch.randn(2, 3, 60, 4)
        one = predict(x, network.encode_conditioning(torch.randn(2, 60, 3)))
        assert one.shape == (6, 4, 2, 60)
        assert predict(x, network.encode_conditioning(torch.randn(2, 60, 0))).shape == (6, 4, 0, 60)


def test_targets_are_predicted_alike_alone_and_together() -> None:
    network = shared_model("acid-base").network
    with torch.inference_mode():
        x, z = torch.randn(2, 3, 80, 1).double(), torch.randn(2, 80, 2).double()
        given = network.encode_conditioning(z)
        together = predict(x, given)
        alone = predict(x[1:, 2:], given[1:])
    torch.testing.assert_close(together[5:], alone, atol=1e-9, rtol=0)
