"""Fitting the null distributions: many H0 questions, easy and hard, and what the network says.

What their variables look like is kept beside the nulls, so that a user's can be compared.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from acid_causal import defaults
from acid_causal.calibration.facts import Facts
from acid_causal.calibration.null import NullDistribution
from acid_causal.calibration.reference import Reference, summarise
from acid_causal.calibration.scoring import transform_batch
from acid_causal.model import ACIDModel
from acid_causal.progress import progress_bar
from acid_causal.settings import training_settings
from acid_causal.synthetic import Batch, Stream, StreamConfig
from acid_causal.synthetic.draws import rand, seeded

# Most questions that are taken of one dataset, as they are much alike, and of one batch: small
# tables come in large batches and would outweigh the others.
_OF_A_DATASET, _OF_A_BATCH = 4, 16
# Sets up to this size are what causal discovery asks most; of training's they are a small part.
_SMALL = 3


@runtime_checkable
class Source(Protocol):
    """Where labelled batches come from: equal generators give equal batches."""

    seed: int
    device: torch.device | str

    def draw(self, generator: torch.Generator) -> Batch:
        """Draws a batch, columns as they are in the data."""


def fit_null(
    network: ACIDModel,
    stream: StreamConfig,
    *,
    seed: int,
    also: Sequence[tuple[Source, float]] = (),
    questions: int = defaults.NULL_QUESTIONS,
    device: torch.device | str = "cpu",
    progress: bool = True,
) -> NullDistribution:
    """Fits the nulls, and the reference that goes with them, to H0 questions.

    The pooled null gets those of the training stream alone, the others also those of `wider`,
    more of everything that moves the statistic, and those of `also`.

    Args:
        network: a trained network, on `device`.
        stream: the stream of its training.
        seed: the questions are drawn apart from those of training, whatever the seed.
        also: other sources, as a user's own data, and their shares: training's stream has .25,
            all of ours together 1.
        questions: how many H0 questions in all, about.
        device: where to draw and score them.
        progress: show a bar.
    """
    network.eval()
    streams = [(stream, 0.25), *wider(stream)]
    mixture: list[tuple[Source, float]] = [
        *((Stream(config, seed, device), share) for config, share in streams),
        *also,
    ]
    whole = sum(share for _, share in mixture)
    with (
        training_settings(network.device),
        progress_bar(total=questions, label="null", unit="question", show=progress) as bar,
    ):
        collected = [
            _collect(
                network, source, f"null {k}", math.ceil(questions * share / whole), bar
            )
            for k, (source, share) in enumerate(mixture)
        ]  # fmt: skip
        asked = _Questions.concatenate(collected)
        null = NullDistribution.fit(
            collected[0].statistic,
            asked.statistic,
            asked.facts,
            unbounded=network.config.keeps_values,
        )
        return replace(null, reference=asked.reference())


def wider(stream: StreamConfig) -> list[tuple[StreamConfig, float]]:
    """Returns the streams that the nulls but the pooled one are fitted to besides that of training.

    Their sizes go beyond those of training, on both sides; a model of the six models alone is asked
    about far other sizes than it is trained on, as the paper's is. One makes every target the child
    of strong common causes, with little noise of its own: independence that looks like dependence,
    and exactly what PC must let go of. Two are of small conditioning sets, one of them hard. One
    holds the six models, some with variables of several components; with a question a dataset it
    costs most.

    Returns:
        Streams, and their shares of the questions beside .25 of the training stream.
    """
    (n_low, n_high), (d_z_low, d_z_high) = stream.n, stream.d_z
    if stream.six_models == 1:
        n, d_z = (max(4, n_low // 10), 5 * n_high), (d_z_low, 5 * d_z_high)
        # A dataset is a question here: large batches of small tables would be nearly all of them.
        return [(replace(stream, n=n, d_z=d_z, max_batch=8), 0.75)]
    larger = replace(
        stream, n=(max(4, n_low // 4), 2 * n_high), d_z=(d_z_low, d_z_high + d_z_high // 2)
    )
    hard = replace(larger, six_models=0.0, driven=1.0, siblings=0.0, noise_ratio=(0.1, 0.7))
    six = replace(larger, six_models=1.0, driven=0.0, siblings=0.0, wide=0.3)
    few = (d_z_low, max(d_z_low, min(_SMALL, d_z_high)))
    small, small_hard = replace(larger, d_z=few), replace(hard, d_z=few)
    usual = [(larger, 0.1), (hard, 0.2), (small, 0.25), (small_hard, 0.15), (six, 0.05)]
    if not stream.siblings:
        return usual
    plain = replace(small, six_models=0.0, driven=0.0, siblings=1.0, wide=0.0, max_batch=16)
    wide = replace(larger, six_models=0.0, driven=0.0, siblings=1.0, wide=1.0, components=50)
    long = replace(small, long=1.0, n_long=20_000)
    return [*usual, (plain, 0.15), (wide, 0.05), (long, 0.08)]


@dataclass(frozen=True)
class _Questions:
    """H0 questions.

    Attributes:
        statistic: what the network says of each.
        facts: what is known of it.
        numbers: what `summarise` says of X, and beside it of Y.
    """

    statistic: NDArray[np.float64]
    facts: Facts
    numbers: NDArray[np.float64]

    @classmethod
    def concatenate(cls, parts: Sequence["_Questions"]) -> "_Questions":
        return cls(
            np.concatenate([part.statistic for part in parts]),
            Facts.concatenate([part.facts for part in parts]),
            np.concatenate([part.numbers for part in parts]),
        )

    def reference(self) -> Reference:
        """Sums up all of their targets."""
        of_x, of_y = np.split(self.numbers, 2, axis=1)
        explained = np.concatenate([self.facts.explained_x, self.facts.explained_y])
        n, d_z = np.tile(self.facts.n, 2), np.tile(self.facts.d_z, 2)
        return Reference.fit(np.concatenate([of_x, of_y]), n, d_z, explained)


def _collect(
    network: ACIDModel, source: Source, purpose: str, questions: int, bar: tqdm
) -> _Questions:
    parts: list[_Questions] = []
    collected = number = 0
    while collected < questions:
        # Draws of a purpose of their own: no training run ever meets them.
        generator = seeded(purpose, source.seed, number, device=source.device)
        number += 1
        batch = transform_batch(source.draw(generator), network.transform)
        parts.append(_independent_questions(network, batch, generator))
        collected += len(parts[-1].statistic)
        bar.update(len(parts[-1].statistic))
    return _Questions.concatenate(parts)


def _independent_questions(
    network: ACIDModel, batch: Batch, generator: torch.Generator
) -> _Questions:
    t = batch.x.shape[1]
    i, j = torch.triu_indices(t, t, 1, device=batch.x.device)
    chance = rand(generator, *batch.dependent[:, i, j].shape)
    chance = chance.masked_fill(batch.dependent[:, i, j], -1.0)
    best, pairs = chance.topk(min(_OF_A_DATASET, len(i)), dim=1)
    asked = (best >= 0).nonzero()
    order = torch.randperm(len(asked), generator=generator, device=generator.device)
    dataset, place = asked[order[:_OF_A_BATCH]].T
    pair = pairs[dataset, place]
    with torch.inference_mode():
        encoding = network.encode_targets(batch.x, network.encode_conditioning(batch.z))
        x, y = encoding[dataset * t + i[pair]], encoding[dataset * t + j[pair]]
        statistic = network.score(x, y)
    numbers = np.hstack([summarise(x), summarise(y)])
    return _Questions(statistic.double().cpu().numpy(), Facts.of_encodings(x, y), numbers)
