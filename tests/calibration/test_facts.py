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
    np.testing.assert_allclose(facts.ties_x, 1 / 40)
    assert not facts.are_few_valued.any()
    assert facts.explained_y[1] > 0.99 > 0.5 > facts.explained_y[0]


def test_covariates_are_symmetric_and_bounded() -> None:
    one, none = np.ones(3), np.zeros(3)
    ties = np.array([0.01, 0.5, 0.25])
    x = TargetFacts(np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.0, 0.5]), one, none, ties)
    y = TargetFacts(np.array([0.3, 0.2, 1.0]), np.array([0.2, 0.4, 1.0]), 2 * one, one, 0.5 * one)
    facts, swapped = Facts.of_targets(200, 0, x, y), Facts.of_targets(200, 0, y, x)
    np.testing.assert_array_equal(facts.covariates(), swapped.covariates())
    np.testing.assert_allclose(facts.covariates()[:, [0, 1]], 0)
    np.testing.assert_allclose(facts.covariates()[2, 2:4], [6.0, 9.0])  # 3 is the most of each
    np.testing.assert_allclose(facts.covariates()[:, 4], np.log(2))
    np.testing.assert_allclose(facts.covariates()[:, 5], [0.3, 0.4, 1.5])
    np.testing.assert_allclose(facts.covariates()[:, 6], [0.02, 0.0, 0.5])
    np.testing.assert_array_equal(facts.covariates()[:, 7], 1)
    np.testing.assert_array_equal(facts.covariates()[:, 8], [0, 1, 0])
    # Numbers of values; more than twenty count as twenty.
    np.testing.assert_allclose(np.exp(facts.covariates()[:, 9]), [40, 4, 8])
    np.testing.assert_allclose(facts.covariates()[:, 10], np.log(2) * np.log([20.0, 2.0, 4.0]))
    assert facts.are_few_valued.all()
    np.testing.assert_array_equal(facts.sizes().covariates()[:, [2, 3, 5, 6]], 0)


def test_numbers_of_few_values_are_known(tiny_model: TrainedModel) -> None:
    generator = torch.Generator().manual_seed(0)
    ranks = torch.rand(1, 4, 60, 1, generator=generator).argsort(dim=2)
    parts = torch.tensor([60, 2, 3, 4])[:, None, None]
    x = (ranks * parts // 60).float()
    with torch.no_grad():
        conditioning = tiny_model.network.encode_conditioning(torch.randn(1, 60, 0))
        facts = TargetFacts.of(tiny_model.network.encode_targets(x, conditioning))
    np.testing.assert_allclose(facts.ties, [1 / 60, 1 / 2, 1 / 3, 1 / 4])
    np.testing.assert_array_equal(facts.few_values, [0, 1, 1, 0])
