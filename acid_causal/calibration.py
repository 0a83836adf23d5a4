"""Fitting the null distributions: many H0 questions, easy and hard, and what the network says."""

from dataclasses import replace

import numpy as np
import torch
from tqdm import tqdm

from acid_causal.model import ACIDModel
from acid_causal.null import Facts, NullDistribution
from acid_causal.scoring import score_pairs, transform_batch
from acid_causal.synthetic import Stream, StreamConfig


def fit_null(
    network: ACIDModel,
    stream: StreamConfig,
    *,
    seed: int,
    questions: int = 100_000,
    device: torch.device | str = "cpu",
    progress: bool = True,
) -> NullDistribution:
    """Fits both nulls to H0 questions of a stream, hard ones among them.

    Args:
        network: a trained network, on `device`.
        stream: the stream of its training; half of the questions come from it, half from its hard
            version, unless it holds the six models alone.
        seed: the questions are drawn apart from those of training, whatever the seed.
        questions: how many H0 questions, about.
        device: where to draw and score them.
        progress: show a bar.
    """
    streams = [Stream(stream, seed, device)]
    if stream.six_models < 1:
        streams.append(Stream(hard(stream), seed, device))
    network.eval()
    statistics: list[np.ndarray] = []
    facts: list[Facts] = []
    collected = number = 0
    with tqdm(total=questions, disable=not progress, unit="question", desc="null") as bar:
        while collected < questions:
            # Numbers from 2^40 on: no training run ever gets there.
            batch = streams[number % len(streams)][2**40 + number]
            number += 1
            with torch.inference_mode():
                scored = score_pairs(network, transform_batch(batch, network.transform))
            independent = (scored.label == 0).cpu().numpy()
            count = int(independent.sum())
            _, _, n, d_x = batch.x.shape
            statistics.append(scored.logit.double().cpu().numpy()[independent])
            facts.append(
                Facts(
                    n=np.full(count, float(n)),
                    d_z=np.full(count, float(batch.z.shape[2])),
                    explained_x=scored.explained_x.double().cpu().numpy()[independent],
                    explained_y=scored.explained_y.double().cpu().numpy()[independent],
                    pairs=np.full(count, float(d_x * d_x)),
                )
            )
            collected += count
            bar.update(count)
    return NullDistribution.fit(np.concatenate(statistics), Facts.concatenate(facts))


def hard(stream: StreamConfig) -> StreamConfig:
    """Makes every target the child of strong common causes, with little noise of its own.

    Independence that looks like dependence: PC must let go of exactly these pairs.
    """
    return replace(stream, six_models=0.0, driven=1.0, noise_ratio=(0.1, 0.7))
