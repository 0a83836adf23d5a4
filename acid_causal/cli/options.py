"""Options that several commands share, and their checks, which do not load torch."""

from pathlib import Path
from typing import Annotated

import typer

from acid_causal.errors import ModelError, OptionError, check_fraction, check_level, unknown
from acid_causal.options import defaults
from acid_causal.options.choices import METHODS as SEARCHES
from acid_causal.options.choices import MISSING, NULLS, ORIENT, RESAMPLING, ROWS
from acid_causal.weights.shipped import find_model

# Headings in the help.
TABLE, METHOD, KNOWN, CONFIDENCE, RESULTS, MACHINE = (
    "Table",
    "Method",
    "What is known beforehand",
    "Confidence",
    "Results",
    "Machine",
)

Table = Annotated[Path, typer.Argument(metavar="DATA", help="CSV or other text, Parquet or Excel.")]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,C", help="Columns to use; repeatable. Default: all.", rich_help_panel=TABLE
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="Columns to leave out; repeatable.", rich_help_panel=TABLE),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="raise|drop",
        help="drop: each test leaves out its incomplete rows.",
        rich_help_panel=TABLE,
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B",
        help="Columns of numbers that are codes of categories; repeatable. Texts are categories.",
        rich_help_panel=TABLE,
    ),
]
Ordered = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A=LOW,HIGH",
        help="A column of texts with an order, and its levels from the lowest; repeatable.",
        rich_help_panel=TABLE,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="MARK",
        help="Separator of the fields of a text. Default: found from the text.",
        rich_help_panel=TABLE,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="MARK",
        help="Decimal mark of a text, . or , Default: found from the numbers of each column.",
        rich_help_panel=TABLE,
    ),
]
Thousands = Annotated[
    str | None,
    typer.Option(
        metavar="MARK", help="Mark that groups thousands in a text.", rich_help_panel=TABLE
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Encoding of a text. Default: UTF-8, or a guess, with a warning.",
        rich_help_panel=TABLE,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row holds names. Default: it does, unless it looks like data.",
        rich_help_panel=TABLE,
        show_default=False,
    ),
]
MissingTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        metavar="TEXT",
        help="A text for missing values, besides NA and empty fields; repeatable.",
        rich_help_panel=TABLE,
    ),
]
Levels = Annotated[
    list[str] | None,
    typer.Option(
        "--not-na",
        metavar="TEXT",
        help="A text that is a level here, though it usually means missing, as None; repeatable.",
        rich_help_panel=TABLE,
    ),
]
SizeLimit = Annotated[
    int,
    typer.Option(
        metavar="MB", min=1, help="Largest table to read, unpacked.", rich_help_panel=TABLE
    ),
]
Alpha = Annotated[
    float,
    typer.Option(metavar="LEVEL", min=0, max=1, help="Level of each test.", rich_help_panel=METHOD),
]
Model = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="A model's name or its weights file.", rich_help_panel=METHOD
    ),
]
Null = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Null distribution: conditional, sized, pooled, permutation (of the data; slow), or "
        "checked (the model's own, its rejections checked by permutation). Default: the model's "
        "own.",
        rich_help_panel=METHOD,
    ),
]
Permutations = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=19,
        help="With --null permutation: how many for each question. Default: "
        f"{defaults.PERMUTATIONS}.",
        rich_help_panel=METHOD,
        show_default=False,
    ),
]
Draws = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="With --null checked: the most for each question. Default: 10 / alpha - 1.",
        rich_help_panel=METHOD,
        show_default=False,
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Replace files that are there already.", rich_help_panel=RESULTS
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON, for machines.", rich_help_panel=RESULTS)
]
Device = Annotated[
    str,
    typer.Option(metavar="auto|cpu|cuda", help="Where to compute.", rich_help_panel=MACHINE),
]
Threads = Annotated[
    int,
    typer.Option(
        metavar="N", min=0, help="CPU threads; 0: as many as cores.", rich_help_panel=MACHINE
    ),
]


def set_threads(threads: int) -> None:
    """Sets the number of torch's threads; 0 keeps the default."""
    import torch

    if threads:
        torch.set_num_threads(threads)


def check_options(
    *,
    model: str,
    missing: str | None = None,
    null: str | None = None,
    permutations: int | None = None,
    draws: int | None = None,
    method: str | None = None,
    orient: str | None = None,
    rows: str | None = None,
    alpha: float = 0.5,
    fraction: float = 1.0,
) -> None:
    """Checks options before torch is loaded, with the same messages as the functions behind them.

    Raises:
        OptionError: an unknown value, a number out of range, or one that the null would not use.
        ModelError: there is no such weights file.
    """
    path, _ = find_model(model)
    if not Path(path).is_file():
        raise ModelError(f"there is no weights file {str(path)!r}")
    for kind, value, known in (
        ("value of missing:", missing, MISSING),
        ("null", null, NULLS),
        ("method", method, SEARCHES),
        ("value of orient:", orient, ORIENT),
        ("value of rows:", rows, ROWS),
    ):
        if value is not None and value not in known:
            raise unknown(kind, value, known)
    given = {"permutations": permutations, "draws": draws}
    for of_null, option in RESAMPLING.items():
        if given[option] is not None and null != of_null:
            raise OptionError(f"--{option} needs --null {of_null}")
    check_level(alpha)
    check_fraction(fraction)
