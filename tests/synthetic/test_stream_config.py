"""What the stream is asked to draw must be something that can be drawn."""

import math
from dataclasses import replace
from typing import Any

import pytest

from acid_causal.errors import OptionError
from acid_causal.synthetic import Stream, StreamConfig

NAN = float("nan")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("entries", 0, "at least 1, not 0"),
        ("max_batch", 1, "at least 2, not 1"),
        ("n", (3, 10), r"two increasing numbers from 4 on, not \(3, 10\)"),
        ("n", (100, 50), "increasing"),
        ("d_z", (-1, 3), "from 0 on"),
        ("d_z", (3, 1), "increasing"),
        ("targets", (1, 4), "from 2 on"),
        ("noise_ratio", (0.0, 1.0), "two increasing positive numbers"),
        ("noise_ratio", (2.0, 1.0), "increasing"),
        ("noise_ratio", (0.1, math.inf), "increasing"),
        ("noise_ratio", (NAN, 1.0), "positive"),
        ("noise_ratio", (0.1, NAN), "increasing"),
        ("strength", (-0.5, 1.0), "positive"),
        ("six_models", -0.1, "a share between 0 and 1, not -0.1"),
        ("six_models", NAN, "share"),
        ("driven", 1.1, "share"),
        ("wide", 2.0, "share"),
        ("heteroscedastic", 1.5, "share"),
        ("measured", -1.0, "share"),
        ("long", 1.1, "share"),
        ("components", 1, "at least 2"),
    ],
)
def test_ranges(field: str, value: Any, message: str) -> None:
    with pytest.raises(OptionError, match=f"^{field} must be .*{message}"):
        replace(StreamConfig(), **{field: value})


def test_shares_sum_to_one_at_most() -> None:
    with pytest.raises(
        OptionError, match=r"six_models \+ driven \+ siblings must be at most 1, not 1.1"
    ):
        StreamConfig(six_models=0.6, driven=0.5)
    # In binary these are 1.0000000000000002 together.
    for six_models, driven in ((1.0, 0.0), (0.0, 1.0), (0.7, 0.3), (0.1 * 3 + 0.4, 0.3)):
        StreamConfig(six_models=six_models, driven=driven)


def test_unknown_mechanisms() -> None:
    with pytest.raises(OptionError, match="'mlp16'"):
        StreamConfig(mechanisms="mlp61")


def test_unknown_noises() -> None:
    with pytest.raises(OptionError, match="'heavy'"):
        StreamConfig(noises="heavi")


@pytest.mark.parametrize("six_models", [0.0, 1.0])
def test_the_bounds_themselves_can_be_drawn(six_models: float) -> None:
    config = StreamConfig(
        entries=1,
        n=(4, 4),
        d_z=(0, 0),
        targets=(2, 2),
        six_models=six_models,
        driven=0.0,
        mechanisms="linear",
        wide=0.0,
        noise_ratio=(0.5, 0.5),
        strength=(1.0, 1.0),
        heteroscedastic=0.0,
        max_batch=2,
    )
    batch = Stream(config, 0)[0]
    assert batch.x.shape == (2, 2, 4, 1)
    assert batch.z.shape == (2, 4, 0)
    assert batch.x.isfinite().all()
