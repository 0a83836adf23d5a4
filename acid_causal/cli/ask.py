"""`acid-causal test`: one question about the columns of a table."""

import math
from collections.abc import Sequence
from typing import Annotated

import typer

from acid_causal.cli.options import (
    Alpha,
    Categorical,
    Device,
    Draws,
    Json,
    Missing,
    Model,
    Null,
    Ordered,
    Permutations,
    Table,
    check_options,
)
from acid_causal.cli.output import print_json, warnings_as_lines
from acid_causal.cli.tables import known_names, read_columns, with_format_options
from acid_causal.errors import InputError, unknown
from acid_causal.options import defaults
from acid_causal.tables.table_file import Format, read_table_file


@with_format_options
def ask(
    data: Table,
    x: Annotated[str, typer.Argument(metavar="X", help="A column's name.")],
    y: Annotated[str, typer.Argument(metavar="Y", help="Another column's name.")],
    given: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Columns of the conditioning set; repeatable."),
    ] = None,
    model: Model = defaults.MODEL,
    null: Null = None,
    permutations: Permutations = None,
    draws: Draws = None,
    missing: Missing = defaults.MISSING,
    categorical: Categorical = None,
    ordered: Ordered = None,
    alpha: Alpha = defaults.ALPHA,
    *,
    form: Format,
    device: Device = defaults.DEVICE,
    as_json: Json = False,
) -> None:
    """Test whether X and Y are independent given other columns of a table.

    \b
    Examples:
      acid-causal test data.csv smoking cancer
      acid-causal test data.csv smoking cancer --given age,sex
      acid-causal test data.csv smoking cancer --given age --json
    """  # noqa: D301
    check_options(
        model=model,
        missing=missing,
        null=null,
        permutations=permutations,
        draws=draws,
        alpha=alpha,
    )
    with warnings_as_lines():
        frame = read_table_file(data, form)
        x, y, cond = _read_columns(x, y, given or [], list(frame.columns))
        asked = read_columns(
            frame,
            [x, y, *cond],  # whatever other columns hold
            marks=form.marks,
            missing=missing,
            categorical=categorical,
            ordered=ordered,
            droppable=False,
        )

        from acid_causal.inference.tester import Tester

        tester = Tester(
            asked,
            model=model,
            device=device,
            null=null,
            permutations=permutations or defaults.PERMUTATIONS,
            alpha=alpha,
            draws=draws,
        )
        answer = tester.test(0, 1, range(2, 2 + len(cond)))
    dependent = answer.pvalue <= alpha
    if as_json:
        # The statistic of a constant column is -inf, which JSON cannot represent.
        finite = answer.statistic if math.isfinite(answer.statistic) else None
        print_json(
            {
                "x": x,
                "y": y,
                "given": cond,
                "pvalue": answer.pvalue,
                "log_pvalue": answer.log_pvalue,
                "statistic": finite,
                "probability": answer.probability,
                "n": answer.n,
                "alpha": alpha,
                "dependent": dependent,
                "model": tester.model.name,
                "null": tester.null,
                "pvalue_null": answer.null,
                "draws": answer.draws,
                "unlike_training": list(answer.unlike_training),
                "variables": asked.describe_columns(),
            }
        )
        return
    verdict = "is rejected" if dependent else "is not rejected"
    question = f"{x} and {y}" + (f" given {', '.join(cond)}" if cond else "")
    typer.echo(f"independence of {question} {verdict} at alpha = {alpha:g}")
    drawn = f" by {answer.draws} permutations" if answer.draws else ""
    typer.echo(f"p-value      {answer.pvalue:.4g}{drawn}")
    typer.echo(f"statistic    {answer.statistic:.4g}")
    typer.echo(f"probability  {answer.probability:.4g} of dependence")
    typer.echo(f"n            {answer.n}")


def _read_columns(
    x: str, y: str, given: Sequence[str], columns: Sequence[str]
) -> tuple[str, str, list[str]]:
    """Splits the names of the conditioning set, and checks the names of the question."""
    x, y = x.strip(), y.strip()
    for name in (x, y):
        if name not in columns:
            raise unknown("column", name, columns)
    cond = known_names(given, columns)
    if x == y:
        raise InputError(f"the column {x!r} cannot be tested against itself")
    for name in (x, y):
        if name in cond:
            raise InputError(f"the column {name!r} is both tested and in the conditioning set")
    return x, y, cond
