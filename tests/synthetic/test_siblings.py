"""Two effects of the same causes."""

import numpy as np
import pytest
import torch

from acid_causal.synthetic.draws import seeded
from acid_causal.synthetic.mechanisms import families
from acid_causal.synthetic.noise import noises
from acid_causal.synthetic.sem import Domain
from acid_causal.synthetic.siblings import draw_siblings
from acid_causal.synthetic.stream import Stream, StreamConfig

LINEAR = Domain(families("linear"), noises("usual"))
ANY = Domain(families("all"), noises("wide"), measured=0.3)


@pytest.mark.parametrize("d_z", [0, 1, 4])
@pytest.mark.parametrize("d_x", [1, 3])
def test_shapes_and_values(d_z: int, d_x: int) -> None:
    label = torch.arange(12) % 2 == 1
    x, y, z = draw_siblings(label, 60, d_x, d_z, ANY, seeded("siblings", d_z, d_x))
    assert x.shape == y.shape == (12, 60, d_x)
    assert z.shape == (12, 60, d_z)
    assert all(torch.isfinite(v).all() for v in (x, y, z))


def test_labels_by_partial_correlations_of_linear_siblings() -> None:
    label = torch.arange(200) % 2 == 1
    x, y, z = (v.numpy() for v in draw_siblings(label, 400, 1, 2, LINEAR, seeded("linear", 3)))
    t = []
    for b in range(200):
        design = np.column_stack([np.ones(400), z[b]])
        left = np.hstack([x[b], y[b]])
        left = left - design @ np.linalg.lstsq(design, left, rcond=None)[0]
        t.append(abs(np.corrcoef(left.T)[0, 1]) * 20)
    seen, dependent = np.array(t) > 2, label.numpy()
    # Common volatility makes a few of the independent ones large.
    assert seen[~dependent].mean() < 0.2
    assert seen[dependent].mean() > 0.8


def test_the_stream_draws_its_share() -> None:
    config = StreamConfig(
        entries=4000, siblings=0.5, six_models=0.5, driven=0.0, wide=0.3, n=(20, 40), components=6
    )
    batches = [Stream(config, 0)[k] for k in range(40)]
    siblings = [batch for batch in batches if batch.source == "siblings"]
    assert 8 < len(siblings) < 32
    assert {batch.x.shape[3] for batch in siblings} <= set(range(1, 7))
    assert max(batch.x.shape[3] for batch in siblings) > 3
    assert all(batch.dependent[1, 0, 1] and not batch.dependent[0, 0, 1] for batch in siblings)


def test_some_siblings_have_the_same_function() -> None:
    label = torch.zeros(300, dtype=torch.bool)
    domain = Domain(families("gp"), noises("usual"))
    x, y, _ = draw_siblings(label, 300, 1, 1, domain, seeded("alike", 1))
    r = [np.corrcoef(a, b)[0, 1] for a, b in zip(x[..., 0].numpy(), y[..., 0].numpy(), strict=True)]
    # Other functions of one cause correlate as often negatively as positively.
    strong = np.array([value for value in r if abs(value) > 0.5])
    assert (strong > 0).sum() > 1.3 * (strong < 0).sum()
