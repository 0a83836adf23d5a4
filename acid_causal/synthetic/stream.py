"""An endless stream of labelled batches; batch k is a pure function of (seed, k)."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from acid_causal.errors import require
from acid_causal.synthetic import mechanisms, noise, structures
from acid_causal.synthetic.draws import integer, rand, seeded
from acid_causal.synthetic.sem import Domain, simulate
from acid_causal.synthetic.siblings import draw_siblings
from acid_causal.synthetic.six_models import draw_six_models

_SHARES = (
    "six_models",
    "driven",
    "siblings",
    "wide",
    "heteroscedastic",
    "discrete",
    "measured",
    "long",
)


@dataclass(frozen=True)
class StreamConfig:
    """The distribution of batches.

    Attributes:
        entries: approximate number of scalars in a batch, batch * n * (d_z + targets * d_x).
        n: bounds of the number of samples, log-uniform.
        d_z: bounds of the size of the conditioning set. It is the smaller of two uniform draws,
            since causal discovery asks mostly about small sets.
        targets: bounds of the number of targets per conditioning set.
        six_models: share of batches from the paper's six data models.
        driven: share of batches whose targets have strong common causes in Z.
        siblings: share of batches of two effects of Z; see `acid_causal.synthetic.siblings`.
        wide: among the latter and the six models, share of batches with several components in X
            and Y.
        components: largest number of components; in the six models it is 3.
        mechanisms: "training", "held-out", "all", or the name of one family of mechanisms.
        noises: "usual", "heavy", "all" or "wide"; see `acid_causal.synthetic.noise`.
        noise_ratio: see `Domain`.
        strength: see `Domain`.
        heteroscedastic: see `Domain`.
        discrete: see `Domain`.
        measured: see `Domain`.
        long: share of batches with more samples than the upper bound of `n`, up to `n_long`.
        n_long: largest number of samples in long batches.
        max_batch: largest number of datasets in a batch.
    """

    entries: int = 16_000
    n: tuple[int, int] = (50, 500)
    d_z: tuple[int, int] = (0, 10)
    targets: tuple[int, int] = (4, 8)
    six_models: float = 0.3
    driven: float = 0.3
    siblings: float = 0.0
    wide: float = 0.1
    components: int = 3
    mechanisms: str = "training"
    noises: str = "usual"
    noise_ratio: tuple[float, float] = (0.1, 3.0)
    strength: tuple[float, float] = (0.15, 1.0)
    heteroscedastic: float = 0.25
    discrete: float = 0.0
    measured: float = 0.0
    long: float = 0.0
    n_long: int = 10_000
    max_batch: int = 64

    def __post_init__(self) -> None:
        require(self.entries >= 1, "entries", self.entries, "at least 1")
        # The smallest batch has one dependent and one independent dataset.
        require(self.max_batch >= 2, "max_batch", self.max_batch, "at least 2")
        _require_bounds("n", self.n, low=4)
        _require_bounds("d_z", self.d_z, low=0)
        _require_bounds("targets", self.targets, low=2)
        _require_bounds("noise_ratio", self.noise_ratio)
        _require_bounds("strength", self.strength)
        for name in _SHARES:
            share = getattr(self, name)
            require(0 <= share <= 1, name, share, "a share between 0 and 1")
        shares = self.six_models + self.driven + self.siblings
        # Allows for rounding in the sum.
        require(shares <= 1 + 1e-9, "six_models + driven + siblings", shares, "at most 1")
        require(self.components >= 2, "components", self.components, "at least 2")
        long_enough = not self.long or self.n_long >= self.n[1]
        require(long_enough, "n_long", self.n_long, f"at least {self.n[1]}")
        mechanisms.families(self.mechanisms)
        noise.noises(self.noises)


def _require_bounds(name: str, bounds: Any, low: int | None = None) -> None:
    """Raises OptionError unless bounds are two increasing numbers, positive or at least `low`."""
    kind = "positive numbers" if low is None else f"numbers from {low} on"
    ok = isinstance(bounds, tuple) and len(bounds) == 2
    ok = ok and (bounds[0] > 0 if low is None else bounds[0] >= low)
    require(ok and bounds[0] <= bounds[1] < math.inf, name, bounds, f"two increasing {kind}")


@dataclass(frozen=True)
class Batch:
    """Datasets of one size, and the label of every pair of targets.

    Attributes:
        z: conditioning variables.
        x: targets, each of d_x components.
        dependent: whether two targets are d-connected given Z.
        source: "six-models", "siblings", "driven" or "random_dags".
    """

    z: Float[Tensor, "batch n d_z"]
    x: Float[Tensor, "batch target n d_x"]
    dependent: Bool[Tensor, "batch target target"]
    source: str


class Stream:
    """Labelled batches by index.

    Args:
        config: the distribution of batches.
        seed: streams with different seeds are independent.
        device: where batches are drawn.
    """

    def __init__(self, config: StreamConfig, seed: int, device: torch.device | str = "cpu") -> None:
        self.config, self.seed, self.device = config, seed, device
        self.domain = Domain(
            mechanisms=mechanisms.families(config.mechanisms),
            noises=noise.noises(config.noises),
            noise_ratio=config.noise_ratio,
            strength=config.strength,
            heteroscedastic=config.heteroscedastic,
            discrete=config.discrete,
            measured=config.measured,
        )

    def __getitem__(self, index: int) -> Batch:
        """Draws batch `index`."""
        generator = seeded("stream", self.seed, index, device=self.device)
        return self.draw(generator)

    def draw(self, generator: Generator, *, n: int | None = None, d_z: int | None = None) -> Batch:
        """Draws a batch; n and d_z are random unless given."""
        c = self.config
        if n is None:
            low, high = c.n
            if c.long and float(rand(generator, 1)) < c.long:
                low, high = high, c.n_long
            n = round(low * (high / low) ** float(rand(generator, 1)))
        if d_z is None:
            d_z = min(integer(generator, *c.d_z), integer(generator, *c.d_z))
        kind = float(rand(generator, 1))
        if kind < c.six_models or kind >= 1 - c.siblings:
            siblings = kind >= c.six_models
            most = c.components if siblings else 3
            wide = float(rand(generator, 1)) < c.wide
            d_x = integer(generator, 2, most) if wide else 1
            batch = self._batch_size(n, d_z, 2 * d_x)
            label = torch.arange(batch, device=generator.device) % 2 == 1
            draw = draw_siblings if siblings else draw_six_models
            x, y, z = draw(label, n, d_x, d_z, self.domain, generator)
            source = "siblings" if siblings else "six-models"
            return Batch(z, torch.stack([x, y], dim=1), _between_two(label), source)
        targets = integer(generator, *c.targets)
        latents = integer(generator, 0, 4)
        batch = self._batch_size(n, d_z, targets)
        sampler = structures.driven if kind < c.six_models + c.driven else structures.random_dags
        structure = sampler(batch, d_z, targets, latents, generator)
        values = simulate(structure, n, self.domain, generator)
        return Batch(
            z=_columns(values, structure.cond),
            x=_columns(values, structure.targets).transpose(1, 2)[..., None],
            dependent=structure.dependent(generator),
            source=sampler.__name__,
        )

    def _batch_size(self, n: int, d_z: int, targets: int) -> int:
        per_dataset = n * (d_z + targets)
        return max(2, min(self.config.max_batch, math.ceil(self.config.entries / per_dataset)))


def _between_two(label: Bool[Tensor, " batch"]) -> Bool[Tensor, "batch 2 2"]:
    """Expands the label of one pair to a 2 x 2 matrix with a true diagonal."""
    return label[:, None, None] | torch.eye(2, dtype=torch.bool, device=label.device)


def _columns(values: Float[Tensor, "batch n node"], nodes: Tensor) -> Tensor:
    return values.gather(2, nodes[:, None, :].expand(-1, values.shape[1], -1))
