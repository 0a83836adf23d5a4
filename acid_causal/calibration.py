"""Fitting the null distributions: many H0 questions, easy and hard, and what the network says."""

import math
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from acid_causal.model import ACIDModel
from acid_causal.null import Facts, NullDistribution
from acid_causal.scoring import score_pairs, transform_batch
from acid_causal.synthetic import Batch, Stream, StreamConfig
from acid_causal.synthetic.draws import seeded

# Most questions that are taken of one batch: small tables come in large batches and would
# outweigh the others.
_OF_A_BATCH = 48


def fit_null(
    network: ACIDModel,
    stream: StreamConfig,
    *,
    seed: int,
    questions: int = 100_000,
    device: torch.device | str = "cpu",
    progress: bool = True,
) -> NullDistribution:
    """Fits both nulls to H0 questions.

    The pooled null gets those of the training stream alone, the conditional one also those of
    `wider`: more of everything that moves the statistic.

    Args:
        network: a trained network, on `device`.
        stream: the stream of its training.
        seed: the questions are drawn apart from those of training, whatever the seed.
        questions: how many H0 questions in all, about.
        device: where to draw and score them.
        progress: show a bar.
    """
    network.eval()
    mixture = [(stream, 0.4), *wider(stream)]
    whole = sum(share for _, share in mixture)
    with tqdm(total=questions, disable=not progress, unit="question", desc="null") as bar:
        collected = [
            _collect(
                network, Stream(config, seed, device), f"null {k}",
                math.ceil(questions * share / whole), bar,
            )
            for k, (config, share) in enumerate(mixture)
        ]  # fmt: skip
    statistic = np.concatenate([statistic for statistic, _ in collected])
    facts = Facts.concatenate([facts for _, facts in collected])
    return NullDistribution.fit(collected[0][0], statistic, facts)


def wider(stream: StreamConfig) -> list[tuple[StreamConfig, float]]:
    """Returns the streams that the conditional null is fitted to besides that of training.

    Their sizes go beyond those of training, on both sides. One makes every target the child of
    strong common causes, with little noise of its own: independence that looks like dependence,
    and exactly what PC must let go of. One holds the six models, some with variables of several
    components; with a question a dataset it costs most.

    Returns:
        Streams, and their shares of the questions relative to .4 of the training stream.
    """
    (n_low, n_high), (d_z_low, d_z_high) = stream.n, stream.d_z
    larger = replace(
        stream, n=(max(4, n_low // 4), 2 * n_high), d_z=(d_z_low, d_z_high + d_z_high // 2)
    )
    if stream.six_models == 1:
        return [(larger, 0.2)]
    hard = replace(larger, six_models=0.0, driven=1.0, noise_ratio=(0.1, 0.7))
    six = replace(larger, six_models=1.0, driven=0.0, wide=0.3)
    return [(larger, 0.2), (hard, 0.3), (six, 0.1)]


def _collect(
    network: ACIDModel, stream: Stream, purpose: str, questions: int, bar: tqdm
) -> tuple[NDArray[np.float64], Facts]:
    statistics: list[NDArray[np.float64]] = []
    facts: list[Facts] = []
    collected = number = 0
    while collected < questions:
        # Draws of a purpose of their own: no training run ever meets them.
        generator = seeded(purpose, stream.seed, number, device=stream.device)
        number += 1
        statistic, known = _independent_questions(network, stream.draw(generator), generator)
        statistics.append(statistic)
        facts.append(known)
        collected += len(statistic)
        bar.update(len(statistic))
    return np.concatenate(statistics), Facts.concatenate(facts)


def _independent_questions(
    network: ACIDModel, batch: Batch, generator: torch.Generator
) -> tuple[NDArray[np.float64], Facts]:
    with torch.inference_mode():
        scored = score_pairs(network, transform_batch(batch, network.transform))
    independent = (scored.label == 0).nonzero()[:, 0]
    order = torch.randperm(len(independent), generator=generator, device=generator.device)
    taken = independent[order[:_OF_A_BATCH]]

    def numbers(values: torch.Tensor) -> NDArray[np.float64]:
        return values[taken].double().cpu().numpy()

    _, _, n, d_x = batch.x.shape
    ones = np.ones(len(taken))
    return numbers(scored.logit), Facts(
        n=n * ones,
        d_z=batch.z.shape[2] * ones,
        explained_x=numbers(scored.explained_x),
        explained_y=numbers(scored.explained_y),
        pairs=d_x * d_x * ones,
    )
