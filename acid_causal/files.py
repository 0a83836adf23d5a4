"""Writing files so that a reader finds the old content or the new one, never a part."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def write_atomically(path: str | Path, content: str | Callable[[Path], None]) -> None:
    """Writes a temporary file beside `path`, then moves it into place.

    Args:
        path: The file; its folder is made if need be.
        content: The text, or a function that writes a file at the path it is given.

    Raises:
        OSError: the disk is full or the folder not writable; an old file at `path` stays whole.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        if isinstance(content, str):
            temporary.write_text(content, encoding="utf-8")
        else:
            content(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        # mkstemp makes private files; a result is as readable as any other file of its owner.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
