"""Plain-text tables."""

import math
from collections.abc import Sequence


def aligned(header: Sequence[str], rows: Sequence[Sequence[object]], digits: int = 3) -> str:
    """Formats a table, with text left-aligned and numbers right-aligned.

    Args:
        header: Names of the columns.
        rows: Cells; None and NaN ("does not apply") become a dash.
        digits: Decimal places of floats.
    """
    cells = [list(header), *([_text(cell, digits) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = [
        all(not isinstance(cell, str) for cell in column) for column in zip(*rows, strict=True)
    ]
    lines = [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _text(cell: object, digits: int) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    return f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Formats a Markdown table.

    Args:
        header: Names of the columns.
        rows: Cells, in Markdown; a vertical bar in them must be escaped.
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
