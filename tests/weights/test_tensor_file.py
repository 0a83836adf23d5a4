"""Files of tensors: what is not sound is refused, and before anything is allocated."""

import json
import os
import resource
import struct
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from acid_causal.errors import ModelError
from acid_causal.weights.tensor_file import open_tensors, read_tensors, save_tensors


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "some.safetensors"
    tensors = {"a": torch.arange(600.0).reshape(20, 30), "b.c": torch.tensor(2.5)}
    save_tensors(path, tensors, {"step": 7})
    return path


def raw_file(path: Path, header: object, content: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)
    return path


def metadata() -> dict[str, str]:
    return {"acid": json.dumps({"format": "acid-causal", "version": 1})}


def test_round_trip(saved: Path) -> None:
    tensors, header = read_tensors(saved)
    assert header["step"] == 7
    assert torch.equal(tensors["a"], torch.arange(600.0).reshape(20, 30))
    assert tensors["b.c"].item() == 2.5
    with open_tensors(saved) as file:
        assert file.shapes == {"a": (20, 30), "b.c": ()}


@pytest.mark.parametrize("cut", [0, 7, 100, 1000, -1])
def test_cut_short(saved: Path, cut: int) -> None:
    saved.write_bytes(saved.read_bytes()[:cut])
    with pytest.raises(ModelError, match="damaged"):
        read_tensors(saved)


def test_of_another_format(saved: Path, tmp_path: Path) -> None:
    save_file({"a": torch.ones(2)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelError, match="not a weights file"):
        read_tensors(tmp_path / "other.safetensors")
    torch.save({"a": torch.ones(2)}, saved)  # a pickle is not even looked into
    with pytest.raises(ModelError, match="not a weights file"):
        read_tensors(saved)


def test_of_another_version(saved: Path) -> None:
    tensors, header = read_tensors(saved)
    save_file(tensors, saved, metadata={"acid": json.dumps({**header, "version": 99})})
    with pytest.raises(ModelError, match="version 99"):
        read_tensors(saved)


def test_with_nan(saved: Path) -> None:
    tensors, header = read_tensors(saved)
    key = next(iter(tensors))
    tensors[key] = tensors[key] * float("nan")
    save_tensors(saved, tensors, header)
    with pytest.raises(ModelError, match="not finite"):
        read_tensors(saved)


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.complex64, torch.float64])
def test_of_another_type(saved: Path, dtype: torch.dtype) -> None:
    save_file({"a": torch.ones(2).to(dtype)}, saved, metadata=metadata())
    with pytest.raises(ModelError, match="the tensor a is of type"):
        read_tensors(saved)


def test_of_a_type_that_torch_barely_knows(saved: Path) -> None:
    save_file({"a": torch.ones(4).to(torch.float8_e4m3fn)}, saved, metadata=metadata())
    with pytest.raises(ModelError, match="F8_E4M3"):
        read_tensors(saved)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"null",
        b"[1]",
        b"[" * 1_000_000,
        b'{"__metadata__": null}',
        {"__metadata__": {"acid": 7}},
        {"__metadata__": {"acid": "[" * 100_000}},
        {"__metadata__": {"acid": "{}"}},
        {"__metadata__": metadata(), "a": {}},
        {"__metadata__": metadata(), "a": [1]},
        {"__metadata__": metadata(), "a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 0]}},
        {"__metadata__": metadata(), "a": {"dtype": "F32", "shape": 3, "data_offsets": [0, 0]}},
        {"__metadata__": metadata(), "a": {"dtype": "F32", "shape": [10**4000] * 90}},
        {"__metadata__": metadata(), "a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0]}},
        {"__metadata__": metadata(), "a": {"dtype": "F32", "shape": [0], "data_offsets": "x"}},
    ],
)
def test_odd_headers(tmp_path: Path, header: object) -> None:
    path = raw_file(tmp_path / "odd.safetensors", header)
    began = time.process_time()
    with pytest.raises(ModelError, match="damaged"):
        read_tensors(path)
    assert time.process_time() - began < 1


def test_a_header_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "long.safetensors"
    path.write_bytes(struct.pack("<Q", 2**32) + b"{" * 1000)
    os.truncate(path, 2**33)
    peak_and_seconds_of_refusal(path, "than the limit")


def test_a_tensor_of_gigabytes_is_not_read(tmp_path: Path, saved: Path) -> None:
    """A sparse file: beside ours lies one that nobody asked for."""
    tensors = {
        name: {"dtype": "F32", "shape": [size], "data_offsets": [start, start + 4 * size]}
        for name, size, start in (("a", 2, 0), ("huge", 2**29, 8))
    }
    path = raw_file(tmp_path / "huge.safetensors", {"__metadata__": metadata(), **tensors})
    os.truncate(path, path.stat().st_size + 8 + 2**31)
    with open_tensors(path) as file:
        peak_and_seconds_of_refusal(path, "unexpected tensors: huge", {"a": (2,)})
        assert file.shapes["huge"] == (2**29,)
    os.truncate(path, path.stat().st_size - 1)
    peak_and_seconds_of_refusal(path, "bytes")


def peak_and_seconds_of_refusal(
    path: Path, message: str, shapes: dict[str, tuple[int, ...]] | None = None
) -> None:
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(ModelError, match=message), open_tensors(path) as file:
        file.require(shapes or {})
    assert time.process_time() - began < 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"a": (20, 30)}, "unexpected tensors: b.c"),
        ({"a": (20, 30), "b.c": (), "d": (1,)}, "lacks the tensors d"),
        ({"a": (30, 20), "b.c": ()}, r"a of shape \(20, 30\), not \(30, 20\)"),
    ],
)
def test_other_tensors_than_required(
    saved: Path, shapes: dict[str, tuple[int, ...]], message: str
) -> None:
    with open_tensors(saved) as file, pytest.raises(ModelError, match=message):
        file.require(shapes)


def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.safetensors")
    with pytest.raises(ModelError, match="no weights file"):
        read_tensors(tmp_path / "pipe.safetensors")
    with pytest.raises(ModelError, match="no weights file"):
        read_tensors(tmp_path)


@pytest.mark.parametrize("place", [8, 40, -1, -300])
def test_a_flipped_bit(saved: Path, place: int) -> None:
    content = bytearray(saved.read_bytes())
    content[place] ^= 1
    saved.write_bytes(content)
    with pytest.raises(ModelError, match="damaged"):
        read_tensors(saved)


def test_values_beyond_all_measure(saved: Path) -> None:
    save_tensors(saved, {"a": torch.tensor([1.0, 1e30])}, {})
    with pytest.raises(ModelError, match="beyond 1e"):
        read_tensors(saved)
