"""Checks destinations: results never replace a command's inputs or the files of others."""

from collections.abc import Iterable
from pathlib import Path

from acid_causal.errors import OptionError
from acid_causal.files import check_writable, user_path


def claim_file(option: str, path: Path, *, read: Iterable[Path], overwrite: bool) -> Path:
    """Checks the destination of one file before the work begins; writes nothing.

    Args:
        option: the option that names the file, for messages.
        path: the file to write.
        read: files that the command reads.
        overwrite: whether an existing file may be replaced.

    Returns:
        The path, with `~` replaced by the home folder.

    Raises:
        OptionError: it is a folder, a file that the command reads, or an existing file and
            `overwrite` is false.
        WriteError: the folder cannot be written to.
    """
    path = user_path(path)
    if path.is_dir():
        raise OptionError(f"{option} must be a file, and {str(path)!r} is a folder")
    _refuse_read(option, [path], read)
    if path.exists() and not overwrite:
        raise OptionError(
            f"{option}: {str(path)!r} is there already; name another file, or pass --overwrite"
        )
    check_writable(path.parent)
    return path


def claim_folder(
    option: str, path: Path, names: Iterable[str], *, read: Iterable[Path], overwrite: bool
) -> Path:
    """Checks the destination of several files before the work begins; writes nothing.

    Args:
        option: the option that names the folder, for messages.
        path: the folder.
        names: names of the files to write into it.
        read: files that the command reads.
        overwrite: whether existing files of these names may be replaced.

    Returns:
        The path, with `~` replaced by the home folder.

    Raises:
        OptionError: it is a file; or one of the files to write is read by the command, or exists
            and `overwrite` is false.
        WriteError: the folder cannot be written to.
    """
    path = user_path(path)
    if path.exists() and not path.is_dir():
        raise OptionError(f"{option} must be a folder, and {str(path)!r} is a file")
    places = [path / name for name in names]
    _refuse_read(option, places, read)
    there = [place.name for place in places if place.exists()]
    if there and not overwrite:
        raise OptionError(
            f"{option}: {str(path)!r} holds {', '.join(there)}, which no earlier run has written; "
            "name another folder, or pass --overwrite"
        )
    check_writable(path)
    return path


def _refuse_read(option: str, places: Iterable[Path], read: Iterable[Path]) -> None:
    """Refuses to write over a file that the command reads, also through a link."""
    sources = [file for file in map(user_path, read) if file.exists()]
    for place in places:
        if place.exists() and any(place.samefile(source) for source in sources):
            raise OptionError(
                f"{option}: the result would be written over {str(place)!r}, which is read; name "
                "another place"
            )
