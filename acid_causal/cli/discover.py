"""`acid-causal discover`: from a table to its causal graph, as files and as a report."""

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acid_causal.cli.destinations import claim_folder
from acid_causal.cli.options import (
    CONFIDENCE,
    KNOWN,
    MACHINE,
    METHOD,
    RESULTS,
    Alpha,
    Categorical,
    Device,
    Draws,
    Drop,
    Json,
    Keep,
    Missing,
    Model,
    Null,
    Ordered,
    Overwrite,
    Permutations,
    Table,
    Threads,
    check_options,
    set_threads,
)
from acid_causal.cli.output import print_json, warnings_as_lines
from acid_causal.cli.tables import choose_columns, known_names, read_columns, with_format_options
from acid_causal.discovery.report.file_names import FILES, holds_results
from acid_causal.errors import OptionError
from acid_causal.options import defaults
from acid_causal.options.choices import ORIENT
from acid_causal.tables.table_file import Format, read_table_file, table_name

if TYPE_CHECKING:
    from acid_causal.discovery.discovery import Discovery
    from acid_causal.discovery.knowledge import Arrow, Knowledge

_MOST_EDGES = 40


@with_format_options
def discover(
    context: typer.Context,
    data: Table,
    columns: Keep = None,
    drop: Drop = None,
    missing: Missing = defaults.MISSING,
    categorical: Categorical = None,
    ordered: Ordered = None,
    *,
    form: Format,
    method: Annotated[
        str,
        typer.Option(
            metavar="pc|fci",
            help="fci allows for common causes that the table lacks.",
            rich_help_panel=METHOD,
        ),
    ] = defaults.METHOD,
    alpha: Alpha = defaults.ALPHA,
    model: Model = defaults.MODEL,
    null: Null = None,
    permutations: Permutations = None,
    draws: Draws = None,
    max_size: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            rich_help_panel=METHOD,
            help="Largest conditioning set. A small one saves time in dense graphs.",
        ),
    ] = None,
    orient: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            rich_help_panel=METHOD,
            help=f"How PC decides between contradicting colliders: {', '.join(ORIENT)}.",
        ),
    ] = defaults.ORIENT,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            rich_help_panel=CONFIDENCE,
            help="Test the independences that the graph implies.",
        ),
    ] = False,
    forbid: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="No edge A -> B; repeatable.", rich_help_panel=KNOWN),
    ] = None,
    required: Annotated[
        list[str] | None,
        typer.Option(
            "--require", metavar="A,B", help="An edge A -> B; repeatable.", rich_help_panel=KNOWN
        ),
    ] = None,
    knowledge: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A TOML or JSON file, as above.", rich_help_panel=KNOWN),
    ] = None,
    bootstrap: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            rich_help_panel=CONFIDENCE,
            help="Search again on N samples of the rows.",
        ),
    ] = 0,
    rows: Annotated[
        str,
        typer.Option(
            metavar="subsample|bootstrap",
            rich_help_panel=CONFIDENCE,
            help="Draw rows without or with repetition (copies are used once).",
        ),
    ] = defaults.ROWS,
    fraction: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="Share of the rows in a subsample.",
            rich_help_panel=CONFIDENCE,
        ),
    ] = defaults.FRACTION,
    seed: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Seed of the samples.", rich_help_panel=CONFIDENCE),
    ] = 0,
    n_jobs: Annotated[
        int,
        typer.Option(
            metavar="N", help="Number of processes; -1: one a core.", rich_help_panel=MACHINE
        ),
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="For the results. Default: NAME-graph.", rich_help_panel=RESULTS
        ),
    ] = None,
    overwrite: Overwrite = False,
    no_data: Annotated[
        bool,
        typer.Option(
            "--no-data",
            help="Draw no rows in the report: values of rows are in no file.",
            rich_help_panel=RESULTS,
        ),
    ] = False,
    as_json: Json = False,
    device: Device = defaults.DEVICE,
    threads: Threads = 0,
) -> None:
    """Discover the causal graph of a table, and write a report on it.

    The folder of results has report.html, which shows the graph and the
    evidence for each edge in any browser, offline, and beside it graph.png,
    .svg, .graphml, .dot and .json, edges.csv and sepsets.csv.

    \b
    Examples:
      acid-causal discover data.csv
      acid-causal discover data.xlsx --drop id,name --missing drop
      acid-causal discover data.csv --categorical region --ordered size=S,M,L
      acid-causal discover data.csv --bootstrap 100 --n-jobs -1
      acid-causal discover data.csv --method fci --forbid cancer,smoking
      acid-causal discover data.csv --knowledge known.toml --alpha 0.01

    \b
    A file of knowledge is TOML or JSON with any of these; a later tier
    never causes an earlier one:
      forbid  = [["cancer", "smoking"]]
      require = [["smoking", "tar"]]
      tiers   = [["age", "sex"], ["smoking", "tar"], ["cancer"]]

    \b
    Exit codes: 0 done, 1 the system failed (disk full), 2 a mistake in the
    command or the table, 130 stopped by Ctrl-C.
    """  # noqa: D301
    check_options(
        model=model,
        missing=missing,
        null=null,
        permutations=permutations,
        draws=draws,
        method=method,
        orient=orient,
        rows=rows,
        alpha=alpha,
        fraction=fraction,
    )
    with warnings_as_lines():
        whole = read_table_file(data, form)
        chosen = choose_columns(list(whole.columns), columns or [], drop or [])
        known = _read_knowledge(knowledge, forbid or [], required or [], chosen)
        table = read_columns(
            whole,
            chosen,
            marks=form.marks,
            missing=missing,
            categorical=categorical,
            ordered=ordered,
        )
        # Check the destination now, and not after minutes of work.
        folder = out or Path(f"{table_name(data)}-graph")
        sources = [data, Path(model), *([] if knowledge is None else [knowledge])]
        again = overwrite or holds_results(folder)
        folder = claim_folder("--out", folder, FILES, read=sources, overwrite=again)

        from acid_causal.discovery.discovery import discover as discover_graph

        set_threads(threads)
        found = discover_graph(
            table,
            method=method,
            alpha=alpha,
            model=model,
            knowledge=known,
            max_size=max_size,
            orient=orient,
            check=check,
            bootstrap=bootstrap,
            rows=rows,
            fraction=fraction,
            seed=seed,
            n_jobs=n_jobs,
            null=null,
            permutations=permutations or defaults.PERMUTATIONS,
            draws=draws,
            device=device,
            progress=True,
        )
    found = _with_command(found, data, form, model, context.obj)
    from acid_causal.discovery.report.folder import write_results

    # The folder has been claimed before the search.
    files = write_results(found, folder, title=data.name, data=not no_data, overwrite=True)
    if as_json:
        from acid_causal.discovery.report.graph_files import to_dict

        print_json({**to_dict(found), "files": [str(file) for file in files]})
        return
    _print_graph(found)
    typer.echo(f"\nreport: {folder / 'report.html'}")
    typer.echo(f"more:   {folder}/{{{','.join(sorted(file.name for file in files[1:]))}}}")


def _read_knowledge(
    path: Path | None, forbid: Sequence[str], required: Sequence[str], columns: Sequence[str]
) -> "Knowledge":
    from acid_causal.discovery.knowledge import Knowledge

    known = Knowledge() if path is None else Knowledge.read(path)
    known |= Knowledge(
        tuple(_arrow("--forbid", text, columns) for text in forbid),
        tuple(_arrow("--require", text, columns) for text in required),
    )
    known.check(columns)
    return known


def _arrow(option: str, text: str, columns: Sequence[str]) -> "Arrow":
    names = known_names([text], columns)
    if len(names) != 2:
        raise OptionError(f"{option} takes two different columns, as in {option} A,B; not {text!r}")
    return names[0], names[1]


def _with_command(
    found: "Discovery", data: Path, form: Format, model: str, arguments: Sequence[str]
) -> "Discovery":
    """Adds the command, the table's file and the model's to the provenance of the graph."""
    with data.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    made: dict[str, Any] = {
        **found.provenance,
        "command": shlex.join(["acid-causal", *arguments]),
        "file": {"name": data.name, "sha256": digest, "format": form.said()},
    }
    if Path(model).is_file():
        made["model"] = {**made["model"], "file": model}
    return replace(found, provenance=made)


def _print_graph(found: "Discovery") -> None:
    from acid_causal.discovery.report.labels import given_text, printable, pvalue_text

    rows, variables = found.provenance["data"]["rows"], len(found.columns)
    count = len(found.edges)
    edges = "1 edge" if count == 1 else f"{count} edges"
    typer.echo(
        f"{found.method.upper()} at alpha = {found.alpha:g}: {edges} among {variables} variables "
        f"({rows:,} rows)"
    )
    shown = found.edges[:_MOST_EDGES]
    texts = [printable(str(edge)) for edge in shown]
    width = max(map(len, texts), default=0)
    for edge, text in zip(shown, texts, strict=True):
        sure = "" if edge.confidence is None else f"  in {edge.confidence:4.0%} of samples"
        doubt = f"p = {pvalue_text(edge.pvalue):>6} given {given_text(edge.given)}"
        typer.echo(f"  {text:<{width}}{sure}  {doubt}")
    if count > len(shown):
        typer.echo(f"  and {count - len(shown)} more, in edges.csv")
    if found.conflicts:
        typer.echo(f"colliders that contradict others and gave way: {len(found.conflicts)}")
    if found.markov is not None:
        typer.echo(f"check of the graph: {found.markov}")
