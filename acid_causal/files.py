"""Reads files with a size limit, and writes files atomically."""

import errno
import glob
import hashlib
import os
import re
import secrets
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from filelock import FileLock

from acid_causal.errors import OptionError, WriteError

# A lock is held while one file is read and written; a longer wait means that something is wrong.
_PATIENCE_SECONDS = 60.0


def user_path(path: Any) -> Path:
    """Reads a path from a user: text, bytes or path-like, with `~` for the home folder.

    Raises:
        OptionError: It is not a path.
    """
    try:
        read = Path(os.fsdecode(path)).expanduser()
        if "\0" in str(read):
            raise ValueError("it holds a null character")
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: unknown user after ~
        raise OptionError(f"a path was expected, not {path!r}: {error}") from error
    return read


def read_bytes(path: str | Path, *, most: int) -> bytes:
    """Reads a whole regular file; pipes and devices are refused, as they may never end.

    Args:
        path: The file.
        most: The largest number of bytes.

    Raises:
        OSError: It cannot be read, is not a regular file, or is larger; `strerror` says why.
    """

    def without_waiting(name: str, flags: int) -> int:
        # Otherwise `open` waits for ever on a pipe that nobody writes to.
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    with open(user_path(path), "rb", opener=without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            reason = "it is a pipe or a device; write what comes out of it to a file first"
            raise OSError(errno.EINVAL, reason)
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it holds more than {most:,} bytes")
    return content


def write_atomically(path: str | Path, content: str | bytes | Callable[[Path], object]) -> None:
    """Writes a temporary file beside `path`, then moves it into place.

    Args:
        path: The file; its folder is created if needed.
        content: Text, written in UTF-8; bytes; or a function that writes a file at a given path.

    Raises:
        WriteError: The disk is full or the folder not writable; an old file at `path` stays whole.
    """
    path = user_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_and_move(path, content)
    except OSError as error:
        raise WriteError(
            f"cannot write {str(path)!r}: {error.strerror or error}; what was there before is whole"
        ) from error


def write_folder(
    path: str | Path, write: Callable[[Path], Iterable[Path]], *, last: str
) -> list[Path]:
    """Writes a set of files, and replaces an earlier set as a whole.

    The files are written to a temporary folder inside `path` and moved when all are complete. The
    old file named `last` is removed first, and the new one is moved last. So where it exists, all
    files are of one set.

    Args:
        path: The folder, created if needed. Other files in it stay.
        write: Writes the files into a given folder, and returns them.
        last: Name of one of the files.

    Returns:
        The files at their destination, in the order of `write`.

    Raises:
        WriteError: The disk is full or the folder not writable; the old files stay whole.
    """
    path = user_path(path)
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    part = _part(path / "folder")
    done = False
    try:
        path.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path / "folder")
        part.mkdir()
        names = [file.name for file in write(part)]
        _move(part, path, names, last)
        done = True
    except OSError as error:
        raise WriteError(
            f"cannot write to the folder {str(path)!r}: {error.strerror or error}"
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
        for folder in [] if done else missing:
            with suppress(OSError):
                folder.rmdir()
    return [path / name for name in names]


def check_writable(folder: str | Path) -> None:
    """Checks that a folder can be written to, or created; leaves nothing behind.

    Raises:
        WriteError: It cannot.
    """
    folder = user_path(folder)
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise WriteError(
            f"cannot write to the folder {str(folder)!r}: {error.strerror or error} "
            f"({str(there)!r})"
        ) from error


@contextmanager
def locked(path: str | Path) -> Iterator[None]:
    """Holds the lock of a file; other threads and processes that ask for it wait.

    The lock is a file `.NAME.lock` beside it. It is not removed afterwards: otherwise one process
    could lock the removed file and another one a new file. The system releases the lock when its
    process ends, even if it is killed.

    Args:
        path: The file; its folder is created if needed.

    Raises:
        WriteError: The lock cannot be created, or another process has held it for a minute.
    """
    path = user_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=_PATIENCE_SECONDS)
        lock.acquire()
    except TimeoutError as error:
        raise WriteError(
            f"another process has held the lock of {str(path)!r} for {_PATIENCE_SECONDS:.0f} s"
        ) from error
    except OSError as error:
        raise WriteError(f"cannot lock {str(path)!r}: {error.strerror or error}") from error
    try:
        yield
    finally:
        lock.release()


def _write_and_move(path: Path, content: str | bytes | Callable[[Path], object]) -> None:
    _remove_leftovers(path)
    temporary = _part(path)
    # os.open applies the umask, so the file gets the usual permissions. A process cannot read its
    # umask without setting it, which would affect its other threads.
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    os.close(handle)
    try:
        if isinstance(content, str):
            temporary.write_text(content, encoding="utf-8")
        elif isinstance(content, bytes):
            temporary.write_bytes(content)
        else:
            content(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.chmod(_mode(path, mode))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _move(part: Path, path: Path, names: list[str], last: str) -> None:
    for name in names:
        if (path / name).is_dir():
            raise IsADirectoryError(None, f"{name!r} is a folder there")
        (part / name).chmod(_mode(path / name, stat.S_IMODE((part / name).stat().st_mode)))
    (path / last).unlink(missing_ok=True)
    for name in sorted(names, key=last.__eq__):
        (part / name).replace(path / name)


def _mode(path: Path, otherwise: int) -> int:
    """Returns the mode of the file that is replaced, if there is one, to keep its permissions."""
    return stat.S_IMODE(path.stat().st_mode) if path.is_file() else otherwise


# ---- temporary files and folders ---------------------------------------------------------------

_HOST = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _part(path: Path) -> Path:
    """Returns a temporary path beside `path`, with a name for this machine and process."""
    return path.with_name(f"{_prefix(path)}{_HOST}-{os.getpid()}.{secrets.token_hex(4)}.part")


def _prefix(path: Path) -> str:
    return f".{path.name[:100]}."


@lru_cache(1000)
def _remove_leftovers(path: Path) -> None:
    """Removes temporary files that killed processes of this machine have left beside `path`."""
    for part in path.parent.glob(f"{glob.escape(_prefix(path))}{_HOST}-*.part"):
        pid = re.match(r"\d+", part.name.removeprefix(f"{_prefix(path)}{_HOST}-"))
        if pid is None or _is_running(int(pid[0])):
            continue
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            with suppress(OSError):
                part.unlink()


def _is_running(pid: int) -> bool:
    if os.name == "nt":  # Windows has no signal 0, so assume that it runs
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it runs as another user
        return True
    return True
