"""The skew-normal: its tail against high precision."""

import mpmath
import numpy as np
import pytest

from acid_causal.calibration.skew_normal import skew_normal_logsf


@pytest.mark.parametrize("shape", [-4.0, -1.0, 0.0, 1.0, 5.0])
@pytest.mark.parametrize("t", [-3.0, 0.0, 0.99, 1.0, 4.0, 12.0, 30.0])
def test_tail_is_exact(t: float, shape: float) -> None:
    with mpmath.workdps(30):
        pieces = [t + s for s in (0, 0.02, 0.1, 0.5, 2, 6, 40)]
        tail = mpmath.quad(lambda s: 2 * mpmath.npdf(s) * mpmath.ncdf(shape * s), pieces)
        expected = float(mpmath.log(tail))
    got = skew_normal_logsf(np.array([t]), np.array([shape]))[0]
    assert got == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_tail_falls_without_a_step() -> None:
    t = np.linspace(0.9, 1.1, 2001)
    for shape in (-5.0, 0.0, 5.0):
        steps = np.diff(skew_normal_logsf(t, np.full_like(t, shape)))
        assert (steps < 0).all()
        assert steps.max() / steps.min() > 0.5
