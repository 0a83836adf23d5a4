"""Tensor files: safetensors with a JSON header and a sha256 over both; no code is executed.

The header is the metadata entry "acid" and includes the version of the format. It is read first.
Shapes are compared with the size of the file, and by the caller with the expected shapes, before
any tensor is allocated.
"""

import hashlib
import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from acid_causal.errors import ModelError, Notices, listed
from acid_causal.files import write_atomically

Shapes = Mapping[str, tuple[int, ...]]

_FORMAT, _VERSION = "acid-causal", 1
# Headers of the shipped files have 17 to 194 KB; a much longer one is not valid and would take long
# to parse.
_MAX_HEADER_BYTES = 4 * 2**20
# Valid weights are below 10; a flipped bit in an exponent gives values up to 1e38.
_MAX_VALUE = 1e9
_DTYPE, _BYTES = "F32", 4
_MAX_AXES, _MAX_AXIS = 8, 2**40
# Tensors named in an error.
_MOST_NAMED = 3

_notices = Notices()


def save_tensors(path: str | Path, tensors: Mapping[str, Tensor], header: dict[str, Any]) -> None:
    """Writes tensors of real numbers and a header, atomically.

    Raises:
        WriteError: the file cannot be written; an old one stays as it was.
    """
    text = json.dumps({"format": _FORMAT, "version": _VERSION, **header})
    # Copies, because safetensors refuses tensors that share memory.
    own = {
        name: tensor.detach().to("cpu", torch.float32, copy=True).contiguous()
        for name, tensor in tensors.items()
    }
    metadata = {"acid": text, "sha256": _sha256(text, own)}
    write_atomically(path, safetensors.torch.save(own, metadata=metadata))


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Reads tensors and header; see `TensorFile.read`.

    Raises:
        ModelError: the file is missing or damaged, or not a weights file of this package.
    """
    with open_tensors(path) as file:
        return file.read(), file.header


@contextmanager
def open_tensors(path: str | Path) -> "Iterator[TensorFile]":
    """Opens a file and reads its header.

    Raises:
        ModelError: no such file, or not an intact weights file of this package and version.
    """
    shown = repr(str(path))
    try:
        file = open(path, "rb") if Path(path).is_file() else None  # noqa: SIM115
    except (OSError, TypeError) as error:  # a name too long, no permission, not a path
        raise ModelError(f"cannot read the weights file {shown}: {error}") from error
    if file is None:  # missing, or a pipe, a device or a folder
        raise ModelError(f"there is no weights file {shown}")
    with file:
        yield TensorFile(file, shown)


class TensorFile:
    """An open tensor file whose header has been read.

    Attributes:
        header: the header that was saved with the tensors.
        shapes: shapes of the tensors, by name.
    """

    def __init__(self, file: BinaryIO, shown: str) -> None:
        self._file, self._shown = file, shown
        self._size = os.fstat(file.fileno()).st_size
        try:
            table = self._read_header()
            if (version := self.header.get("version")) == _VERSION:
                self.shapes = self._read_shapes(table)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise self._damaged(error) from error
        if version != _VERSION:
            raise ModelError(
                f"{shown} is of format version {version!s:.20}; this package reads {_VERSION}"
            )

    def require(self, expected: Shapes) -> None:
        """Checks that the file holds tensors of these names and shapes, and no others.

        Raises:
            ModelError: it does not.
        """
        for odd, what in (
            (sorted(expected.keys() - self.shapes.keys()), "lacks the tensors"),
            (sorted(self.shapes.keys() - expected.keys()), "has unexpected tensors:"),
        ):
            if odd:
                raise ModelError(f"{self._shown} {what} {listed(odd, _MOST_NAMED)}")
        for name, shape in expected.items():
            if self.shapes[name] != shape:
                raise ModelError(
                    f"{self._shown} holds {name} of shape {self.shapes[name]}, not {shape}"
                )

    def read(self, file_sha256: str | None = None) -> dict[str, Tensor]:
        """Reads the tensors, and checks them against the sha256 in the file.

        Args:
            file_sha256: expected sha256 of the whole file, if known.

        Raises:
            ModelError: the file is damaged, or has values that are not finite or far too large.
        """
        try:
            self._file.seek(0)
            content = self._file.read(self._size)
            loaded = safetensors.torch.load(content)
        except (OSError, SafetensorError, ValueError, KeyError) as error:
            raise self._damaged(error) from error
        # Copies: the loaded tensors are views into the bytes of the file and may be unaligned.
        tensors = {name: tensor.clone() for name, tensor in loaded.items()}
        self._check_digests(content, tensors, file_sha256)
        for name, tensor in tensors.items():
            # The comparison is false for NaN, too.
            if not (tensor.abs() <= _MAX_VALUE).all():
                raise ModelError(
                    f"{self._shown} holds values that are not finite, or beyond "
                    f"{_MAX_VALUE:g}, in {name}"
                )
        return tensors

    def _read_header(self) -> dict[str, Any]:
        """Reads the header; returns safetensors' entries of the tensors."""
        (length,) = struct.unpack("<Q", self._file.read(8).ljust(8, b"\0"))
        self._start = 8 + length
        if not self._start <= min(self._size, _MAX_HEADER_BYTES):
            raise ValueError("its header is longer than the file, or than the limit")
        table = json.loads(self._file.read(length))
        metadata = table.pop("__metadata__")
        self._text, self._digest = metadata["acid"], metadata.get("sha256")
        self.header = json.loads(self._text)
        if not isinstance(self.header, dict) or self.header.get("format") != _FORMAT:
            raise ValueError("it has no header of acid-causal")
        return table

    def _read_shapes(self, table: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        """Reads the shapes of the tensors, and checks them against the size of the file."""
        shapes = {name: _shape(name, entry) for name, entry in table.items()}
        claimed = _BYTES * sum(map(math.prod, shapes.values()))
        if claimed != self._size - self._start:
            raise ValueError(
                f"its header announces {claimed} bytes of tensors, and {self._size - self._start} "
                "follow"
            )
        return shapes

    def _check_digests(
        self, content: bytes, tensors: Mapping[str, Tensor], file_sha256: str | None
    ) -> None:
        if file_sha256 is not None and hashlib.sha256(content).hexdigest() != file_sha256:
            raise self._damaged("its sha256 is not the one that the package was made with")
        if self._digest is not None:
            if self._digest != _sha256(self._text, tensors):
                raise self._damaged("its sha256 is not the one of its content")
        elif file_sha256 is None:
            _notices.warn(
                self._shown,
                f"{self._shown} was made before weights files held a sha256, so that damage to it "
                "may go unnoticed: load it and `save` it again once you trust it",
            )

    def _damaged(self, why: object) -> ModelError:
        return ModelError(
            f"{self._shown} is not a weights file of acid-causal, or is damaged: {why!s:.300}. "
            "Take it from its source again"
        )


def _shape(name: str, entry: Mapping[str, Any]) -> tuple[int, ...]:
    """Reads the shape of a tensor from its entry in the header of safetensors."""
    if entry["dtype"] != _DTYPE:
        raise ValueError(f"the tensor {name} is of type {entry['dtype']}, not {_DTYPE}")
    shape = tuple(entry["shape"])
    sound = all(type(size) is int and 0 <= size <= _MAX_AXIS for size in shape)
    if not sound or len(shape) > _MAX_AXES:
        raise ValueError(f"the tensor {name} has an invalid shape")
    return shape


def _sha256(text: str, tensors: Mapping[str, Tensor]) -> str:
    """Hashes the header, and the names, shapes and values of the tensors."""
    digest = hashlib.sha256(text.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(json.dumps([name, list(tensor.shape)]).encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
