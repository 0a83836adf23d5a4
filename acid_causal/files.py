"""Writing files so that a reader finds the old content or the new one, never a part."""

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path


def write_atomically(path: str | Path, content: str | Callable[[Path], object]) -> None:
    """Writes a temporary file beside `path`, then moves it into place.

    Args:
        path: The file; its folder is made if need be.
        content: The text, or a function that writes a file at the path it is given.

    Raises:
        OSError: the disk is full or the folder not writable; an old file at `path` stays whole.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    # A result is as readable as any other file of its owner: the system applies the umask, which a
    # process could only read by setting it, for all of its threads.
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    os.close(handle)
    try:
        if isinstance(content, str):
            temporary.write_text(content, encoding="utf-8")
        else:
            content(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.chmod(mode)  # safetensors makes the file anew, and private
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
