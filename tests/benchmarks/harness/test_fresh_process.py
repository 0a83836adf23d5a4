import os
import sys

import numpy as np
import pytest

from benchmarks.harness.fresh_process import in_fresh_process, peak_bytes, reset_peak

MIB = 2**20


def measured(mib: int) -> tuple[int, float, float]:
    """Touches some memory, forgets it, and says what was seen of it before and after a reset."""
    reset_peak()
    start = peak_bytes()
    np.ones(mib * MIB // 8)
    grown = (peak_bytes() - start) / MIB
    reset_peak()
    return os.getpid(), grown, (peak_bytes() - start) / MIB


def fails() -> None:
    raise KeyError("inside")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a peak cannot begin anew")
def test_a_peak_is_seen_after_it_is_over_and_forgotten_by_a_reset() -> None:
    process, grown, left = in_fresh_process(measured, 300)
    assert process != os.getpid()
    assert 295 < grown < 320
    assert left < 20


def test_errors_come_through() -> None:
    with pytest.raises(KeyError, match="inside"):
        in_fresh_process(fails)
