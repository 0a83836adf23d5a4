"""The checks of signatures are made on the first calls of each kind, and rarely after."""

from dataclasses import dataclass
from typing import Any

import pytest
import shape_checks
import torch
from beartype import beartype
from jaxtyping import Float, TypeCheckError
from torch import Tensor

from acid_causal.model.numerics import eigh

CHECKED: Any = shape_checks.jaxtyped(typechecker=beartype)


@CHECKED  # type: ignore[untyped-decorator]
def total(x: Float[Tensor, "n d"], y: Float[Tensor, "n d"]) -> float:
    return float(x.sum() + y.sum())


def test_a_wrong_shape_is_told() -> None:
    with pytest.raises(TypeCheckError):
        total(torch.zeros(3, 2), torch.zeros(4, 2))


@pytest.mark.parametrize("other", [torch.zeros(1, 2), torch.zeros(0, 2), torch.zeros(3)])
def test_each_kind_of_call_is_checked(other: Tensor) -> None:
    for _ in range(100):
        total(torch.zeros(3, 2), torch.zeros(3, 2))
    with pytest.raises(TypeCheckError):
        total(torch.zeros(3, 2), other)


def test_calls_alike_are_checked_less_and_less(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = []

    def counted(function: object, **_: object) -> object:
        def check(*arguments: object) -> None:
            checks.append(arguments[0])

        return check

    monkeypatch.setattr(shape_checks, "_check_every_call", counted)

    def ones(n: int) -> Float[Tensor, " n"]:
        return torch.ones(n)

    number = CHECKED(ones)
    for k in range(1, 101):
        number(k)
    assert checks == [1, 2, 3, 4, 8, 16, 32, 64]
    shape_checks.forget_calls()
    number(101)
    assert checks[-1] == 101


def test_of_a_function_called_very_often_some_calls_are_looked_at() -> None:
    def call(times: int, rows: int) -> None:
        for _ in range(times):
            total(torch.zeros(3, 2), torch.zeros(rows, 2))

    call(shape_checks.MANY, 3)
    with pytest.raises(TypeCheckError):
        call(shape_checks.EVERY, 1)


def test_a_signature_without_shapes_is_left_to_mypy() -> None:
    def total(parts: list[Tensor], scale: float | None) -> Tensor:
        return sum(parts) * scale  # type: ignore[operator, return-value]

    assert CHECKED(total) is total

    def largest(parts: tuple[Float[Tensor, " n"], ...] | None) -> float:
        return 0.0

    with pytest.raises(TypeCheckError):
        CHECKED(largest)((torch.zeros(2, 2),))


def test_the_fields_of_a_dataclass_are_checked() -> None:
    @CHECKED
    @dataclass(frozen=True)
    class Pair:
        x: Float[Tensor, " n"]
        y: Float[Tensor, " n"]

    Pair(torch.zeros(3), torch.zeros(3))
    with pytest.raises(TypeCheckError):
        Pair(torch.zeros(3), torch.zeros(4))


def test_the_package_is_checked() -> None:
    with pytest.raises(TypeCheckError):
        eigh(torch.zeros(1, 2, 3))
