"""Degenerate questions: the network is asked about fewer columns, or not at all.

Constant columns say nothing and are left out; so are tested columns that the conditioning set
determines. Where no column of X or of Y remains, or too few rows, p is 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from acid_causal.inference.batching import Task, named
from acid_causal.inference.rows.rows import Rows
from acid_causal.tables.inputs import MIN_SAMPLES, Columns, are_too_few


@dataclass(frozen=True)
class Refusal:
    """Why p is 1 without asking the network.

    Attributes:
        kind: kind of the warning.
        message: its text.
    """

    kind: str
    message: str


def without_constants(task: Task, rows: Rows, names: Sequence[str]) -> Task | Refusal:
    """Leaves out constant columns.

    Args:
        task: a question.
        rows: the rows that answer it.
        names: names of the table's columns.

    Returns:
        The question for the network, or why it is not asked.
    """
    if rows.n < MIN_SAMPLES:
        return Refusal("rows", f"only {rows.n} complete rows for {named(names, task)}: p = 1")
    is_constant = rows.measures.is_constant
    x, y, cond = (
        tuple(k for k in part if not is_constant(k)) for part in (task.x, task.y, task.cond)
    )
    if not x or not y:
        constant = [names[k] for k in (*task.x, *task.y) if is_constant(k)]
        return Refusal(
            "constant",
            f"constant columns are independent of everything (p = 1): {', '.join(constant)}",
        )
    if are_too_few(rows.n, len(rows.components(cond))):
        return Refusal(
            "full",
            f"{rows.n} rows are too few for {named(names, task)}: regressions on so many "
            "variables leave nothing (p = 1)",
        )
    return replace(task, x=x, y=y, cond=cond)


def undetermined(columns: Columns, given: Columns, known: Sequence[bool], rows: Rows) -> Columns:
    """Returns the columns that are not functions of the conditioning set.

    Args:
        columns: columns of X or of Y.
        given: the conditioning set.
        known: for each component of the columns, whether the network predicts it without an error.
        rows: the rows.
    """
    # A category is determined if all of its levels are.
    unknown = {
        column
        for column, is_known in zip(rows.components(columns), known, strict=True)
        if not is_known
    }
    return tuple(
        column
        for column in columns
        if column in unknown and not rows.measures.is_function_of(column, given)
    )
