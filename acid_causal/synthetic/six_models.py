"""The six data models of the paper's experiments: graphs over the vectors X, Y and Z.

The paper does not print them; these follow its description. Independent given Z: two chains and a
fork. Dependent: a collider, and a chain and a fork with an edge X -> Y. For an edge, each component
of the effect is a random function of all components of the cause. All edges into a variable have
equal weight: X -> Y contributes as much as Z -> Y, whatever the size of Z.
"""

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from acid_causal.synthetic.sem import Domain, equation

# Each variable in causal order, with its causes.
Model = dict[str, str]
INDEPENDENT: tuple[Model, ...] = (
    {"x": "", "z": "x", "y": "z"},
    {"y": "", "z": "y", "x": "z"},
    {"z": "", "x": "z", "y": "z"},
)
DEPENDENT: tuple[Model, ...] = (
    {"x": "", "y": "", "z": "xy"},
    {"x": "", "z": "x", "y": "zx"},
    {"z": "", "x": "z", "y": "zx"},
)
# Without a conditioning set two models remain: with and without an edge.
INDEPENDENT_PAIR: tuple[Model, ...] = ({"x": "", "y": ""},)
DEPENDENT_PAIR: tuple[Model, ...] = ({"x": "", "y": "x"},)


def draw_six_models(
    label: Bool[Tensor, " batch"], n: int, d_x: int, d_z: int, domain: Domain, generator: Generator
) -> tuple[
    Float[Tensor, "batch n d_x"], Float[Tensor, "batch n d_x"], Float[Tensor, "batch n d_z"]
]:
    """Draws datasets, each from one of the models with its label.

    Args:
        label: which datasets are dependent given Z.
        n: number of samples.
        d_x: components of X, and of Y.
        d_z: components of Z.
        domain: the distribution of functions and noise.
        generator: random generator.

    Returns:
        X, Y and Z.
    """
    classes = (INDEPENDENT, DEPENDENT) if d_z else (INDEPENDENT_PAIR, DEPENDENT_PAIR)
    batch, device = len(label), generator.device
    sizes = {"x": d_x, "y": d_x, "z": d_z}
    out = {v: torch.empty(batch, n, d, device=device) for v, d in sizes.items()}
    pick = torch.randint(0, len(classes[0]), (batch,), generator=generator, device=device)
    for dependent, models in enumerate(classes):
        for k, model in enumerate(models):
            rows = ((label.to(device) == bool(dependent)) & (pick == k)).nonzero()[:, 0]
            if len(rows):
                for v, values in _draw(model, len(rows), n, sizes, domain, generator).items():
                    out[v][rows] = values
    return out["x"], out["y"], out["z"]


def _draw(
    model: Model, batch: int, n: int, sizes: dict[str, int], domain: Domain, generator: Generator
) -> dict[str, Tensor]:
    values: dict[str, Tensor] = {}
    for variable, causes in model.items():
        d = sizes[variable]
        # Each component has its own equation: components are treated as datasets of one batch.
        links = [values[cause].repeat_interleave(d, dim=0) for cause in causes]
        links = links or [torch.zeros(batch * d, n, 0, device=generator.device)]
        present = [torch.ones_like(link[:, 0], dtype=torch.bool) for link in links]
        drawn = equation(list(zip(links, present, strict=True)), n, domain, generator)
        values[variable] = drawn.unflatten(0, (batch, d)).transpose(1, 2)
    return values
