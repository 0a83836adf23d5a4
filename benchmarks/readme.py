"""Fills the project's documents: their tables, and what their examples print.

Run as `python -m benchmarks.readme`; `--help` lists its options.

A table stands between `<!-- results: NAME -->` and `<!-- end -->`, in README, a page of docs/ or a
card of weights. For the name of an experiment it is what `python -m benchmarks NAME` prints, from
the committed rows, and the experiment's picture is drawn anew. Names for several experiments:

    claims       the paper's claims beside our figures
    comparison   README's results, one row a test
    costs        what the rows took to make
    domains      tests by the domain of the questions
    level        Type I error by stream and number of rows
    trust        when to trust a p-value, and what to do else

For the examples see `benchmarks.documents.examples`.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from acid_causal.errors import unknown
from benchmarks.documents import claims, comparison, costs, trust
from benchmarks.documents.examples import with_outputs
from benchmarks.experiments import EXPERIMENTS
from benchmarks.harness.committed import RESULTS, committed
from benchmarks.harness.jobs import Experiment

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCUMENTS = (
    README,
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "acid_causal" / "weights").glob("*.md")),
)

# Blocks that are about several experiments: plain text, and tables of Markdown.
SUMMARIES: Mapping[str, Callable[[], str]] = {
    "claims": claims.table,
    "costs": costs.table,
    "domains": comparison.by_domain,
    "level": trust.by_n,
}
MARKDOWN: Mapping[str, Callable[[], str]] = {"comparison": comparison.table, "trust": trust.table}

_BLOCK = re.compile(r"(<!-- results: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_RELATIVE_LINK = re.compile(r"(\]\()(?!https?://|#)([^)]+)(\))")


def fill(text: str, pictures: Path) -> str:
    """Returns a document with every table of results as the CSVs have it.

    Args:
        text: The document.
        pictures: The folder into which the tables' pictures go.

    Raises:
        OptionError: A block names no experiment.
        InputError: Rows are missing: no table is made from a part of them.
    """
    return _BLOCK.sub(lambda m: f"{m[1]}{block(m[2], pictures)}\n{m[3]}", text)


def block(name: str, pictures: Path) -> str:
    """Returns what stands in the block of a name.

    Raises:
        OptionError: There is no such experiment.
        InputError: Rows are missing: no table is made from a part of them.
    """
    if name in MARKDOWN:
        return MARKDOWN[name]()
    if name in SUMMARIES:
        text = SUMMARIES[name]()
    elif name in EXPERIMENTS:
        text = table(EXPERIMENTS[name], pictures)
    else:
        raise unknown("block of results", name, [*MARKDOWN, *SUMMARIES, *EXPERIMENTS])
    return f"```text\n{text}\n```"


def table(experiment: Experiment, pictures: Path) -> str:
    """Returns the report of an experiment's committed rows, and draws its picture.

    Raises:
        InputError: Rows are missing: no table is made from a part of them.
    """
    rows, absent = committed(experiment)
    text = experiment.report(rows, pictures / f"{experiment.name}.png")
    return text + (f"\nNot run yet: {', '.join(absent)}." if absent else "")


def with_base(text: str, base: str) -> str:
    """Returns a document whose relative links start with an address, for a package index.

    Args:
        text: The document.
        base: The address of the project's files, such as that of a tag in its repository.
    """
    return _RELATIVE_LINK.sub(rf"\g<1>{base.rstrip('/')}/\g<2>\g<3>", text)


def main(
    base: Annotated[
        str, typer.Option(metavar="URL", help="Print README with links that start with URL.")
    ] = "",
    examples: Annotated[bool, typer.Option(help="Run the documents' examples, too.")] = True,
) -> None:
    """Fills the documents from the committed rows and runs their examples."""
    if base:
        typer.echo(with_base(README.read_text(encoding="utf-8"), base), nl=False)
        return
    for document in DOCUMENTS:
        text = fill(document.read_text(encoding="utf-8"), RESULTS)
        if examples:
            with TemporaryDirectory() as folder:
                text = with_outputs(text, Path(folder))
        document.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
