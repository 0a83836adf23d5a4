"""A file is the old one or the new one, and as readable as any other of its owner."""

import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from acid_causal.files import write_atomically


@pytest.fixture(params=[0o022, 0o077, 0o002])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write_tensors(part: Path) -> None:
    save_file({"a": torch.zeros(2)}, part)


def test_writes_text_and_makes_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.txt"
    write_atomically(path, "größer\n")
    assert path.read_text(encoding="utf-8") == "größer\n"
    write_atomically(str(path), "other")
    assert path.read_text() == "other"
    assert [p.name for p in path.parent.iterdir()] == ["c.txt"]


@pytest.mark.parametrize("content", ["text", write_tensors, lambda part: part.write_bytes(b"b")])
def test_the_mode_follows_the_umask(
    tmp_path: Path, umask: int, content: str | Callable[[Path], None]
) -> None:
    path = tmp_path / "file"
    write_atomically(path, content)
    assert mode(path) == 0o666 & ~umask
    write_atomically(path, content)
    assert mode(path) == 0o666 & ~umask


def test_the_umask_is_never_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to the process: another thread's files would be anyone's to write."""
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask was changed"))
    write_atomically(tmp_path / "file", "text")
    assert (tmp_path / "file").exists()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: BaseException
) -> None:
    path = tmp_path / "file"
    write_atomically(path, "old")

    def fail(part: Path) -> None:
        part.write_text("half a fi")
        raise error

    with pytest.raises(type(error)):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(OSError, match="file"):
        write_atomically(tmp_path / "file" / "below", "new")
    assert (tmp_path / "file").read_text() == "old"


def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomically(tmp_path / "place", "new")
    assert [p.name for p in tmp_path.iterdir()] == ["place"]


def test_readers_and_writers_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    texts = [str(k) * 50_000 for k in range(4)]
    write_atomically(path, texts[0])

    def write(text: str) -> None:
        for _ in range(5):
            write_atomically(path, text)

    writers = [threading.Thread(target=write, args=(text,)) for text in texts]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(path.read_text())
    for writer in writers:
        writer.join()
    assert seen | {path.read_text()} <= set(texts)
    assert list(tmp_path.iterdir()) == [path]
