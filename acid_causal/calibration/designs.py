"""Designs of null regressions: their terms, and the kinds of questions with tails of their own.

A design is known by its number of covariates: `Facts.covariates` returns all of them, and each
design uses the first so many.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from jaxtyping import Float, Int64
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Number of covariates of models that see only ranks; of others for numbers, for numbers and
# categories together, and for categories and numbers of few values alone.
RANK_COVARIATES, NUMERIC_COVARIATES, CATEGORY_COVARIATES, FEW_VALUED_COVARIATES = 5, 7, 8, 11
_NEAR_LINEAR_KIND, _ONE_CATEGORY_KIND = 4, 5
# Knots of the hinge terms: d_z, n, and the information of Z on X and Y together.
_D_Z_KNOTS = (4, 12)
_N_KNOT = 400
_INFORMATION_KNOTS = (0.15, 0.5, 1.2)
# Further knots in n, for models with `keeps_values`, which are fitted to larger samples.
_LARGE_N_KNOTS = (2000, 8000)
# Below this sum of nonlinear shares a question with d_z >= 2 counts as linear, a kind of its own.
_NEAR_LINEAR = 0.05
# Questions of few values, by the number of categories among X and Y and that of numbers of few
# values.
_PAIRS_OF_KINDS = ((0, 1), (0, 2), (1, 0), (1, 1), (2, 0))

Covariates = Float[Array, "m covariates"]
Kinds = Int64[NDArray[np.int64], " m"]


@dataclass(frozen=True)
class Design:
    """What a null regression makes of its covariates.

    Attributes:
        terms: of location, log scale and raw shape, from the covariates.
        kinds: number of kinds of questions; each has its own tail maps.
        kind_of: the kind of each question.
    """

    terms: Callable[[Covariates], Float[Array, "m terms"]]
    kinds: int
    kind_of: Callable[[Covariates], Kinds]


def _all_alike(covariates: Covariates) -> Kinds:
    return np.zeros(len(covariates), dtype=np.int64)


def _numeric_kinds(covariates: Covariates) -> Kinds:
    """Returns the kind of each question about numbers.

    0: d_z = 0. 1: d_z = 1. 2: d_z = 2 or 3. 3: d_z of 4 and more. 4: d_z of 2 and more and
    near-linear in Z.
    """
    log_size, nonlinear = covariates[:, 1], covariates[:, 5]
    kinds = np.searchsorted(np.log1p([0.5, 1.5, 3.5]), log_size)
    return np.where((kinds >= 2) & (nonlinear < _NEAR_LINEAR), _NEAR_LINEAR_KIND, kinds)


def _kinds_with_categories(covariates: Covariates) -> Kinds:
    """Does the same where X or Y is a category, kind 5, or both are, kind 6."""
    categories = covariates[:, NUMERIC_COVARIATES].astype(np.int64)
    kinds = _numeric_kinds(covariates)
    return np.where(categories > 0, _ONE_CATEGORY_KIND - 1 + categories, kinds)


def _few_valued_kinds(covariates: Covariates) -> Kinds:
    """Returns the place of each question in `_PAIRS_OF_KINDS`, twice, plus 1 if there is a Z."""
    kinds = covariates[:, None, NUMERIC_COVARIATES : NUMERIC_COVARIATES + 2]
    return 2 * (kinds == _PAIRS_OF_KINDS).all(axis=2).argmax(axis=1) + (covariates[:, 1] > 0)


def _terms_with_categories(covariates: Covariates) -> Float[Array, "m terms"]:
    """Builds all terms a second time, for questions with categories alone.

    A few terms more say how these differ if both variables are categories.
    """
    terms = _numeric_terms(covariates)
    categories = covariates[:, NUMERIC_COVARIATES, None]
    mixed, sizes = categories > 0, _size_terms(covariates)
    return np.hstack(
        [terms[:, :1], terms[:, 1:] * ~mixed, terms * mixed, sizes * (categories == 2)]
    )


def _few_valued_terms(covariates: Covariates) -> Float[Array, "m terms"]:
    """Builds the terms of questions with a category or a number of few values.

    Beside those of numbers, there are terms of how many values X and Y have, and of how each pair
    of kinds differs from that of two categories.
    """
    values, product = covariates[:, NUMERIC_COVARIATES + 2 :].T
    log_n, log_size = covariates[:, :2].T
    none = np.isclose(log_size, 0.0)
    of_values = [values, product, values * log_n, product * log_n, values * none, values * log_size]
    pair = _few_valued_kinds(covariates) // 2
    sizes = np.column_stack([_size_terms(covariates), values, product, none])
    of_pairs = [sizes * (pair == k)[:, None] for k in range(len(_PAIRS_OF_KINDS) - 1)]
    return np.hstack([_numeric_terms(covariates), np.column_stack(of_values), *of_pairs])


def _size_terms(covariates: Covariates) -> Float[Array, "m 5"]:
    log_n, log_size, total, _, pairs = covariates[:, :RANK_COVARIATES].T
    return np.column_stack([np.ones_like(pairs), log_n, log_size, total, pairs])


def _numeric_terms(covariates: Covariates) -> Float[Array, "m terms"]:
    """Builds the terms of numbers: intercept, covariates, products, indicators and hinges.

    - Products: all pairs of the first four covariates.
    - Indicators of d_z = 0 and d_z = 1. Without Z nothing is regressed, and in one dimension the
      smoothers fit much better than in several.
    - Hinges in d_z: little can be learned about a set that is large relative to the sample.
    - Hinges in n: a smoother's rank is fixed, so its bias shows in large samples.
    - Hinges in information: the smoothers' bias is largest where Z explains a moderate share.
    - For models with `keeps_values` also the nonlinear shares: linear relations leave no bias.
    """
    nonlinearity = covariates[:, RANK_COVARIATES:NUMERIC_COVARIATES]
    covariates = covariates[:, :RANK_COVARIATES]
    m, _ = covariates.shape
    log_n, log_size, total, product, pairs = covariates.T
    products = [covariates[:, i] * covariates[:, j] for i in range(4) for j in range(i, 4)]
    none = np.isclose(log_size, 0.0)
    one = np.isclose(log_size, np.log(2.0))
    indicators = [none, none * log_n, one, one * log_n, one * total]
    hinges = [
        hinge * term
        for hinge in (np.maximum(0, log_size - np.log1p(d_z)) for d_z in _D_Z_KNOTS)
        for term in (1.0, log_n, total, product)
    ]
    large = np.maximum(0, log_n - np.log(_N_KNOT / 200))
    hinges += [large * term for term in (1.0, log_size, total, product, none)]
    hinges += [
        hinge * term
        for hinge in (np.maximum(0, total - knot) for knot in _INFORMATION_KNOTS)
        for term in (1.0, log_n, log_size)
    ]
    if nonlinearity.shape[1]:
        nonlinear_sum, nonlinear_product = nonlinearity.T
        larger = [np.maximum(0, log_n - np.log(n / 200)) for n in _LARGE_N_KNOTS]
        hinges += [hinge * term for hinge in larger for term in (1.0, total, product, none)]
        hinges += [
            term * other
            for term in (nonlinear_sum, nonlinear_product)
            for other in (1.0, log_n, log_size, total, product, large)
        ]
        hinges += [pairs * term for term in (pairs, log_n, log_size, total)]
    return np.column_stack([np.ones(m), covariates, *products, log_n**3, *indicators, *hinges])


DESIGNS: Mapping[int, Design] = MappingProxyType(
    {
        RANK_COVARIATES: Design(_numeric_terms, 1, _all_alike),
        NUMERIC_COVARIATES: Design(_numeric_terms, 5, _numeric_kinds),
        CATEGORY_COVARIATES: Design(_terms_with_categories, 7, _kinds_with_categories),
        FEW_VALUED_COVARIATES: Design(
            _few_valued_terms, 2 * len(_PAIRS_OF_KINDS), _few_valued_kinds
        ),
    }
)
