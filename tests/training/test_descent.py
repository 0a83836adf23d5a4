"""The steps that training and fine-tuning share."""

import copy
import math
from dataclasses import replace

import pytest
import torch

from acid_causal.model import ACIDModel
from acid_causal.synthetic import Batch, Stream
from acid_causal.training.descent import PairLoss, descend, learning_rate, make_optimiser
from acid_causal.weights.checkpoint import TrainedModel
from acid_causal.weights.recipe import TrainingConfig

CONFIG = TrainingConfig(steps=4, warmup=2, learning_rate=1e-3)


@pytest.fixture
def network(tiny_model: TrainedModel) -> ACIDModel:
    return copy.deepcopy(tiny_model.network)


@pytest.fixture
def stream(tiny_model: TrainedModel) -> Stream:
    return Stream(replace(tiny_model.recipe.stream, entries=1000), 0, "cpu")


def test_schedule_warms_up_and_falls() -> None:
    config = TrainingConfig(steps=1000, warmup=100, learning_rate=1e-3)
    rates = [learning_rate(config, step) for step in range(1000)]
    assert rates[0] == pytest.approx(1e-5)
    assert max(rates) == pytest.approx(1e-3)
    assert rates.index(max(rates)) in (99, 100)
    assert rates[-1] == pytest.approx(1e-5, rel=0.05)


def test_each_step_is_told_of(network: ACIDModel, stream: Stream) -> None:
    before = copy.deepcopy(network.state_dict())
    optimiser = make_optimiser(network, CONFIG)
    rates = []
    for number, step in enumerate(descend(network, optimiser, stream.__getitem__, CONFIG, seed=0)):
        assert step.number == number + 1
        assert step.batch.source == stream[number].source
        assert step.batch.z.shape == stream[number].z.shape
        assert 0 < step.loss < 5
        assert 0 < step.norm < math.inf
        assert step.seconds > 0
        rates.append(optimiser.param_groups[0]["lr"])
    assert rates == [learning_rate(CONFIG, step) for step in range(4)]
    assert network.training
    assert any(not torch.equal(before[name], now) for name, now in network.state_dict().items())


def test_a_run_goes_on_from_any_step(network: ACIDModel, stream: Stream) -> None:
    other = copy.deepcopy(network)
    optimiser = make_optimiser(network, CONFIG)
    whole = [step.loss for step in descend(network, optimiser, stream.__getitem__, CONFIG, seed=1)]
    optimiser = make_optimiser(other, CONFIG)
    steps = descend(other, optimiser, stream.__getitem__, CONFIG, seed=1)
    parts = [next(steps).loss, next(steps).loss]
    again = descend(other, optimiser, stream.__getitem__, CONFIG, seed=1, start=2)
    assert parts + [step.loss for step in again] == whole
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name]), name


def test_a_gradient_that_is_not_finite_is_passed_over(network: ACIDModel, stream: Stream) -> None:
    class Broken(PairLoss):
        def forward(self, batch: Batch) -> torch.Tensor:
            return super().forward(batch) * math.nan

    before = copy.deepcopy(network.state_dict())
    optimiser = make_optimiser(network, CONFIG)
    (*_, last) = descend(
        network, optimiser, stream.__getitem__, CONFIG, seed=0, loss_of=Broken(network)
    )
    assert math.isnan(last.norm)
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name]), name
