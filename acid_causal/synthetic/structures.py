"""Random DAGs with a conditioning set and targets, and labels by d-separation.

A structure is a batch of DAGs whose nodes are in topological order, each with a conditioning set
and some targets. Every pair of targets is a question. All other nodes are latent.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Generator, Tensor

from acid_causal.synthetic.draws import coin, gumbel, rand, randn

# Partial correlations below this count as 0. With random weights they are 0, up to rounding, only
# for d-separated pairs.
_BLOCKED = 1e-9


@dataclass(frozen=True)
class Structure:
    """A batch of DAGs with the roles of their nodes.

    Attributes:
        parents: `parents[b, j, i]` is true for an edge i -> j; strictly lower triangular.
        cond: nodes of the conditioning set.
        targets: nodes whose pairs are questions.
    """

    parents: Bool[Tensor, "batch node node"]
    cond: Int[Tensor, "batch d_z"]
    targets: Int[Tensor, "batch target"]

    def dependent(self, generator: Generator) -> Bool[Tensor, "batch target target"]:
        """Computes which pairs of targets are d-connected given the conditioning set.

        It draws linear models with random weights and checks which partial correlations vanish.
        With probability one these are exactly the d-separated pairs (Spirtes, Glymour, Scheines
        2000, theorem 3.2).
        """
        rows = _linear_sem(self.parents, generator)
        cond = rows.gather(1, self.cond[..., None].expand(-1, -1, rows.shape[-1]))
        targets = rows.gather(1, self.targets[..., None].expand(-1, -1, rows.shape[-1]))
        basis = torch.linalg.qr(cond.mT).Q
        residual = targets - targets @ basis @ basis.mT
        residual = residual / residual.norm(dim=-1, keepdim=True)
        return (residual @ residual.mT).abs() > _BLOCKED


def random_dags(
    batch: int, d_z: int, targets: int, latents: int, generator: Generator
) -> Structure:
    """Draws sparse random DAGs with a conditioning set near the first two targets.

    First the pair of targets is drawn; in half of the graphs adjacent pairs are preferred. The
    conditioning set and the other targets are then drawn with a preference, from none to strong,
    for nodes close to the pair.
    """
    size = d_z + targets + latents
    degree = 1.0 + 3.0 * rand(generator, batch, 1, 1)
    # In half of the graphs some nodes are hubs, with many more children than others.
    hub = torch.exp(randn(generator, batch, 1, size) * coin(generator, 0.5, batch, 1, 1))
    chance = degree / max(size - 1, 1) * hub / hub.mean(dim=-1, keepdim=True)
    parents = (rand(generator, batch, size, size) < chance).tril(-1)

    hops = _hops(parents | parents.mT, limit=4)
    focus = _focus_pair(hops, generator)
    near = hops.gather(1, focus[..., None].expand(-1, -1, size)).amin(dim=1)
    pull = 2.0 * coin(generator, 0.7, batch, 1) * rand(generator, batch, 1)
    rank = -pull * near + gumbel(generator, batch, size)
    rank = rank.scatter(1, focus, float("-inf"))
    order = rank.argsort(dim=1, descending=True)
    cond, others = order[:, :d_z], order[:, d_z : d_z + targets - 2]
    return Structure(parents, cond=cond, targets=torch.cat([focus, others], dim=1))


def driven(batch: int, d_z: int, targets: int, latents: int, generator: Generator) -> Structure:
    """Draws DAGs whose targets share strong common causes, all of them in the conditioning set.

    Independence is hard to see here: Z explains most of X and Y, and what a regression fails to
    remove looks like dependence. There are few edges among the targets, and latent nodes confound
    some of them.
    """
    size = d_z + latents + targets
    role = torch.arange(size, device=generator.device)
    is_z, is_target = role < d_z, role >= d_z + latents
    dense = 0.3 + 0.7 * rand(generator, batch, 1, 1)
    sparse = 3.0 * rand(generator, batch, 1, 1) / max(targets + latents - 1, 1)
    chance = torch.where(
        is_target[:, None] & is_z[None, :],
        dense,
        torch.where(
            (is_target[:, None] & ~is_z[None, :]) | (is_z[:, None] & is_z[None, :]),
            sparse,
            torch.zeros_like(sparse),
        ),
    )
    parents = (rand(generator, batch, size, size) < chance).tril(-1)
    nodes = role.expand(batch, -1)
    return Structure(parents, cond=nodes[:, :d_z], targets=nodes[:, d_z + latents :])


# ---- pieces ----------------------------------------------------------------------


def _linear_sem(
    parents: Bool[Tensor, "batch node node"], generator: Generator
) -> Tensor:  # Float64[Tensor, "batch node noise"]
    """Draws linear models and returns each node as a unit vector of coefficients on the noise."""
    batch, size, _ = parents.shape
    device = parents.device
    weight = 0.5 + torch.rand(
        parents.shape, generator=generator, device=device, dtype=torch.float64
    )
    sign = coin(generator, 0.5, *parents.shape).double() * 2 - 1
    weight = weight * sign * parents
    rows = torch.zeros(batch, size, size, dtype=torch.float64, device=device)
    for j in range(size):
        row = (weight[:, j, None, :j] @ rows[:, :j]).squeeze(1)
        row[:, j] += 1.0
        rows[:, j] = row / row.norm(dim=-1, keepdim=True)
    return rows


def _hops(adjacent: Bool[Tensor, "batch node node"], limit: int) -> Tensor:
    """Computes the length of the shortest path between nodes, at most `limit`."""
    step = adjacent.float()
    reached = torch.eye(step.shape[-1], device=step.device).expand_as(step)
    hops = torch.where(reached > 0, 0.0, float(limit))
    for distance in range(1, limit):
        reached = ((reached @ step + reached) > 0).float()
        hops = torch.where(reached > 0, hops.clamp(max=distance), hops)
    return hops


def _focus_pair(hops: Tensor, generator: Generator) -> Int[Tensor, "batch 2"]:
    """Draws a pair of nodes; in half of the graphs adjacent pairs are preferred."""
    batch, size, _ = hops.shape
    prefer = 4.0 * coin(generator, 0.5, batch, 1, 1)
    score = prefer * (hops == 1) + gumbel(generator, batch, size, size)
    score = score.masked_fill(hops == 0, float("-inf"))
    flat = score.flatten(1).argmax(dim=1)
    return torch.stack([flat // size, flat % size], dim=1)
