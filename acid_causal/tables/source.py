"""Reads a table's file: unpacks it, recognises its kind and decodes text."""

import bz2
import codecs
import errno
import gzip
import importlib
import io
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from acid_causal.errors import InputError, OptionError
from acid_causal.files import read_bytes

TEXT, PARQUET, EXCEL = "text", "parquet", "excel"

# The first bytes of packed files; names of files are not used.
_UNPACKERS: dict[bytes, Callable[[io.BytesIO], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_ZIP = b"PK\x03\x04"
_OTHERS = {
    b"(\xb5/\xfd": "it is packed by zstd; unpack it first",
    b"\xd0\xcf\x11\xe0": "it is a workbook of an old kind; save it as .xlsx or as .csv first",
}
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Assumed unless more than this share of the letters is not ASCII.
_WESTERN = "cp1252"
_WESTERN_SHARE = 0.4
_SAMPLE = 100_000


@dataclass(frozen=True)
class Source:
    """What a file holds.

    Attributes:
        kind: "text", "parquet" or "excel", by the content.
        content: the bytes, unpacked.
    """

    kind: str
    content: bytes


def read_source(path: Path, limit: int) -> Source:
    """Reads a file, and unpacks it if it was packed by gzip, bzip2, xz or zip.

    Args:
        path: the file.
        limit: the largest number of bytes, packed and unpacked.

    Raises:
        InputError: it cannot be read, is not a regular file, is too large, or of an unknown kind.
    """
    try:
        content = read_bytes(path, most=limit)
    except OSError as error:
        large = error.errno == errno.EFBIG
        raise too_large(path, "it is large", limit) if large else unreadable(path, error) from error
    for mark, unpacker in _UNPACKERS.items():
        if content.startswith(mark):
            with unpacker(io.BytesIO(content)) as file:
                content = _unpack(path, file, limit)
            break
    if content.startswith(_ZIP):
        return _attempt(path, lambda: _read_zip(path, content, limit))
    for mark, reason in _OTHERS.items():
        if content.startswith(mark):
            raise unreadable(path, reason)
    return Source(PARQUET if content.startswith(b"PAR1") else TEXT, content)


def unreadable(path: Path, reason: object) -> InputError:
    """Builds the error for a file that cannot be read, with the reason in one line."""
    if isinstance(reason, OSError) and reason.strerror:
        reason = reason.strerror
    elif isinstance(reason, Exception):
        text = " ".join(str(reason).split())[:200]
        reason = text or f"it seems to be damaged ({type(reason).__name__})"
    return InputError(f"cannot read the table {str(path)!r}: {reason}")


def too_large(path: Path, what: str, limit: int) -> InputError:
    """Builds the error for a table above the size limit."""
    return unreadable(
        path, f"{what}, more than the limit of {limit // 1_000_000:,} MB; raise it by --size-limit"
    )


def require_package(path: Path, package: str, advice: str = "") -> Any:
    """Imports a package that a file needs.

    Args:
        path: the file, for messages.
        package: name of the package.
        advice: what to do instead.

    Raises:
        InputError: it is not installed.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InputError(
            f"{str(path)!r} needs {package} to be read: pip install 'acid-causal[discover]'{advice}"
        ) from error


def _attempt(path: Path, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except InputError:
        raise
    except Exception as error:  # whatever a damaged file makes a library raise
        raise unreadable(path, error) from error


def _unpack(path: Path, file: Any, limit: int) -> bytes:
    content = _attempt(path, lambda: file.read(limit + 1))
    if len(content) > limit:
        raise too_large(path, "unpacked it is large", limit)
    return content


def _read_zip(path: Path, content: bytes, limit: int) -> Source:
    with ZipFile(io.BytesIO(content)) as archive:
        files = [entry for entry in archive.infolist() if not entry.is_dir()]
        if sum(entry.file_size for entry in files) > limit:
            raise too_large(path, "unpacked it is large", limit)
        names = [entry.filename for entry in files]
        if any(name.startswith("xl/") for name in names):
            if "xl/workbook.bin" in names:
                raise unreadable(path, "save it as .xlsx or as .csv first")
            return Source(EXCEL, content)
        if "content.xml" in names:
            raise unreadable(path, "save it as .xlsx or as .csv first")
        tables = [name for name in names if not name.startswith("__MACOSX/")]
        if len(tables) != 1:
            raise unreadable(path, f"it is an archive of {len(tables)} files; unpack one of them")
        with archive.open(tables[0]) as file:
            return Source(TEXT, _unpack(path, file, limit))


# ---- text --------------------------------------------------------------------------------------


def decode(path: Path, content: bytes, encoding: str | None) -> tuple[str, str | None]:
    """Decodes bytes to text.

    Args:
        path: for messages.
        content: the bytes.
        encoding: the encoding; None: UTF-8 if the bytes are valid, otherwise a guess.

    Returns:
        The text, and the encoding if it was guessed.

    Raises:
        InputError: the bytes are not text in this encoding.
        OptionError: there is no such encoding.
    """
    guessed = None
    if encoding is None:
        encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
        if encoding == "utf-8" and (guess := _guess(path, content)):
            encoding = guessed = guess
    try:
        text = content.decode(encoding)
    except LookupError as error:
        raise OptionError(f"unknown encoding {encoding!r}; known are utf-8, cp1252, ...") from error
    except UnicodeError as error:
        raise unreadable(path, f"it is not text in {encoding}; say --encoding NAME") from error
    if "\0" in text:
        raise unreadable(path, "it is no text; CSV, TSV, Parquet and Excel are read")
    return text.removeprefix("\ufeff"), guessed


def _guess(path: Path, content: bytes) -> str | None:
    """Guesses an encoding; returns None for UTF-8."""
    zeros = [content[start:_SAMPLE:2].count(0) for start in (0, 1)]
    if max(zeros) > 0.3 * len(content[:_SAMPLE:2]):
        return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    try:
        content.decode("utf-8")
        return None
    except UnicodeDecodeError:
        pass
    if 0 in content:
        return "latin-1"  # this always succeeds; `decode` then finds the zero and refuses it
    lines = b"\n".join(line for line in content.splitlines() if not line.isascii())[:_SAMPLE]
    foreign = sum(byte >= 128 for byte in lines)
    letters = foreign + sum(bytes([byte]).isalpha() for byte in lines)
    if foreign > _WESTERN_SHARE * letters:
        advice = "; or say --encoding NAME"
        best = require_package(path, "charset_normalizer", advice).from_bytes(lines).best()
        if best is not None:
            return best.encoding
    return _WESTERN
