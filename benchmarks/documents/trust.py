"""README's table of when to trust p-values: the Type I error of the default model.

Each situation is one or several streams of `calibration`, at some sizes; those without rows are
left out. Where the Type I error of a cell is too large, the table says what to do instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from benchmarks.experiments.calibration import CALIBRATION, datasets_of
from benchmarks.harness.committed import committed
from benchmarks.harness.tables import aligned, markdown

ACID, PERMUTATION = "acid", "acid-permutation"
LEVEL = "type_1_at_05"
# The level counts as held if no cell exceeds this Type I error at .05.
WORST_ALLOWED = 0.10
USE = "use it as it is"
BY_PERMUTATION = '`null="permutation"`'
# With many Z the rows that are permuted are hardly alike, so that this does not help.
SMALLER_SETS = "limit \\|Z\\|: `max_k` in `pc`, `--max-size`"


@dataclass(frozen=True)
class Situation:
    """A kind of data that users bring.

    Attributes:
        name: What README calls it.
        streams: The streams of `calibration` that represent it.
        remedy: What to do if the level is not held.
        n: Smallest and largest number of rows.
        d_z: Smallest and largest size of the conditioning set.
    """

    name: str
    streams: tuple[str, ...]
    remedy: str = BY_PERMUTATION
    n: tuple[int, int] = (50, 1000)
    d_z: tuple[int, int] = (0, 10)


SITUATIONS = (
    Situation("continuous columns, 50 to 1,000 rows, \\|Z\\| up to 10", ("training",)),
    Situation(
        "the same, with strong common causes and little noise, or with heavy-tailed noise",
        ("hard", "heavy-tails"),
    ),
    Situation("binary, ordinal and count columns, also as X and Y", ("mixed", "few-values")),
    Situation(
        "unordered categories among the columns, or alone",
        ("some-categories", "all-categories"),
    ),
    Situation("relations that jump or switch", ("steps", "switching")),
    Situation("random smooth functions", ("gp",), remedy=SMALLER_SETS),
    Situation(
        "the first two kinds, \\|Z\\| = 20",
        ("training", "hard", "heavy-tails"),
        remedy=SMALLER_SETS,
        d_z=(11, 20),
    ),
)


def table() -> str:
    """Returns README's table of situations, what to do, and Type I error."""
    rows, _ = committed(CALIBRATION)
    header = ("your data", "what to do", "Type I error at .05: mean, worst cell")
    measured = [situation for situation in SITUATIONS if len(_cells(rows, situation, ACID))]
    return markdown(header, [_line(rows, situation) for situation in measured])


def _line(rows: pd.DataFrame, situation: Situation) -> tuple[str, str, str]:
    cells = _cells(rows, situation, ACID)
    advice = USE if cells.max() <= WORST_ALLOWED else situation.remedy
    measured = _cells(rows, situation, PERMUTATION)
    if advice == BY_PERMUTATION and len(measured):
        advice += f" (measured: {_short(measured.mean())})"
    return situation.name, advice, f"{_short(cells.mean())}, {_short(cells.max())}"


def _cells(rows: pd.DataFrame, situation: Situation, method: str) -> "pd.Series[float]":
    chosen = (
        (rows["method"] == method)
        & rows["stream"].isin(situation.streams)
        & rows["n"].between(*situation.n)
        & rows["d_z"].between(*situation.d_z)
    )
    return rows[chosen][LEVEL]


def by_n() -> str:
    """Returns the Type I error of the default model by stream and n, and for large sets."""
    rows, _ = committed(CALIBRATION)
    rows = rows[rows["method"] == ACID]
    sizes = sorted(rows["n"].unique())
    lines = [(stream, *_by_size(of_stream, sizes)) for stream, of_stream in rows.groupby("stream")]
    header = ("stream", *(f"n = {n}" for n in sizes), "|Z| = 20, all n")
    note = f"Type I error at .05: mean [worst] over |Z| from 0 to 10; {datasets_of(rows)} a cell."
    return "\n".join([note, "", aligned(header, lines)])


def _by_size(rows: pd.DataFrame, sizes: list[int]) -> Iterator[str]:
    small = rows["d_z"] <= 10
    for cells in (*(rows[small & (rows["n"] == n)][LEVEL] for n in sizes), rows[~small][LEVEL]):
        yield f"{_short(cells.mean())} [{_short(cells.max())}]" if len(cells) else "–"


def _short(share: float) -> str:
    """Writes a share without the leading zero: .05 for 0.05."""
    return f"{share:.3f}".removeprefix("0")
