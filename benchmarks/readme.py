"""Fills the documents' tables from the committed results and draws their pictures anew.

Run as `python -m benchmarks.readme`.

A table stands between `<!-- results: NAME -->` and `<!-- end -->`, in README, RESULTS or a card;
what is printed there is what `python -m benchmarks NAME` prints, from the rows of the CSV. The name
`claims` stands for the paper's claims beside our figures (see `claims`), `costs` for what the rows
took to make.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from acid_causal.errors import unknown
from benchmarks import claims, costs
from benchmarks.experiments import EXPERIMENTS
from benchmarks.harness.committed import RESULTS, committed
from benchmarks.harness.jobs import Experiment

ROOT = Path(__file__).parents[1]
DOCUMENTS = (
    ROOT / "README.md",
    ROOT / "benchmarks" / "RESULTS.md",
    *sorted((ROOT / "acid_causal" / "weights").glob("*.md")),
)

# Blocks that are about several experiments.
SUMMARIES: Mapping[str, Callable[[], str]] = {"claims": claims.table, "costs": costs.table}

_BLOCK = re.compile(r"(<!-- results: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str, pictures: Path) -> str:
    """Returns a document with every table of results as the CSVs have it.

    Args:
        text: The document.
        pictures: The folder into which the tables' pictures go.

    Raises:
        OptionError: A block names no experiment.
        InputError: Rows are missing: no table is made from a part of them.
    """
    return _BLOCK.sub(lambda m: f"{m[1]}```text\n{block(m[2], pictures)}\n```\n{m[3]}", text)


def block(name: str, pictures: Path) -> str:
    """Returns what stands in the block of a name.

    Raises:
        OptionError: There is no such experiment.
        InputError: Rows are missing: no table is made from a part of them.
    """
    if name in SUMMARIES:
        return SUMMARIES[name]()
    if name not in EXPERIMENTS:
        raise unknown("block of results", name, [*SUMMARIES, *EXPERIMENTS])
    return table(EXPERIMENTS[name], pictures)


def table(experiment: Experiment, pictures: Path) -> str:
    """Returns the report of an experiment's committed rows, and draws its picture.

    Raises:
        InputError: Rows are missing: no table is made from a part of them.
    """
    rows, absent = committed(experiment)
    text = experiment.report(rows, pictures / f"{experiment.name}.png")
    return text + (f"\nNot run yet: {', '.join(absent)}." if absent else "")


if __name__ == "__main__":
    for document in DOCUMENTS:
        filled = fill(document.read_text(encoding="utf-8"), RESULTS)
        document.write_text(filled, encoding="utf-8")
