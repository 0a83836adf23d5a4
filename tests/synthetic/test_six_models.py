"""The six models: their classes by d-separation, and the data by what regression finds in them."""

import networkx as nx
import numpy as np
import pytest
import torch

from acid_causal.synthetic.draws import seeded
from acid_causal.synthetic.mechanisms import linear
from acid_causal.synthetic.noise import gaussian
from acid_causal.synthetic.sem import Domain
from acid_causal.synthetic.six_models import (
    DEPENDENT,
    DEPENDENT_PAIR,
    INDEPENDENT,
    INDEPENDENT_PAIR,
    Model,
    draw_six_models,
)

LINEAR = Domain({"linear": linear}, {"gaussian": gaussian}, (1.0, 1.0), (1.0, 1.0), 0.0)


@pytest.mark.parametrize(
    ("models", "separated"),
    [(INDEPENDENT, True), (INDEPENDENT_PAIR, True), (DEPENDENT, False), (DEPENDENT_PAIR, False)],
)
def test_classes_are_those_of_d_separation(models: tuple[Model, ...], separated: bool) -> None:
    for model in models:
        graph = nx.DiGraph()
        graph.add_nodes_from(model)
        graph.add_edges_from(
            (cause, effect) for effect, causes in model.items() for cause in causes
        )
        assert nx.is_directed_acyclic_graph(graph)
        assert nx.is_d_separator(graph, {"x"}, {"y"}, set(graph) & {"z"}) == separated


@pytest.mark.parametrize("d_z", [0, 1, 4])
def test_linear_links_show_in_partial_correlations(d_z: int) -> None:
    """With linear links and n = 2000 the partial correlation tells the classes apart."""
    label = torch.arange(200) % 2 == 1
    x, y, z = draw_six_models(label, 2000, 1, d_z, LINEAR, seeded("linear", d_z))
    assert x.shape == y.shape == (200, 2000, 1)
    assert z.shape == (200, 2000, d_z)
    fisher = np.empty(200)
    for k in range(200):
        design = np.hstack([np.ones((2000, 1)), z[k].numpy()])
        residual = [
            v[k, :, 0].numpy() - design @ np.linalg.lstsq(design, v[k, :, 0].numpy(), rcond=None)[0]
            for v in (x, y)
        ]
        fisher[k] = np.arctanh(np.corrcoef(*residual)[0, 1]) * np.sqrt(2000 - d_z - 3)
    rejected = np.abs(fisher) > 1.96
    # 100 datasets a class: the binomial bound of 5 % at 1 in 10,000, and power near 1.
    assert rejected[label.numpy() == 0].mean() <= 0.14
    assert rejected[label.numpy() == 1].mean() >= 0.9


def test_an_edge_weighs_the_same_however_large_z_is() -> None:
    """Of Y's signal X gives half, whether Z has one component or ten."""
    shares = []
    for d_z in (1, 10):
        label = torch.ones(300, dtype=torch.bool)
        x, y, z = draw_six_models(label, 500, 1, d_z, LINEAR, seeded("share", d_z))
        design = torch.cat([x, z], dim=2)
        weights = torch.linalg.lstsq(design, y).solution[:, 0, 0]
        shares.append(float(weights.abs().median()))
    assert shares[1] > 0.6 * shares[0]


def test_several_components() -> None:
    x, y, z = draw_six_models(torch.tensor([False, True]), 50, 3, 2, Domain(), seeded("components"))
    assert x.shape == y.shape == (2, 50, 3)
    assert z.shape == (2, 50, 2)
    assert torch.cat([x, y, z], dim=2).std(dim=1).sub(1).abs().max() < 0.6
