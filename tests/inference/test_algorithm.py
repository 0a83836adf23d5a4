"""What computes a p-value is known by a number, so that saved ones of before are not served."""

import numpy as np
import pytest

from acid_causal.inference import tester
from acid_causal.inference.tester import Tester

# p-values of the algorithm of this number, by a shipped model. Where a change of the code moves
# them, raise `ALGORITHM` in acid_causal/inference/tester.py, and write the new ones here.
NUMBER = 7
QUESTIONS = [(0, 1, ()), (0, 2, ()), (0, 1, (2,)), (0, 3, (2,)), (1, 3, (0, 2, 4)), (4, 5, (0, 1))]
PVALUES = {
    "conditional": [0.78489, 1.4229e-06, 3.216e-05, 0.89581, 0.0043447, 0.40804],
    "sized": [0.93405, 9.8694e-06, 0.001409, 0.8509, 0.0077531, 0.3318],
    "pooled": [0.87995, 4.3236e-26, 6.5475e-08, 0.83592, 0.0021531, 0.52785],
    "permutation": [0.915, 0.005, 0.005, 0.87, 0.015, 0.27],
}


def test_the_number_is_that_of_these_answers() -> None:
    assert tester.ALGORITHM == NUMBER


@pytest.mark.filterwarnings("ignore::acid_causal.errors.AcidWarning")
@pytest.mark.parametrize("null", PVALUES)
def test_the_answers_are_those_of_this_number(table: np.ndarray, null: str) -> None:
    test = Tester(table, model="acid-mlp16", null=null)
    found = [result.pvalue for result in test.test_many(QUESTIONS)]
    np.testing.assert_allclose(found, PVALUES[null], rtol=1e-2)


def test_the_fingerprint_knows_the_number(
    table: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = Tester(table, model="acid-mlp16")
    before = test.fingerprint
    monkeypatch.setattr(tester, "ALGORITHM", NUMBER + 1)
    assert test.fingerprint != before
