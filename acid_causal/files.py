"""Writing files so that a reader finds the old content or the new one, never a part."""

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from acid_causal.errors import OptionError, WriteError

# Whoever holds a lock reads and writes one file; after so long something is wrong with him.
_PATIENCE_SECONDS = 60.0


def user_path(path: Any) -> Path:
    """Reads a path as users give it: text, bytes or path-like, with `~` for the home folder.

    Raises:
        OptionError: It is nothing of the kind.
    """
    try:
        read = Path(os.fsdecode(path)).expanduser()
        if "\0" in str(read):
            raise ValueError("it holds a null character")
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: nobody of this name
        raise OptionError(f"a path was expected, not {path!r}: {error}") from error
    return read


def write_atomically(path: str | Path, content: str | bytes | Callable[[Path], object]) -> None:
    """Writes a temporary file beside `path`, then moves it into place.

    Args:
        path: The file; its folder is made if need be.
        content: The text, in UTF-8; the bytes; or a function that writes a file at the path it is
            given.

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


@contextmanager
def locked(path: str | Path) -> Iterator[None]:
    """Keeps everybody else who asks for it, in whatever process, from changing a file meanwhile.

    The lock is the file `.NAME.lock` beside it, which stays there: if it were removed, one process
    could hold the removed file and another a new one. The lock ends with its process, however that
    ends.

    Args:
        path: The file; its folder is made if need be.

    Raises:
        WriteError: The lock cannot be made, or somebody has held it for a minute.
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
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    # A result is as readable as any other file of its owner: the system applies the umask, which a
    # process could only read by setting it, for all of its threads.
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
        # Whoever closed a file to others, or opened it, meant it to stay so.
        temporary.chmod(stat.S_IMODE(path.stat().st_mode) if path.is_file() else mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
