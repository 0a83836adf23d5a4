"""Plain relations, independent and dependent given Z."""

import numpy as np
import pytest

from benchmarks.data.plain_cases import CASES, draw_case


@pytest.mark.parametrize("d_z", [1, 4])
@pytest.mark.parametrize("case", CASES)
def test_a_dataset_of_each_case(case: str, d_z: int) -> None:
    x, y, z = draw_case(case, 90, d_z, dependent=True, seed=0)
    assert z is not None
    assert (x.shape, y.shape, z.shape) == ((90, 1), (90, 1), (90, d_z))
    assert np.isfinite(np.hstack([x, y, z])).all()
    again = draw_case(case, 90, d_z, dependent=True, seed=0)
    np.testing.assert_array_equal(x, again[0])
    assert not np.array_equal(x, draw_case(case, 90, d_z, dependent=True, seed=1)[0])


@pytest.mark.parametrize(
    "case", ["linear", "clusters", "heavy-tailed Z", "volatility", "autoregression", "sum of parts"]
)
def test_partial_correlations_of_linear_cases_are_what_the_form_says(case: str) -> None:
    def partial(dependent: bool, seed: int) -> float:
        x, y, z = draw_case(case, 2000, 2, dependent=dependent, seed=seed)
        assert z is not None
        design = np.column_stack([np.ones(2000), z])
        left = np.hstack([x, y])
        left = left - design @ np.linalg.lstsq(design, left, rcond=None)[0]
        return float(np.corrcoef(left[:, 0], left[:, 1])[0, 1])

    independent = [abs(partial(False, seed)) for seed in range(10)]
    assert np.median(independent) < 0.06
    assert min(partial(True, seed) for seed in range(3)) > 0.4
