"""Shared pieces: tiny trained models, so that no test depends on the shipped weights' values."""

import numpy as np
import pytest
import torch

from acid_causal.checkpoint import TrainedModel
from acid_causal.model import ACIDModel, ModelConfig
from acid_causal.null import Facts, NullDistribution
from acid_causal.recipe import Recipe
from acid_causal.synthetic import StreamConfig

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_model() -> TrainedModel:
    """A network with random weights and a null fitted to noise: fast, and every path is real."""
    recipe = Recipe(
        "tiny",
        model=ModelConfig(e=16, layers=1, attention_heads=2, head_count=4, smoother_rank=24),
        stream=StreamConfig(n=(20, 200), d_z=(0, 5)),
    )
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    m = 2000
    facts = Facts(
        n=rng.uniform(20, 200, m), d_z=rng.integers(0, 6, m).astype(float),
        explained_x=rng.uniform(0, 0.9, m), explained_y=rng.uniform(0, 0.9, m), pairs=np.ones(m),
    )  # fmt: skip
    null = NullDistribution.fit(rng.normal(scale=0.3, size=m), facts)
    return TrainedModel(ACIDModel(recipe.model).eval(), null, recipe, {"steps": 0})


@pytest.fixture(scope="session")
def table() -> np.ndarray:
    """120 x 6: x0 and x1 cause x2, x2 causes x3 nonlinearly, x4 and x5 stand alone."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(120, 6))
    x[:, 2] += x[:, 0] + 0.8 * x[:, 1]
    x[:, 3] = np.sin(x[:, 2]) + 0.5 * x[:, 3]
    return x
