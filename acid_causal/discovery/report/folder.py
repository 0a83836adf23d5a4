"""Writes the folder of results: report, pictures, and the graph for other programs."""

from dataclasses import replace
from pathlib import Path

from acid_causal.discovery.discovery import Discovery
from acid_causal.discovery.report.file_names import FILES, REPORT, holds_results
from acid_causal.discovery.report.graph_files import write_graph_files
from acid_causal.discovery.report.graph_picture import to_svg, write_png
from acid_causal.discovery.report.html import write_report
from acid_causal.errors import OptionError, listed
from acid_causal.files import write_atomically, write_folder


def write_results(
    found: Discovery, folder: Path, *, title: str, data: bool = True, overwrite: bool = False
) -> list[Path]:
    """Writes all result files, and replaces those of an earlier run as a whole.

    Args:
        found: the discovered graph.
        folder: created if needed; other files in it stay.
        title: title of the report, such as the name of the table.
        data: draw pairs of variables in the report, from rows of the table.
        overwrite: replace files of these names that no earlier run has written.

    Returns:
        The files; the report comes first.

    Raises:
        OptionError: there are such files, and `overwrite` is false.
        WriteError: the folder cannot be written to; the files of an earlier run stay.
    """
    there = [name for name in FILES if (folder / name).exists()]
    if there and not overwrite and not holds_results(folder):
        raise OptionError(
            f"{str(folder)!r} holds {listed(there)}, which no earlier run has written; name "
            "another folder, or pass overwrite=True"
        )

    def write(part: Path) -> list[Path]:
        report, png, svg = (part / name for name in FILES[:3])
        write_report(found if data else replace(found, sample=None), report, title=title)
        write_png(found, png)
        write_atomically(svg, to_svg(found))
        return [report, png, svg, *write_graph_files(found, part)]

    return write_folder(folder, write, last=REPORT)
