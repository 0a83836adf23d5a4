"""An endless stream of labelled batches; batch k is a pure function of (seed, k)."""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Generator, Tensor

from acid_causal.errors import require
from acid_causal.synthetic import mechanisms, noise, structures
from acid_causal.synthetic.categories import (
    categorise,
    draw_levels,
    draw_widths,
    indicators,
    with_indicators,
)
from acid_causal.synthetic.draws import coin, integer, rand, seeded
from acid_causal.synthetic.sem import Domain, simulate_mixed, standardise
from acid_causal.synthetic.siblings import draw_siblings
from acid_causal.synthetic.six_models import draw_six_models
from acid_causal.synthetic.structures import Structure

_SHARES = (
    "six_models",
    "driven",
    "siblings",
    "wide",
    "heteroscedastic",
    "discrete",
    "measured",
    "long",
    "categories",
    "coarse",
)


# In coarse batches, the chance that a target has few values, and that they are two.
_CUT, _TWO_VALUES = 0.7, 0.6


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
        categories: share of batches with unordered categories among their variables, the six models
            excepted; see `acid_causal.synthetic.categories`.
        coarse: share of batches in which most numeric targets have only two or three values.
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
    categories: float = 0.0
    coarse: float = 0.0

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
        z: conditioning variables; of categories the indicators of their levels.
        x: numeric targets, each of d_x components.
        dependent: whether two targets are d-connected given Z; numeric ones come first.
        source: "six-models", "siblings", "driven" or "random_dags".
        categories: targets that are categories, as indicators of their levels; None: none.
        widths: number of columns of each conditioning variable, numbers (1) first; None: one each.
    """

    z: Float[Tensor, "batch n columns"]
    x: Float[Tensor, "batch target n d_x"]
    dependent: Bool[Tensor, "batch targets targets"]
    source: str
    categories: Float[Tensor, "batch category n levels"] | None = None
    widths: tuple[int, ...] | None = None

    @property
    def d_z(self) -> int:
        """Number of conditioning variables."""
        return self.z.shape[2] if self.widths is None else len(self.widths)


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
        batch = self._draw(generator, n, d_z)
        # No number is drawn without, so that older streams stay as they were.
        if self.config.coarse and float(rand(generator, 1)) < self.config.coarse:
            return replace(batch, x=_coarse(batch.x, generator))
        return batch

    def _draw(self, generator: Generator, n: int | None, d_z: int | None) -> Batch:
        c = self.config
        if n is None:
            low, high = c.n
            if c.long and float(rand(generator, 1)) < c.long:
                low, high = high, c.n_long
            n = round(low * (high / low) ** float(rand(generator, 1)))
        if d_z is None:
            d_z = min(integer(generator, *c.d_z), integer(generator, *c.d_z))
        kind = float(rand(generator, 1))
        if kind < c.six_models:
            return self._pair("six-models", n, d_z, None, generator)
        # No number is drawn if there are no categories, so that older streams stay as they were.
        mixed = c.categories > 0 and float(rand(generator, 1)) < c.categories
        if kind >= 1 - c.siblings:
            return self._pair(
                "siblings", n, d_z, _Kinds.draw(mixed, n, d_z, 2, generator), generator
            )
        targets = integer(generator, *c.targets)
        latents = integer(generator, 0, 4)
        kinds = _Kinds.draw(mixed, n, d_z, targets, generator)
        batch = self._batch_size(n, d_z, targets, kinds)
        sampler = structures.driven if kind < c.six_models + c.driven else structures.random_dags
        structure = sampler(batch, d_z, targets, latents, generator)
        widths = None if kinds is None else kinds.of_nodes(structure)
        values, levels = simulate_mixed(structure, n, self.domain, generator, widths=widths)
        z = _columns(values, structure.cond)
        x = _columns(values, structure.targets).mT[..., None]
        dependent = structure.dependent(generator)
        if kinds is None:
            return Batch(z, x, dependent, sampler.__name__)
        return kinds.batch(
            x,
            dependent,
            sampler.__name__,
            z=with_indicators(z, _columns(levels, structure.cond), kinds.of_z),
            levels=_columns(levels, structure.targets).mT,
        )

    def _pair(
        self, source: str, n: int, d_z: int, kinds: "_Kinds | None", generator: Generator
    ) -> Batch:
        """Draws X and Y of one of the sources that have two targets."""
        siblings = source == "siblings"
        most = self.config.components if siblings else 3
        wide = kinds is None and float(rand(generator, 1)) < self.config.wide
        d_x = integer(generator, 2, most) if wide else 1
        batch = self._batch_size(n, d_z, 2 * d_x, kinds)
        label = torch.arange(batch, device=generator.device) % 2 == 1
        if siblings:
            widths = None if kinds is None else kinds.of_z
            x, y, z = draw_siblings(label, n, d_x, d_z, self.domain, generator, widths=widths)
        else:
            x, y, z = draw_six_models(label, n, d_x, d_z, self.domain, generator)
        both, dependent = torch.stack([x, y], dim=1), _between_two(label)
        if kinds is None:
            return Batch(z, both, dependent, source)
        return kinds.batch(both, dependent, source, z=z, levels=kinds.categorised(both, generator))

    def _batch_size(self, n: int, d_z: int, targets: int, kinds: "_Kinds | None") -> int:
        columns = d_z + targets if kinds is None else sum(kinds.of_z) + sum(kinds.of_targets)
        return max(2, min(self.config.max_batch, math.ceil(self.config.entries / (n * columns))))


@dataclass(frozen=True)
class _Kinds:
    """Which variables of a batch are categories.

    Attributes:
        of_z: number of levels of each conditioning variable, 1 if it is a number.
        of_targets: the same of each target; all categories have equally many.
    """

    of_z: tuple[int, ...]
    of_targets: tuple[int, ...]

    @classmethod
    def draw(
        cls, mixed: bool, n: int, d_z: int, targets: int, generator: Generator
    ) -> "_Kinds | None":
        """Draws which variables are categories; None if the batch is not mixed.

        The share of categories varies from batch to batch; in some all variables are categories.
        """
        if not mixed:
            return None
        chance = 1.1 * float(rand(generator, 1))
        levels = draw_levels(n, generator)
        is_category = (rand(generator, targets) < chance).tolist()
        of_targets = tuple(levels if one else 1 for one in is_category)
        return cls(draw_widths(d_z, n, chance, generator), of_targets)

    def of_nodes(self, structure: Structure) -> Int[Tensor, "batch node"]:
        """Returns the number of levels of each node; latent nodes are numbers."""
        widths = torch.ones_like(structure.parents[:, 0], dtype=torch.long)
        for nodes, kinds in (
            (structure.cond, self.of_z),
            (structure.targets, self.of_targets),
        ):
            of_role = torch.tensor(kinds, dtype=torch.long, device=nodes.device)
            widths = widths.scatter(1, nodes, of_role.expand(len(nodes), -1))
        return widths

    def categorised(
        self, x: Float[Tensor, "batch target n 1"], generator: Generator
    ) -> Int[Tensor, "batch target n"]:
        """Draws levels for the targets that are categories; 0 for the others."""
        levels = torch.zeros_like(x[..., 0], dtype=torch.long)
        for k, count in enumerate(self.of_targets):
            if count > 1:
                levels[:, k] = categorise(standardise(x[:, k, :, 0]), count, generator)
        return levels

    def batch(
        self,
        x: Float[Tensor, "batch target n 1"],
        dependent: Bool[Tensor, "batch target target"],
        source: str,
        *,
        z: Float[Tensor, "batch n columns"],
        levels: Int[Tensor, "batch target n"],
    ) -> Batch:
        """Builds the batch, numeric targets first."""
        widths = torch.tensor(self.of_targets, device=x.device)
        numbers, categories = (widths == 1).nonzero()[:, 0], (widths > 1).nonzero()[:, 0]
        order = torch.cat([numbers, categories])
        of_levels = (
            indicators(levels[:, categories], int(widths.max())) if len(categories) else None
        )
        dependent = dependent[:, order][:, :, order]
        return Batch(z, x[:, numbers], dependent, source, of_levels, self.of_z)


def _coarse(
    x: Float[Tensor, "batch target n d_x"], generator: Generator
) -> Float[Tensor, "batch target n d_x"]:
    """Cuts most components of targets at one or two random quantiles into 0, 1 and 2.

    This keeps labels: functions of independent variables are independent.
    """
    batch, t, n, d_x = x.shape
    low, high = (0.05 + 0.9 * rand(generator, batch, t, 1, d_x) for _ in range(2))
    high = torch.where(coin(generator, _TWO_VALUES, batch, t, 1, d_x) > 0, torch.inf, high)
    rank = x.argsort(dim=2).argsort(dim=2) / n
    values = (rank >= low).to(x.dtype) + (rank >= high).to(x.dtype)
    return torch.where(coin(generator, _CUT, batch, t, 1, d_x) > 0, values, x)


def _between_two(label: Bool[Tensor, " batch"]) -> Bool[Tensor, "batch 2 2"]:
    """Expands the label of one pair to a 2 x 2 matrix with a true diagonal."""
    return label[:, None, None] | torch.eye(2, dtype=torch.bool, device=label.device)


def _columns(
    values: Shaped[Tensor, "batch n node"], nodes: Int[Tensor, "batch some"]
) -> Shaped[Tensor, "batch n some"]:
    return values.gather(2, nodes[:, None, :].expand(-1, values.shape[1], -1))
