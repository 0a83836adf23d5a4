"""The optimisation that training and fine-tuning share: Adam, on the loss of all pairs of targets.

What a step draws and drops out depends on the seed and the step's number alone, so that a run goes
on from any step as if it had never stopped.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from acid_causal.calibration.scoring import score_pairs, transform_batch
from acid_causal.model import ACIDModel
from acid_causal.synthetic import Batch
from acid_causal.weights.recipe import TrainingConfig

# Number of steps after which the duration of a run is estimated.
TIMED_STEPS = 5
# Classes are balanced in the loss, but a class rarer than this share is treated as if it had it.
_RAREST = 0.1


@dataclass(frozen=True)
class Step:
    """The record of one step.

    Attributes:
        number: of steps done, this one among them.
        loss: of its batch, in nats.
        norm: of the gradient, before it was clipped.
        seconds: that it took.
        batch: what it learned from, as the network reads it.
    """

    number: int
    loss: float
    norm: float
    seconds: float
    batch: Batch


class PairLoss(nn.Module):
    """Binary cross-entropy over all pairs of targets of a batch, balanced between the classes."""

    def __init__(self, model: ACIDModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """Computes the loss, in nats; ln 2 at chance level."""
        scored = score_pairs(self.model, batch)
        label = scored.label
        positive = label.mean()
        weight = torch.where(
            label > 0, 0.5 / positive.clamp(min=_RAREST), 0.5 / (1 - positive).clamp(min=_RAREST)
        )
        return binary_cross_entropy_with_logits(scored.logit, label, weight=weight)


def learning_rate(config: TrainingConfig, step: int) -> float:
    """Linear warm-up, then a cosine to a hundredth of the peak."""
    if step < config.warmup:
        return config.learning_rate * (step + 1) / config.warmup
    done = (step - config.warmup) / max(1, config.steps - config.warmup)
    return config.learning_rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(done, 1))))


def make_optimiser(model: ACIDModel, config: TrainingConfig) -> torch.optim.Adam:
    """Makes the optimiser of a run."""
    return torch.optim.Adam(model.parameters(), lr=config.learning_rate, betas=(0.9, 0.99))


def descend(
    model: ACIDModel,
    optimiser: torch.optim.Adam,
    draw: Callable[[int], Batch],
    config: TrainingConfig,
    *,
    seed: int,
    start: int = 0,
    loss_of: nn.Module | None = None,
) -> Iterator[Step]:
    """Trains a model in place, step by step; leaves it in training mode.

    Args:
        model: on the device of the batches.
        optimiser: of its parameters.
        draw: makes the batch of a step; columns as they are in the data.
        config: the optimisation.
        seed: of what is dropped out.
        start: steps done before.
        loss_of: the model's `PairLoss`, compiled or wrapped; default: a plain one.

    Yields:
        Each step, once it is done.
    """
    loss_of = PairLoss(model) if loss_of is None else loss_of
    model.train()
    for step in range(start, config.steps):
        began = time.perf_counter()
        torch.manual_seed(seed * 1_000_003 + step)
        batch = transform_batch(draw(step), model.transform)
        with _precision(config, model.device):
            loss = loss_of(batch)
        norm = _descend_once(model, optimiser, loss, config, step)
        value = loss.item()
        yield Step(step + 1, value, norm.item(), time.perf_counter() - began, batch)


def _descend_once(
    model: ACIDModel,
    optimiser: torch.optim.Adam,
    loss: Float[Tensor, ""],
    config: TrainingConfig,
    step: int,
) -> Float[Tensor, ""]:
    """Takes an optimiser step, unless the gradient is not finite; returns the gradient norm."""
    for group in optimiser.param_groups:
        group["lr"] = learning_rate(config, step)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), config.clip)
    if torch.isfinite(norm):
        optimiser.step()
    return norm


def _precision(config: TrainingConfig, device: torch.device) -> Any:
    if config.precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)
