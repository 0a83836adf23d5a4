"""Labelled datasets with one question each, for benchmarks; training never draws the same ones."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from acid_causal.errors import unknown
from acid_causal.synthetic.categories import most_levels
from acid_causal.synthetic.draws import integer, rand, seeded
from acid_causal.synthetic.mechanisms import families
from acid_causal.synthetic.noise import NOISES
from acid_causal.synthetic.sem import Domain, simulate, simulate_mixed
from acid_causal.synthetic.six_models import draw_six_models
from acid_causal.synthetic.stream import Stream, StreamConfig
from acid_causal.synthetic.structures import Structure, driven, random_dags

# Sd of the noise relative to the signal. So noisy that a kernel test misses most dependences at
# n = 100 and d_z = 10.
_BENCHMARK_NOISE = (1.2, 1.2)
# Datasets per round and kind of graph; where there are two labels, each gets half of them.
_DATASETS_PER_ROUND = 16


@dataclass(frozen=True)
class LabelledDatasets:
    """Datasets of one size with one question each.

    Attributes:
        x: the tested variable X.
        y: the tested variable Y.
        z: the conditioning set.
        label: 1 where X and Y are dependent given Z.
        categorical: which of X, Y and the members of Z are categories, as codes 0, 1 and so on;
            None: none is.
    """

    x: Float[Tensor, "count n 1"]
    y: Float[Tensor, "count n 1"]
    z: Float[Tensor, "count n d_z"]
    label: Int[Tensor, " count"]
    categorical: Bool[Tensor, "count columns"] | None = None


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
        seed: seed of the draws; they differ from those of training for every seed.
    """
    generator = seeded("benchmark", "six models", mechanism, n, d_z, seed)
    labels = torch.arange(count) % 2 if label is None else torch.full((count,), label)
    noises = {name: NOISES[name] for name in ("gaussian", "uniform", "laplace")}
    domain = Domain(families(mechanism), noises, _BENCHMARK_NOISE, (1.0, 1.0), heteroscedastic=0.0)
    x, y, z = draw_six_models(labels.bool(), n, 1, d_z, domain, generator)
    return LabelledDatasets(x, y, z, labels)


_STREAMS = {
    "training": StreamConfig(),
    "hard": StreamConfig(six_models=0.0, driven=1.0, noise_ratio=(0.1, 0.6)),
    "steps": StreamConfig(mechanisms="steps"),
    "gp": StreamConfig(mechanisms="gp"),
    "switching": StreamConfig(mechanisms="switching"),
    "mixed": StreamConfig(discrete=0.4),
    "few-values": StreamConfig(discrete=0.4, coarse=1.0),
    "heavy-tails": StreamConfig(noises="heavy"),
}
# Streams with categories, and the least share of them among the variables of a dataset.
_LEAST_SHARE = {"some-categories": 0.0, "all-categories": 1.0}
NULL_STREAMS = (*_STREAMS, "six-models", *_LEAST_SHARE)
# Kinds of X and Y, and of the members of Z.
KINDS_OF_PAIRS = ("numeric-numeric", "numeric-category", "category-category")
KINDS_OF_Z = ("numeric", "categorical", "mixed")


def null_datasets(stream: str, count: int, n: int, d_z: int, seed: int) -> LabelledDatasets:
    """Draws datasets in which X and Y are independent given Z.

    Args:
        stream: "training" (the stream of `acid-ranks`, continuous), "hard" (strong common causes,
            little noise), a family of mechanisms of which `acid-ranks` saw none ("steps", "gp",
            "switching"), "mixed" (as training, with two in five columns of 2 to 8 ordered levels),
            "few-values" (as "mixed", with X and Y of two or three values in most datasets),
            "heavy-tails" (as training, with all noise log-normal or Student's t with two degrees of
            freedom), "six-models" (the chains and the fork of `six_models`), "some-categories"
            (graphs as in training, with a share of unordered categories that varies from none to
            all), or "all-categories".
        count: number of datasets, one question each.
        n: samples of each.
        d_z: size of the conditioning set.
        seed: seed of the draws; they differ from those of training for every seed.

    Raises:
        OptionError: no such stream.
    """
    if stream not in NULL_STREAMS:
        raise unknown("stream", stream, NULL_STREAMS)
    if stream == "six-models":
        return six_models(count, n, d_z, label=0, seed=seed)
    generator = seeded("benchmark", "null", stream, n, d_z, seed)
    if stream in _LEAST_SHARE:
        kinds = partial(_any_kinds, least_share=_LEAST_SHARE[stream], generator=generator)
        return _null_categories(kinds, count, n, d_z, generator)
    config = replace(_STREAMS[stream], wide=0.0, max_batch=32)
    source = Stream(config, seed)
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    while len(parts) < count:
        batch = source.draw(generator, n=n, d_z=d_z)
        for b, i, j in _independent_pairs(batch.dependent, generator):
            parts.append((batch.x[b, i], batch.x[b, j], batch.z[b]))
    x, y, z = (torch.stack(part) for part in zip(*parts[:count], strict=True))
    return LabelledDatasets(x, y, z, torch.zeros(count, dtype=torch.long))


def _independent_pairs(
    dependent: Bool[Tensor, "batch target target"], generator: Generator
) -> Iterator[tuple[int, int, int]]:
    """Draws a pair of independent targets from each dataset that has one.

    One question per dataset, so that the p-values are independent of one another.
    """
    i, j = torch.triu_indices(dependent.shape[1], dependent.shape[1], 1)
    independent = ~dependent[:, i, j]
    for b in independent.any(dim=1).nonzero()[:, 0].tolist():
        choices = independent[b].nonzero()[:, 0]
        pick = int(choices[torch.randint(0, len(choices), (), generator=generator)])
        yield b, int(i[pick]), int(j[pick])


def null_datasets_of_kinds(
    pair: str, given: str, count: int, n: int, d_z: int, seed: int
) -> LabelledDatasets:
    """Draws datasets in which X and Y are independent given Z, with variables of given kinds.

    Graphs and mechanisms are those of "some-categories"; see `null_datasets`.

    Args:
        pair: kinds of X and Y, one of `KINDS_OF_PAIRS`; either of them may be the number.
        given: kinds of the members of Z, one of `KINDS_OF_Z`. In "mixed" they alternate, a number
            first.
        count: number of datasets, one question each.
        n: samples of each.
        d_z: size of the conditioning set.
        seed: seed of the draws; they differ from those of training for every seed.

    Raises:
        OptionError: no such kinds.
    """
    for name, value, known in (("pair", pair, KINDS_OF_PAIRS), ("kind of Z", given, KINDS_OF_Z)):
        if value not in known:
            raise unknown(name, value, known)
    generator = seeded("benchmark", "kinds", pair, given, n, d_z, seed)
    # Of each member of Z, and of targets in turn.
    of_z = {"numeric": (False,), "categorical": (True,), "mixed": (False, True)}[given]
    of_targets = [kind == "category" for kind in pair.split("-")]

    def kinds(structure: Structure) -> Bool[Tensor, "batch node"]:
        chosen = torch.zeros_like(structure.parents[:, 0], dtype=torch.bool)
        for nodes, pattern in ((structure.cond, of_z), (structure.targets, of_targets)):
            of_role = torch.tensor(pattern)[torch.arange(nodes.shape[1]) % len(pattern)]
            chosen = chosen.scatter(1, nodes, of_role.expand(len(nodes), -1))
        return chosen

    unlike = pair == "numeric-category"
    return _null_categories(kinds, count, n, d_z, generator, unlike=unlike)


def _null_categories(
    draw_kinds: Callable[[Structure], Bool[Tensor, "batch node"]],
    count: int,
    n: int,
    d_z: int,
    generator: Generator,
    *,
    unlike: bool = False,
) -> LabelledDatasets:
    """Draws independent datasets with categories of 2 to 12 levels.

    Args:
        draw_kinds: maps graphs to the nodes that are categories.
        count: number of datasets.
        n: samples of each.
        d_z: size of the conditioning set.
        generator: random generator.
        unlike: whether one of X and Y must be a number and the other a category.
    """
    parts: list[tuple[Tensor, Tensor]] = []
    while len(parts) < count:
        for sampler in (random_dags, driven):
            targets, latents = integer(generator, 4, 8), integer(generator, 0, 4)
            structure = sampler(_DATASETS_PER_ROUND, d_z, targets, latents, generator)
            is_category = draw_kinds(structure)
            widths = _levels_of_nodes(is_category, n, generator)
            numbers, levels = simulate_mixed(structure, n, Domain(), generator, widths=widths)
            values = torch.where(widths[:, None] > 1, levels.to(numbers.dtype), numbers)
            excluded = structure.dependent(generator)
            if unlike:
                of_targets = is_category.gather(1, structure.targets)
                excluded = excluded | (of_targets[:, :, None] == of_targets[:, None, :])
            for b, i, j in _independent_pairs(excluded, generator):
                nodes = torch.cat([structure.targets[b, [i, j]], structure.cond[b]])
                parts.append((values[b][:, nodes], is_category[b, nodes]))
    columns, kinds = (torch.stack(part) for part in zip(*parts[:count], strict=True))
    x, y, z = columns.split([1, 1, d_z], dim=2)
    return LabelledDatasets(x, y, z, torch.zeros(count, dtype=torch.long), kinds)


def _any_kinds(
    structure: Structure, least_share: float, generator: Generator
) -> Bool[Tensor, "batch node"]:
    """Draws the nodes that are categories; latent ones are numbers.

    Each dataset has its own share of categories, between the least one and all.
    """
    batch, nodes = structure.parents.shape[:2]
    share = least_share + (1 - least_share) * rand(generator, batch, 1)
    is_category = rand(generator, batch, nodes) < share
    observed = torch.cat([structure.cond, structure.targets], dim=1)
    return is_category & torch.zeros_like(is_category).scatter(1, observed, True)


def _levels_of_nodes(
    is_category: Bool[Tensor, "batch node"], n: int, generator: Generator
) -> Int[Tensor, "batch node"]:
    """Draws the number of levels of each node, 1 if it is a number."""
    most = most_levels(n)
    one, other = (
        torch.randint(2, most + 1, is_category.shape, generator=generator) for _ in range(2)
    )
    return torch.where(is_category, torch.minimum(one, other), 1)


# ---- questions on random DAGs ----------------------------------------------------


def _question_domain(mechanisms: str) -> Domain:
    # The difficulty was set by classical tests alone. AUC of KCI and Fisher-z: .93 and .81 in
    # "training" at n = 300 and d_z = 3; .87 and .78 over "steps", "gp" and "switching", n up to 300
    # and d_z up to 8.
    return Domain(families(mechanisms), NOISES, (0.2, 1.0), (0.4, 1.0), heteroscedastic=0.25)


QUESTION_DOMAINS = {
    **{name: _question_domain(name) for name in ("training", "steps", "gp", "switching")},
    "linear-gaussian": replace(
        _question_domain("linear"), noises={"gaussian": NOISES["gaussian"]}, heteroscedastic=0.0
    ),
}


def random_dag_questions(
    domain: str, count: int, n: int, d_z: int, *, seed: int
) -> LabelledDatasets:
    """Draws datasets from random DAGs, each with a question that PC could ask about it.

    - Label 0: pairs that are d-separated by Z and have a common cause in Z. Pairs without any path
      are left out, as PC removes their edge with an empty conditioning set. If Z is empty, all
      d-separated pairs.
    - Label 1: adjacent pairs, and pairs with a common effect in Z. Pairs that are d-connected only
      by other paths are left out, as PC may rightly remove their edge later.

    Half of the graphs are drawn by `random_dags`, half by `driven`, with strong common causes in Z.

    Args:
        domain: "training" (the mechanisms that `acid-ranks` is trained on), "steps", "gp" or
            "switching" (mechanisms of which it saw none), or "linear-gaussian".
        count: number of datasets; the two labels alternate.
        n: samples of each.
        d_z: size of the conditioning set.
        seed: seed of the draws; they differ from those of training for every seed.

    Raises:
        OptionError: no such domain.
    """
    if domain not in QUESTION_DOMAINS:
        raise unknown("domain", domain, QUESTION_DOMAINS)
    generator = seeded("benchmark", "random dags", domain, n, d_z, seed)
    labels = torch.arange(count) % 2
    found: tuple[list[_Question], list[_Question]] = ([], [])
    while len(found[0]) < (count + 1) // 2 or len(found[1]) < count // 2:
        for sampler in (random_dags, driven):
            targets, latents = integer(generator, 4, 8), integer(generator, 0, 4)
            structure = sampler(_DATASETS_PER_ROUND, d_z, targets, latents, generator)
            values = simulate(structure, n, QUESTION_DOMAINS[domain], generator)
            _collect(found, structure, values, generator)
    questions = [found[int(label)][k // 2] for k, label in enumerate(labels)]
    x, y, z = (torch.stack(part) for part in zip(*questions, strict=True))
    return LabelledDatasets(x, y, z, labels)


_Question = tuple[Tensor, Tensor, Tensor]


def _collect(
    found: tuple[list[_Question], list[_Question]],
    structure: Structure,
    values: Float[Tensor, "batch n node"],
    generator: Generator,
) -> None:
    """Adds one question per dataset, of label b % 2, if the dataset has such a pair."""
    eligible = _eligible(structure, generator)
    for b in range(len(values)):
        i, j = eligible[b % 2][b].triu(1).nonzero(as_tuple=True)
        if not len(i):
            continue
        pick = int(torch.randint(0, len(i), (), generator=generator))
        nodes = structure.targets[b]
        x, y = values[b, :, nodes[i[pick]], None], values[b, :, nodes[j[pick]], None]
        found[b % 2].append((x, y, values[b][:, structure.cond[b]]))


def _eligible(
    structure: Structure, generator: Generator
) -> tuple[Bool[Tensor, "batch target target"], Bool[Tensor, "batch target target"]]:
    """Returns the pairs of targets that are eligible with label 0, and those with label 1."""
    up = structure.parents.float()  # from a node to its causes
    given = torch.zeros_like(up[:, :, 0]).scatter(1, structure.cond, 1.0)[:, :, None]
    common_causes, common_effects = up @ (given * up.mT), up.mT @ (given * up)
    independent = ~structure.dependent(generator)
    if structure.cond.shape[1]:
        independent &= _among_targets(structure, common_causes > 0)
    return independent, _among_targets(structure, up + up.mT + common_effects > 0)


def _among_targets(
    structure: Structure, pairs: Bool[Tensor, "batch node node"]
) -> Bool[Tensor, "batch target target"]:
    """Selects the rows and columns of the targets."""
    nodes = structure.targets
    rows = pairs.gather(1, nodes[:, :, None].expand(-1, -1, pairs.shape[2]))
    return rows.gather(2, nodes[:, None, :].expand(-1, nodes.shape[1], -1))
