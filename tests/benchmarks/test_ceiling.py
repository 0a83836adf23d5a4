"""The oracle knows the truth: dependent data fit it better than their twins, in every model."""

import numpy as np
import pytest

from acid_causal.synthetic.draws import seeded
from benchmarks.ceiling import _collider, _edge


@pytest.mark.parametrize("model", ["collider", "chain", "fork"])
def test_oracle_tells_dependent_data_from_their_twins(model: str) -> None:
    generator = seeded("test", "ceiling", model)
    draws = [
        _collider(60, 2, generator)
        if model == "collider"
        else _edge(60, 2, generator, fork=model == "fork")
        for _ in range(8)
    ]
    own, twin = np.asarray(draws).T
    assert np.isfinite(draws).all()
    # Expectations are Kullback-Leibler divergences: positive, and negative.
    assert own.mean() > 0 > twin.mean()
    assert (own > twin).mean() > 0.8
