"""Devices as users name them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from acid_causal.compute.device import resolve_device, same_device
from acid_causal.errors import OptionError


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes torch report a number of GPUs."""

    def report(count: int) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)

    return report


@pytest.mark.parametrize(
    ("count", "name", "expected"),
    [
        (0, "auto", "cpu"),
        (2, "auto", "cuda"),
        (0, "cpu", "cpu"),
        (2, "cpu", "cpu"),
        (0, torch.device("cpu"), "cpu"),
        (2, "cuda", "cuda"),
        (2, "cuda:1", "cuda:1"),
        (2, torch.device("cuda", 0), "cuda:0"),
    ],
)
def test_devices(
    gpus: Callable[[int], None], count: int, name: str | torch.device, expected: str
) -> None:
    gpus(count)
    assert resolve_device(name) == torch.device(expected)


@pytest.mark.parametrize("name", [None, 5, 0, True, b"cpu", ["cpu"]])
def test_what_is_no_name(gpus: Callable[[int], None], name: Any) -> None:
    gpus(8)
    with pytest.raises(
        OptionError, match=r"must be a name or a torch\.device, not .*'auto', 'cpu'"
    ):
        resolve_device(name)


@pytest.mark.parametrize("name", ["", "gpu", "CPU", "cuda:", "cuda:-1", "cuda:x", "cudaa"])
def test_names_of_no_device(gpus: Callable[[int], None], name: str) -> None:
    gpus(8)
    with pytest.raises(OptionError, match=f"no such device: '{name}'; use 'auto'"):
        resolve_device(name)


@pytest.mark.parametrize("name", ["mps", "meta", "xla", "xpu:0", torch.device("meta")])
def test_devices_of_other_types(gpus: Callable[[int], None], name: str | torch.device) -> None:
    gpus(8)
    with pytest.raises(OptionError, match=f"'{name}' is not supported; use 'auto'"):
        resolve_device(name)


@pytest.mark.parametrize("name", ["cuda", "cuda:0", torch.device("cuda")])
def test_no_gpu(gpus: Callable[[int], None], name: str | torch.device) -> None:
    gpus(0)
    with pytest.raises(OptionError, match=f"device='{name}'.*finds no GPU.*'auto'"):
        resolve_device(name)


@pytest.mark.parametrize("name", ["cuda:2", "cuda:7", torch.device("cuda:7")])
def test_too_few_gpus(gpus: Callable[[int], None], name: str | torch.device) -> None:
    gpus(2)
    with pytest.raises(OptionError, match=f"device='{name}'.*there are 2 GPUs"):
        resolve_device(name)


def test_one_device_may_have_two_names() -> None:
    assert same_device(torch.device("cuda"), torch.device("cuda:0"))
    assert not same_device(torch.device("cuda:1"), torch.device("cuda:0"))
    assert not same_device(torch.device("cpu"), torch.device("cuda"))
