"""What a test answers: read as scipy's results are, and compared with a level."""

from typing import Any

import pytest

from acid_causal.errors import OptionError
from acid_causal.inference.result import CITestResult, independent_result


def test_a_result_is_read_as_those_of_scipy() -> None:
    statistic, pvalue = CITestResult(1.5, 0.04, -3.2, 0.8, 100)
    assert (statistic, pvalue) == (1.5, 0.04)


@pytest.mark.usefixtures("wrong_types")
def test_a_level_rejects_or_does_not() -> None:
    result = CITestResult(1.5, 0.04, -3.2, 0.8, 100)
    assert result.reject()
    assert result.reject(0.04)  # as causal-learn, which keeps an edge at p = alpha
    assert not result.reject(0.01)
    assert not independent_result(100).reject(0.999)
    assert not hasattr(result, "independent")  # which would be true of all results
    wrong: list[Any] = [0.0, 1.0, 5.0, float("nan"), "0.05", None]
    for alpha in wrong:
        with pytest.raises(OptionError, match="alpha must be between 0 and 1"):
            result.reject(alpha)
