"""Fits the null distributions to the network's statistics on many H0 questions.

H0 questions are independent by construction. A summary of their variables is stored with the
nulls (`Reference`), so that a user's data can be compared with it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from acid_causal.calibration.facts import Facts, TargetFacts
from acid_causal.calibration.null import NullDistribution
from acid_causal.calibration.reference import Reference, summarise
from acid_causal.calibration.scoring import encode, pair_grid, transform_batch
from acid_causal.compute.settings import training_settings
from acid_causal.model import ACIDModel
from acid_causal.options import defaults
from acid_causal.progress import Estimate, progress_bar
from acid_causal.synthetic import Batch, Stream, StreamConfig
from acid_causal.synthetic.draws import rand, seeded

# At most this many questions per dataset (they are correlated) and per batch (small tables come in
# large batches and would outweigh the others).
_MAX_PER_DATASET, _MAX_PER_BATCH = 4, 16
# Number of questions after which the duration is estimated.
_TIMED = 100
# PC asks mostly about conditioning sets up to this size, but training draws few of them.
_SMALL_D_Z = 3


@runtime_checkable
class Source(Protocol):
    """A source of labelled batches; generators in the same state give the same batch."""

    seed: int
    device: torch.device | str

    def draw(self, generator: torch.Generator) -> Batch:
        """Draws a batch of raw columns."""


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
    """Fits the null distributions and the reference to H0 questions.

    The pooled null is fitted to the training stream alone. The other nulls are fitted to the
    training stream, to the streams of `wider`, and to the sources in `also`.

    Args:
        network: a trained network, on `device`.
        stream: the stream it was trained on.
        seed: seed of the questions; they never coincide with those of training.
        also: further sources, such as a user's own table, each with its weight. The training
            stream and those of `wider` have weight 1 together.
        questions: approximate number of H0 questions.
        device: where questions are drawn and scored.
        progress: show a progress bar.
    """
    network.eval()
    streams = [(stream, 0.25), *wider(stream)]
    own = sum(weight for _, weight in streams)
    mixture: list[tuple[Source, float]] = [
        *((Stream(config, seed, device), weight / own) for config, weight in streams),
        *also,
    ]
    total = sum(weight for _, weight in mixture)
    estimate = Estimate("questions of the null", questions, after=_TIMED, show=progress)
    with (
        training_settings(network.device),
        progress_bar(total=questions, label="null", unit="question", show=progress) as bar,
    ):
        collected = [
            _collect(
                network, source, f"null {k}", math.ceil(questions * weight / total), bar, estimate
            )
            for k, (source, weight) in enumerate(mixture)
        ]
        all_questions = _Questions.concatenate(collected)
        null = NullDistribution.fit(
            collected[0].statistic,
            all_questions.statistic,
            all_questions.facts,
            unbounded=network.config.keeps_values,
        )
        return replace(null, reference=all_questions.reference())


def wider(stream: StreamConfig) -> list[tuple[StreamConfig, float]]:
    """Returns extra streams for fitting the conditional and sized nulls.

    Their ranges of n and d_z extend beyond those of training, in both directions. A model trained
    on the six data models alone gets one much wider stream, since the paper tests such a model far
    outside its training sizes. For other models:

    - `larger` extends the sizes only.
    - `hard` makes every target the child of strong common causes with little noise of its own. Its
      independent pairs look dependent, and PC must separate them.
    - `small` and `small_hard` have small conditioning sets.
    - `six` holds the six data models, some with variables of several components. It has one
      question per dataset and therefore costs most.
    - `plain`, `wide`, `long` and `linear`, for models trained on siblings: siblings given few
      variables, siblings of several components, long tables, and linear relations given few
      variables.
    - `many_rows`, `many_rows_hard`, `many_rows_small`, for such models too: the upper part of the
      range of n, where what regressions leave shows most, and which batches of n alone make rare.
    - `empty`, likewise: no Z, so that its many questions cost little.
    - `mixed`, `mixed_empty`, `mixed_rows` and `mixed_long`, for models trained on categories:
      tables with categories, and with numbers of few values, given few variables or none.

    Returns:
        Streams, each with its weight; the training stream has weight .25.
    """
    (n_low, n_high), (d_z_low, d_z_high) = stream.n, stream.d_z
    if stream.six_models == 1:
        n, d_z = (max(4, n_low // 10), 5 * n_high), (d_z_low, 5 * d_z_high)
        # One question per dataset: without the limit, large batches of small tables dominate.
        return [(replace(stream, n=n, d_z=d_z, max_batch=8), 0.75)]
    larger = replace(
        stream, n=(max(4, n_low // 4), 2 * n_high), d_z=(d_z_low, d_z_high + d_z_high // 2)
    )
    hard = replace(larger, six_models=0.0, driven=1.0, siblings=0.0, noise_ratio=(0.1, 0.7))
    six = replace(larger, six_models=1.0, driven=0.0, siblings=0.0, wide=0.3)
    few = (d_z_low, max(d_z_low, min(_SMALL_D_Z, d_z_high)))
    small, small_hard = replace(larger, d_z=few), replace(hard, d_z=few)
    usual = [(larger, 0.1), (hard, 0.2), (small, 0.25), (small_hard, 0.15), (six, 0.05)]
    if not stream.siblings:
        return usual
    plain = replace(small, six_models=0.0, driven=0.0, siblings=1.0, wide=0.0, max_batch=16)
    wide = replace(larger, six_models=0.0, driven=0.0, siblings=1.0, wide=1.0, components=50)
    long = replace(small, long=1.0, n_long=20_000)
    linear = replace(small, six_models=0.0, mechanisms="linear")
    upper = (max(4, n_high // 6), 2 * n_high)
    many_rows, many_rows_hard, many_rows_small = (
        replace(stream, n=upper) for stream in (larger, hard, small)
    )
    empty = replace(larger, d_z=(d_z_low, d_z_low))
    for_siblings = [
        *((plain, 0.15), (wide, 0.05), (long, 0.08), (linear, 0.12)),
        *((many_rows, 0.2), (many_rows_hard, 0.1), (many_rows_small, 0.3), (empty, 0.3)),
    ]
    if not stream.categories:
        return [*usual, *for_siblings]
    mixed = replace(small, six_models=0.0, categories=1.0, coarse=0.4)
    mixed_empty, mixed_rows = replace(mixed, d_z=empty.d_z), replace(mixed, n=upper)
    mixed_long = replace(mixed, long=1.0, n_long=20_000)
    for_categories = [(mixed, 0.3), (mixed_empty, 0.2), (mixed_rows, 0.2), (mixed_long, 0.02)]
    return [*usual, *for_siblings, *for_categories]


@dataclass(frozen=True)
class _Questions:
    """H0 questions.

    Attributes:
        statistic: logit of each question.
        facts: covariates of each question.
        summaries: `summarise` of X and of Y, side by side.
    """

    statistic: NDArray[np.float64]
    facts: Facts
    summaries: NDArray[np.float64]

    @classmethod
    def concatenate(cls, parts: Sequence["_Questions"]) -> "_Questions":
        return cls(
            np.concatenate([part.statistic for part in parts]),
            Facts.concatenate([part.facts for part in parts]),
            np.concatenate([part.summaries for part in parts]),
        )

    def reference(self) -> Reference:
        """Fits the reference to all targets, X and Y alike."""
        of_x, of_y = np.split(self.summaries, 2, axis=1)
        explained = np.concatenate([self.facts.explained_x, self.facts.explained_y])
        n, d_z = np.tile(self.facts.n, 2), np.tile(self.facts.d_z, 2)
        return Reference.fit(np.concatenate([of_x, of_y]), n, d_z, explained)


def _collect(
    network: ACIDModel,
    source: Source,
    purpose: str,
    questions: int,
    bar: tqdm,
    estimate: Estimate,
) -> _Questions:
    """Draws at least that many H0 questions from a source and scores them."""
    parts: list[_Questions] = []
    collected = index = 0
    while collected < questions:
        # `purpose` is part of the seed, so these draws differ from those of training.
        generator = seeded(purpose, source.seed, index, device=source.device)
        index += 1
        batch = transform_batch(source.draw(generator), network.transform)
        parts.append(_independent_questions(network, batch, generator))
        collected += len(parts[-1].statistic)
        bar.update(len(parts[-1].statistic))
        estimate.advance(len(parts[-1].statistic))
    return _Questions.concatenate(parts)


def _independent_questions(
    network: ACIDModel, batch: Batch, generator: torch.Generator
) -> _Questions:
    """Samples independent pairs of a batch at random and scores them."""
    t = batch.dependent.shape[1]
    i, j = torch.triu_indices(t, t, 1, device=batch.x.device)
    priority = rand(generator, *batch.dependent[:, i, j].shape)
    priority = priority.masked_fill(batch.dependent[:, i, j], -1.0)
    best, pairs = priority.topk(min(_MAX_PER_DATASET, len(i)), dim=1)
    independent = (best >= 0).nonzero()
    order = torch.randperm(len(independent), generator=generator, device=generator.device)
    dataset, place = independent[order[:_MAX_PER_BATCH]].T
    pair = pairs[dataset, place]
    with torch.inference_mode():
        encoded = encode(network, batch)
        statistic = pair_grid(network, encoded)[dataset, i[pair], j[pair]]
    facts = TargetFacts.concatenate([TargetFacts.of(targets) for targets, _ in encoded])
    summaries = np.concatenate([summarise(targets) for targets, _ in encoded])
    # Where in these each target of each dataset is: first come all numeric ones.
    counts = [count for _, count in encoded]
    places = torch.cat(
        [
            len(batch.z) * sum(counts[:k])
            + torch.arange(len(batch.z) * count).view(len(batch.z), count)
            for k, count in enumerate(counts)
        ],
        dim=1,
    )
    x, y = (places[dataset.cpu(), of_pair[pair].cpu()].numpy() for of_pair in (i, j))
    return _Questions(
        statistic.double().cpu().numpy(),
        Facts.of_targets(batch.z.shape[1], batch.d_z, facts[x], facts[y]),
        np.hstack([summaries[x], summaries[y]]),
    )
