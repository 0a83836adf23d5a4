"""Sets of labelled datasets, one question each, for benchmarks: seeds that training never uses."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from acid_causal.errors import unknown
from acid_causal.synthetic.draws import seeded
from acid_causal.synthetic.mechanisms import families
from acid_causal.synthetic.noise import NOISES
from acid_causal.synthetic.sem import Domain
from acid_causal.synthetic.six_models import draw_six_models
from acid_causal.synthetic.stream import Stream, StreamConfig

# The noise of the benchmark's links relative to their signal: hard enough that a kernel test
# misses most dependences at n = 100 and d_z = 10 (evaluation.md).
_BENCHMARK_NOISE = (1.2, 1.2)


@dataclass(frozen=True)
class LabelledDatasets:
    """Datasets of one size with one question each.

    Attributes:
        x: the tested variable X.
        y: the tested variable Y.
        z: the conditioning set.
        label: 1 where X and Y are dependent given Z.
    """

    x: Float[Tensor, "count n 1"]
    y: Float[Tensor, "count n 1"]
    z: Float[Tensor, "count n d_z"]
    label: Int[Tensor, " count"]


def six_models(
    count: int,
    n: int,
    d_z: int,
    *,
    mechanism: str = "mlp16",
    label: int | None = None,
    seed: int,
) -> LabelledDatasets:
    """Draws datasets from the six data models of the paper's experiments.

    Args:
        count: number of datasets.
        n: samples of each.
        d_z: size of the conditioning set.
        mechanism: family of the links, "mlp08" to "mlp64" in the paper.
        label: 0 or 1 for one class only; None alternates.
        seed: benchmarks and training never share a draw, whatever their seeds.
    """
    generator = seeded("benchmark", "six models", mechanism, n, d_z, seed)
    labels = torch.arange(count) % 2 if label is None else torch.full((count,), label)
    plain = {name: NOISES[name] for name in ("gaussian", "uniform", "laplace")}
    domain = Domain(families(mechanism), plain, _BENCHMARK_NOISE, (1.0, 1.0), heteroscedastic=0.0)
    x, y, z = draw_six_models(labels.bool(), n, 1, d_z, domain, generator)
    return LabelledDatasets(x, y, z, labels)


NULL_STREAMS = {
    "training": StreamConfig(),
    "hard": StreamConfig(six_models=0.0, driven=1.0, noise_ratio=(0.1, 0.6)),
    "steps": StreamConfig(mechanisms="steps"),
    "gp": StreamConfig(mechanisms="gp"),
    "switching": StreamConfig(mechanisms="switching"),
}


def null_datasets(stream: str, count: int, n: int, d_z: int, seed: int) -> LabelledDatasets:
    """Draws datasets in which X and Y are independent given Z.

    Args:
        stream: "training" (the stream of `acid-base`), "hard" (strong common causes, little noise),
            or a family of mechanisms that training never sees: "steps", "gp", "switching".
        count: number of datasets, one question each.
        n: samples of each.
        d_z: size of the conditioning set.
        seed: benchmarks and training never share a draw, whatever their seeds.

    Raises:
        OptionError: no such stream.
    """
    if stream not in NULL_STREAMS:
        raise unknown("stream", stream, NULL_STREAMS)
    config = replace(NULL_STREAMS[stream], wide=0.0, max_batch=32)
    source = Stream(config, seed)
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    generator = seeded("benchmark", "null", stream, n, d_z, seed)
    while len(parts) < count:
        batch = source.draw(generator, n=n, d_z=d_z)
        t = batch.x.shape[1]
        i, j = torch.triu_indices(t, t, 1)
        independent = ~batch.dependent[:, i, j]
        for b in independent.any(dim=1).nonzero()[:, 0].tolist():
            # One question a dataset, so that answers are independent of one another.
            choices = independent[b].nonzero()[:, 0]
            at = torch.randint(0, len(choices), (), generator=generator)
            pick = int(choices[at])
            parts.append((batch.x[b, i[pick]], batch.x[b, j[pick]], batch.z[b]))
    x, y, z = (torch.stack(part) for part in zip(*parts[:count], strict=True))
    return LabelledDatasets(x, y, z, torch.zeros(count, dtype=torch.long))
