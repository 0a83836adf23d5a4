"""A file is the old one or the new one, and as readable as any other of its owner."""

import multiprocessing
import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from full_disk import full_disk
from safetensors.torch import save_file

from acid_causal import files
from acid_causal.errors import WriteError
from acid_causal.files import check_writable, locked, write_atomically, write_folder


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


@pytest.mark.parametrize("kept", [0o600, 0o664, 0o444])
def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(kept)
    write_atomically(path, "new")
    assert (mode(path), path.read_text()) == (kept, "new")


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


# ---- real failures ---------------------------------------------------------------------


@pytest.mark.parametrize("content", ["x" * 5000, b"x" * 5000])
def test_a_full_disk(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "file"
    write_atomically(path, "old")
    too_large = pytest.raises(WriteError, match=r"cannot write '.*file': File too large; what was")
    with too_large, full_disk():
        write_atomically(path, content)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# ---- locks -----------------------------------------------------------------------------


def in_processes(work: Callable[[int], None], count: int) -> list[int | None]:
    """Runs something in some processes at once; returns their exit codes."""
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=work, args=(number,)) for number in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


def test_processes_and_threads_that_count_lose_no_step(tmp_path: Path) -> None:
    path = tmp_path / "count"
    write_atomically(path, "0")

    def count(_: int) -> None:
        for _ in range(20):
            with locked(path):
                write_atomically(path, str(int(path.read_text()) + 1))

    assert in_processes(count, 3) == [0, 0, 0]
    threads = [threading.Thread(target=count, args=(0,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "100"


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    def hold(_: int) -> None:
        with locked(tmp_path / "file"):
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_processes(hold, 1) == [-signal.SIGKILL]
    with locked(tmp_path / "file"):
        write_atomically(tmp_path / "file", "new")


def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_PATIENCE_SECONDS", 0.1)

    def wait(_: int) -> None:
        expected = pytest.raises(WriteError, match="another process has held the lock")
        with expected, locked(tmp_path / "file"):
            pass

    with locked(tmp_path / "file"):
        assert in_processes(wait, 1) == [0]


def test_a_lock_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(WriteError, match="cannot lock"), locked(tmp_path / "file" / "below"):
        pass


# ---- folders ---------------------------------------------------------------------------


def write_two(text: str) -> Callable[[Path], list[Path]]:
    def write(part: Path) -> list[Path]:
        for name in ("last", "other"):
            (part / name).write_text(text)
        return [part / "last", part / "other"]

    return write


def test_files_of_a_folder_come_together(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "folder"
    assert write_folder(folder, write_two("old"), last="last") == [
        folder / "last",
        folder / "other",
    ]
    (folder / "mine").write_text("mine")
    (folder / "other").chmod(0o600)
    write_folder(folder, write_two("new"), last="last")
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    assert texts == {"last": "new", "other": "new", "mine": "mine"}
    assert mode(folder / "other") == 0o600


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_files_or_no_folder(tmp_path: Path, error: BaseException) -> None:
    def fail(part: Path) -> list[Path]:
        write_two("new")(part)
        raise error

    folder = tmp_path / "deep" / "folder"
    with pytest.raises(type(error)):
        write_folder(folder, fail, last="last")
    assert list(tmp_path.iterdir()) == []
    write_folder(folder, write_two("old"), last="last")
    with pytest.raises(type(error)):
        write_folder(folder, fail, last="last")
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "last": "old",
        "other": "old",
    }


def test_a_folder_among_the_files(tmp_path: Path) -> None:
    write_folder(tmp_path, write_two("old"), last="last")
    (tmp_path / "other").unlink()
    (tmp_path / "other").mkdir()
    with pytest.raises(WriteError, match="'other' is a folder there"):
        write_folder(tmp_path, write_two("new"), last="last")
    assert (tmp_path / "last").read_text() == "old"


def test_the_last_file_says_that_all_belong_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path, write_two("old"), last="last")
    replace, moved = Path.replace, []

    def fail_second(part: Path, target: Path) -> Path:
        moved.append(target.name)
        if len(moved) == 2:
            raise OSError(5, "Input/output error")
        return replace(part, target)

    monkeypatch.setattr(Path, "replace", fail_second)
    with pytest.raises(WriteError):
        write_folder(tmp_path, write_two("new"), last="last")
    assert moved == ["other", "last"]
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_whether_a_folder_can_be_written_to(tmp_path: Path) -> None:
    check_writable(tmp_path / "new" / "er")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(WriteError, match="Not a directory"):
            check_writable(place)


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    def die(part: Path) -> list[Path]:
        (part / "half" if part.is_dir() else part).write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)
        return []

    def work(number: int) -> None:
        if number:
            write_folder(tmp_path, die, last="last")
        else:
            write_atomically(tmp_path / "file", die)

    assert in_processes(work, 2) == [-signal.SIGKILL] * 2
    assert len(list(tmp_path.iterdir())) == 2
    living = files._part(tmp_path / "file")
    living.write_text("half")  # of this process, which may still go on
    other = tmp_path / ".file.mine.part"
    other.write_text("mine")
    write_atomically(tmp_path / "file", "whole")
    write_folder(tmp_path, write_two("whole"), last="last")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"file", "last", "other", living.name, other.name}
