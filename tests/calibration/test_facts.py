"""What the null is told of a question."""

import numpy as np
import torch

from acid_causal.calibration.facts import Facts, TargetFacts
from acid_causal.weights.checkpoint import TrainedModel


def test_facts_of_encodings_are_those_of_the_questions(tiny_model: TrainedModel) -> None:
    network = tiny_model.network
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(3, 40, 2, generator=generator)
    x = torch.randn(3, 1, 40, 1, generator=generator)
    y = torch.randn(3, 1, 40, 2, generator=generator)
    y[1, 0, :, 1] = z[1, :, 0]  # Z explains this component, and little of the other
    with torch.no_grad():
        conditioning = network.encode_conditioning(z)
        of_x, of_y = (network.encode_targets(v, conditioning) for v in (x, y))
    facts = Facts.of_encodings(of_x, of_y)
    np.testing.assert_array_equal(facts.n, [40.0] * 3)
    np.testing.assert_array_equal(facts.d_z, [2.0] * 3)
    np.testing.assert_array_equal(facts.pairs, [2.0] * 3)
    np.testing.assert_array_equal(facts.explained_x, TargetFacts.of(of_x).explained)
    np.testing.assert_array_equal(facts.nonlinear_x, 0.0)  # of a model of ranks
    assert facts.explained_y[1] > 0.99 > 0.5 > facts.explained_y[0]


def test_covariates_are_symmetric_and_bounded() -> None:
    one, none = np.ones(3), np.zeros(3)
    x = TargetFacts(np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.0, 0.5]), one, none)
    y = TargetFacts(np.array([0.3, 0.2, 1.0]), np.array([0.2, 0.4, 1.0]), 2 * one, one)
    facts, swapped = Facts.of_targets(200, 0, x, y), Facts.of_targets(200, 0, y, x)
    np.testing.assert_array_equal(facts.covariates(), swapped.covariates())
    np.testing.assert_allclose(facts.covariates()[:, [0, 1]], 0)
    np.testing.assert_allclose(facts.covariates()[2, 2:4], [6.0, 9.0])  # 3 is the most of each
    np.testing.assert_allclose(facts.covariates()[:, 4], np.log(2))
    np.testing.assert_allclose(facts.covariates()[:, 5], [0.3, 0.4, 1.5])
    np.testing.assert_allclose(facts.covariates()[:, 6], [0.02, 0.0, 0.5])
    np.testing.assert_array_equal(facts.covariates()[:, 7], 1)
    np.testing.assert_array_equal(facts.sizes().covariates()[:, [2, 3, 5, 6]], 0)
