"""The bytes of a table's file: packed or not, in any encoding, and never without bound."""

import bz2
import gzip
import io
import lzma
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from acid_causal.errors import InputError, OptionError
from acid_causal.tables.source import Source, decode, read_source

LIMIT = 10_000


def zipped(**files: bytes) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writer:
        for name, content in files.items():
            writer.writestr(name, content)
    return archive.getvalue()


PACKERS: list[Callable[[bytes], bytes]] = [
    bytes,
    gzip.compress,
    bz2.compress,
    lzma.compress,
    lambda content: zipped(a=content),
]


def source(folder: Path, content: bytes) -> Source:
    path = folder / "file"
    path.write_bytes(content)
    return read_source(path, LIMIT)


@pytest.mark.parametrize("pack", PACKERS)
def test_packed_files(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    assert source(tmp_path, pack(b"a,b\n1,2\n")) == Source("text", b"a,b\n1,2\n")
    with pytest.raises(InputError, match=r"file.*(limit|more than).*"):
        source(tmp_path, pack(b"1,2\n" * LIMIT))


@pytest.mark.parametrize("pack", PACKERS[1:])
def test_damaged_packed_files(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    whole = pack(bytes(range(200)) * 5)
    told = []
    for k in range(0, len(whole), 7):
        for content in (whole[:k], whole[:k] + bytes([whole[k] ^ 4]) + whole[k + 1 :]):
            try:
                source(tmp_path, content)
            except InputError as error:
                told.append(str(error))
    start = f"cannot read the table '{tmp_path / 'file'}': "
    assert told
    assert all(message.startswith(start) and "\n" not in message for message in told)


def test_kinds(tmp_path: Path) -> None:
    assert source(tmp_path, b"PAR1...").kind == "parquet"
    assert source(tmp_path, zipped(**{"xl/workbook.xml": b""})).kind == "excel"
    for content, message in (
        (zipped(**{"xl/workbook.bin": b""}), r"save it as \.xlsx or as \.csv"),
        (zipped(**{"content.xml": b""}), r"save it as \.xlsx or as \.csv"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", r"save it as \.xlsx or as \.csv"),
        (b"(\xb5/\xfd", "zstd; unpack it first"),
        (zipped(a=b"1", b=b"2"), "an archive of 2 files"),
    ):
        with pytest.raises(InputError, match=f"file.*{message}"):
            source(tmp_path, content)


def test_pipes_and_devices_never_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(InputError, match=f"{path}.*pipe or a device; write what comes out"):
            read_source(path, LIMIT)
    with pytest.raises(InputError, match="Is a directory"):
        read_source(tmp_path, LIMIT)
    with pytest.raises(InputError, match="No such file"):
        read_source(tmp_path / "none", LIMIT)


# ---- text ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "guess"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-16", None),
        ("utf-32", None),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("latin-1", "cp1252"),
        ("cp1252", "cp1252"),
    ],
)
def test_encodings(encoding: str, guess: str | None) -> None:
    text = "größe,año\n1,2\n"
    assert decode(Path("f"), text.encode(encoding), None) == (text, guess)
    assert decode(Path("f"), text.encode(encoding), encoding) == (text, None)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("возраст,доход,рост\n1,2\n", "cp1251"), ("年齢,収入\n1,2\n", "shift_jis")],
)
def test_encodings_of_other_alphabets(text: str, encoding: str) -> None:
    assert decode(Path("f"), text.encode(encoding), None)[0] == text


def test_a_guess_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    content = "возраст,доход\n1,2\n".encode("cp1251")
    with pytest.raises(InputError, match=r"'f' needs charset_normalizer.*; or say --encoding"):
        decode(Path("f"), content, None)
    assert decode(Path("f"), content, "cp1251") == ("возраст,доход\n1,2\n", None)
    assert decode(Path("f"), "größe\n1\n".encode("cp1252"), None) == ("größe\n1\n", "cp1252")


def test_what_is_no_text() -> None:
    with pytest.raises(InputError, match="'f': it is not text in ascii; say --encoding"):
        decode(Path("f"), "ö".encode(), "ascii")
    with pytest.raises(InputError, match="'f': it is no text"):
        decode(Path("f"), b"a\0b,c\0d" + b"x" * 100, None)
    for name in ("utf-88", "hex"):
        with pytest.raises(OptionError, match="unknown encoding"):
            decode(Path("f"), b"a", name)
