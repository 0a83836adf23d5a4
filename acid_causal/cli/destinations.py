"""Where results may go: never over what a command reads, nor over what others made."""

from collections.abc import Iterable
from pathlib import Path

from acid_causal.errors import OptionError
from acid_causal.files import check_writable, user_path


def claim_file(option: str, path: Path, *, read: Iterable[Path], overwrite: bool) -> Path:
    """Checks the place of one file before the work begins; writes nothing.

    Args:
        option: what named the file, for messages.
        path: the file to write.
        read: files that the command reads.
        overwrite: whether the user said that a file there may go.

    Returns:
        The path, with `~` for the home folder read.

    Raises:
        OptionError: a folder is there, a file that is read, or any file without `overwrite`.
        WriteError: the place cannot be written to.
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
    """Checks the place of several files before the work begins; writes nothing.

    Args:
        option: what named the folder, for messages.
        path: the folder.
        names: of the files to write into it.
        read: files that the command reads.
        overwrite: whether files of these names may go, by the user's word or because an earlier run
            wrote them.

    Returns:
        The path, with `~` for the home folder read.

    Raises:
        OptionError: a file is in the place of the folder; the folder holds a file that is read, or
            one of these names without `overwrite`.
        WriteError: the place cannot be written to.
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
    """Refuses to write over a file that is read, by whatever name or link."""
    sources = [file for file in map(user_path, read) if file.exists()]
    for place in places:
        if place.exists() and any(place.samefile(source) for source in sources):
            raise OptionError(
                f"{option}: the result would be written over {str(place)!r}, which is read; name "
                "another place"
            )
