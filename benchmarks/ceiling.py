"""How well could any test do on the six data models? `python -m benchmarks.ceiling`.

An oracle is told every function and every noise of a dependent dataset, and compares it with a
twin that is independent by construction: the same X and Z, and Y drawn anew from its exact
conditional distribution given Z. Its statistic, the most powerful one by Neyman and Pearson, is
`sum log p(y | x, z) - log p(y | z)`. A test that must learn functions of ten variables from a
hundred rows lies below it. AUC, for each of the three dependent models.
"""

import math
from collections.abc import Callable

import torch
from sklearn.metrics import roc_auc_score
from torch import Generator, Tensor

from acid_causal.synthetic.draws import integer, seeded
from acid_causal.synthetic.mechanisms import mlp
from acid_causal.synthetic.noise import NOISES

SETTINGS = ((100, 3), (100, 10), (300, 3), (300, 10))
DATASETS = 100
NOISE = 1.2  # of a link, relative to its signal: as in `acid_causal.synthetic.six_models`
GRID = torch.linspace(-6, 6, 241)
_LOG_DENSITIES: dict[str, Callable[[Tensor], Tensor]] = {
    "gaussian": lambda u: -0.5 * u * u - 0.5 * math.log(2 * math.pi),
    "laplace": lambda u: -math.sqrt(2) * u.abs() - 0.5 * math.log(2),
    # A sliver outside its support, so that rounding at the edge is no proof of anything.
    "uniform": lambda u: torch.where(u.abs() < math.sqrt(3), -0.5 * math.log(12), -30.0),
}
_NAMES = tuple(_LOG_DENSITIES)


class _Noise:
    def __init__(self, generator: Generator) -> None:
        self.name = _NAMES[integer(generator, 0, 2)]
        self.log_density = _LOG_DENSITIES[self.name]
        self.generator = generator

    def draw(self, *shape: int) -> Tensor:
        return NOISES[self.name](self.generator, shape)


def _link(cause: Tensor, elsewhere: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
    """Draws one MLP-16 link; returns it at the data and elsewhere, scaled by the data: (n,), (m,).

    Args:
        cause: (n, p).
        elsewhere: (m, p), more points at which to evaluate it.
        generator: source of randomness.
    """
    points = torch.cat([cause, elsewhere])[None]
    values = mlp(16)(points, torch.ones(1, cause.shape[1]), generator)[0]
    here = values[: len(cause)]
    values = (values - here.mean()) / here.std()
    return values[: len(cause)], values[len(cause) :]


def _edge(n: int, d_z: int, generator: Generator, *, fork: bool) -> tuple[float, float]:
    """The oracle's statistic in a chain or a fork with an edge X -> Y, and in its twin."""
    noise_x, noise_y = _Noise(generator), _Noise(generator)
    grid = GRID[:, None]
    if fork:
        z = torch.stack([_Noise(generator).draw(n) for _ in range(d_z)], dim=1)
        of_z, _ = _link(z, z[:0], generator)
        scale = math.sqrt(1 + NOISE**2)
        x = (of_z + NOISE * noise_x.draw(n)) / scale
        log_posterior = noise_x.log_density((scale * GRID - of_z[:, None]) / NOISE)
    else:
        x = noise_x.draw(n)
        log_posterior = noise_x.log_density(GRID).expand(n, -1).clone()
        columns = []
        for _ in range(d_z):
            noise = _Noise(generator)
            at_x, on_grid = _link(x[:, None], grid, generator)
            column = at_x + NOISE * noise.draw(n)
            log_posterior += noise.log_density((column[:, None] - on_grid) / NOISE)
            columns.append(column / math.sqrt(1 + NOISE**2))
        z = torch.stack(columns, dim=1)
    log_posterior = log_posterior.log_softmax(dim=1)
    of_z, _ = _link(z, z[:0], generator)
    of_x, on_grid = _link(x[:, None], grid, generator)
    spread = (of_z + of_x).std()

    def log_ratio(y: Tensor) -> float:
        log_p = noise_y.log_density((y - (of_z + of_x) / spread) / NOISE)
        elsewhere = (y[:, None] - (of_z[:, None] + on_grid) / spread) / NOISE
        mixed = (noise_y.log_density(elsewhere) + log_posterior).logsumexp(dim=1)
        return float((log_p - mixed).sum())

    y = (of_z + of_x) / spread + NOISE * noise_y.draw(n)
    # The twin's Y: another X from the posterior takes the place of X in its equation.
    pick = torch.multinomial(log_posterior.exp(), 1, generator=generator)[:, 0]
    twin = (of_z + on_grid[pick]) / spread + NOISE * noise_y.draw(n)
    return log_ratio(y), log_ratio(twin)


def _collider(n: int, d_z: int, generator: Generator) -> tuple[float, float]:
    """The oracle's statistic in a collider X -> Z <- Y, and in its twin."""
    noise_x, noise_y = _Noise(generator), _Noise(generator)
    x, y = noise_x.draw(n), noise_y.draw(n)
    grid = GRID[::3]
    links = []
    for _ in range(d_z):
        noise = _Noise(generator)
        at_x, x_grid = _link(x[:, None], grid[:, None], generator)
        at_y, y_grid = _link(y[:, None], grid[:, None], generator)
        spread = (at_x + at_y).std()
        z = (at_x + at_y) / spread + NOISE * noise.draw(n)
        links.append((noise, z * spread, NOISE * spread, at_x, x_grid, at_y, y_grid))

    def log_likelihood(of_x: list[Tensor], of_y: list[Tensor]) -> Tensor:
        total = torch.zeros(())
        for (noise, z, scale, *_), a, b in zip(links, of_x, of_y, strict=True):
            total = total + noise.log_density((z[:, None, None] - a[..., None] - b) / scale)
        return total  # (n, x, y)

    true_x, all_x = [link[3][:, None] for link in links], [link[4][None] for link in links]
    true_y, all_y = [link[5][:, None, None] for link in links], [link[6] for link in links]
    prior_x, prior_y = noise_x.log_density(grid)[:, None], noise_y.log_density(grid)
    everywhere = log_likelihood(all_x, all_y) + prior_x + prior_y
    given_x = log_likelihood(true_x, all_y)[:, 0] + prior_y
    evidence, evidence_x = everywhere.logsumexp(dim=(1, 2)), given_x.logsumexp(dim=1)
    # At Y's own value, and at the twin's, drawn from p(y | z) on the grid.
    prior = noise_y.log_density(y)
    given_both = log_likelihood(true_x, true_y)[:, 0, 0] + prior - evidence_x
    at_own = log_likelihood(all_x, true_y)[..., 0] + prior_x[:, 0]
    own = given_both - (at_own.logsumexp(dim=1) + prior - evidence)
    marginal = everywhere.logsumexp(dim=1)
    pick = torch.multinomial(marginal.softmax(dim=1), 1, generator=generator)
    twin = (given_x - marginal).gather(1, pick)[:, 0] - evidence_x + evidence
    return float(own.sum()), float(twin.sum())


def main() -> None:
    """Prints the oracle's AUC for each setting and model."""
    print("  n  d_z   collider  chain+edge  fork+edge       mean")
    for n, d_z in SETTINGS:
        aucs = []
        for k in range(3):
            generator = seeded("ceiling", n, d_z, k)
            pairs = [
                _collider(n, d_z, generator) if k == 0 else _edge(n, d_z, generator, fork=k == 2)
                for _ in range(DATASETS)
            ]
            dependent, twins = zip(*pairs, strict=True)
            labels = [1] * DATASETS + [0] * DATASETS
            aucs.append(roc_auc_score(labels, [*dependent, *twins]))
        of_models = "  ".join(f"{auc:9.3f}" for auc in aucs)
        print(f"{n:3}  {d_z:3}  {of_models}  {sum(aucs) / 3:9.3f}")


if __name__ == "__main__":
    main()
