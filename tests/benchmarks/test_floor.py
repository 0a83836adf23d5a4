"""The floor: products are counted exactly, and all the work that is listed runs."""

import pytest
import torch

from benchmarks import floor
from benchmarks.floor import measure, pieces, share_by_operator

CPU = torch.device("cpu")


def test_products_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floor, "REPEATS", 3)
    a, b = torch.randn(20, 30), torch.randn(30, 40)
    cost = measure(lambda: a @ b, CPU)
    assert cost.flops == 2 * 20 * 30 * 40
    assert cost.seconds > 0


def test_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floor, "REPEATS", 1)
    monkeypatch.setattr(floor, "RECIPES", {"acid-base": floor.RECIPES["acid-base"]})
    monkeypatch.setattr(floor, "TRAINING_SIZES", ((40, 1),))
    monkeypatch.setattr(floor, "TESTING_N", 40)
    found = dict(pieces(CPU, torch.float32))
    assert next(iter(found)) == "training, acid-base, n=40, |Z|=1"
    assert len(found) == 1 + 2 * len(floor.TESTING_D_Z)
    flops = {name: measure(run, CPU).flops for name, run in found.items()}
    assert flops["training, acid-base, n=40, |Z|=1"] > 10**8
    tests, encoders = list(flops.values())[1::2], list(flops.values())[2::2]
    assert tests == sorted(tests)  # more conditioning variables cost more
    assert all(0 < part < whole for part, whole in zip(encoders, tests, strict=True))
    assert "aten::" in share_by_operator(list(found.values())[1], CPU)


def test_recipes_are_there() -> None:
    assert all(path.is_file() for path in floor.RECIPES.values())
