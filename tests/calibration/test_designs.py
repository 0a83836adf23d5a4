"""Designs: one set of terms and kinds for each number of covariates."""

import numpy as np
import pytest

from acid_causal.calibration.designs import CATEGORY_COVARIATES, DESIGNS, FEW_VALUED_COVARIATES

# Three questions about numbers, the others with a number of categories and one of few values.
PAIRS = np.array([(0, 0), (0, 0), (0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)], dtype=float)
D_Z = np.array([0.0, 1.0, 5.0, 0.0, 2.0, 0.0, 1.0, 3.0])


def covariates() -> np.ndarray:
    drawn = np.random.default_rng(0).uniform(0.1, 0.9, (len(PAIRS), FEW_VALUED_COVARIATES))
    drawn[:, 1] = np.log1p(D_Z)
    drawn[:, 7:9] = PAIRS
    return drawn


@pytest.mark.parametrize("count", sorted(DESIGNS))
def test_each_design_reads_its_own_covariates(count: int) -> None:
    design, known = DESIGNS[count], covariates()[:, :count]
    if count == FEW_VALUED_COVARIATES:
        known = known[3:]
    terms, kinds = design.terms(known), design.kind_of(known)
    assert terms.shape == (len(known), design.terms(known[:1]).shape[1])
    np.testing.assert_array_equal(terms[:, 0], 1)
    assert np.isfinite(terms).all()
    assert ((kinds >= 0) & (kinds < design.kinds)).all()


def test_kinds() -> None:
    known = covariates()
    of_numbers = DESIGNS[CATEGORY_COVARIATES].kind_of(known[:, :CATEGORY_COVARIATES])
    np.testing.assert_array_equal(of_numbers, [0, 1, 3, 0, 2, 5, 5, 6])
    known[2, 5] = 0.01  # near-linear
    of_numbers = DESIGNS[CATEGORY_COVARIATES].kind_of(known[:3, :CATEGORY_COVARIATES])
    np.testing.assert_array_equal(of_numbers, [0, 1, 4])
    of_few = DESIGNS[FEW_VALUED_COVARIATES].kind_of(known[3:])
    np.testing.assert_array_equal(of_few, [0, 3, 4, 7, 9])


def test_categories_do_not_change_the_terms_of_numbers() -> None:
    """So that a fit to both is one of each."""
    known = covariates()[:, :CATEGORY_COVARIATES]
    terms = DESIGNS[CATEGORY_COVARIATES].terms(known)
    numeric = DESIGNS[CATEGORY_COVARIATES - 1].terms(known[:, :-1])
    width = numeric.shape[1]
    np.testing.assert_array_equal(terms[:3, :width], numeric[:3])
    np.testing.assert_array_equal(terms[:3, width:], 0)
    np.testing.assert_array_equal(terms[5:, 1:width], 0)
