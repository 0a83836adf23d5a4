"""Fills README's tables from the committed results and draws their pictures anew.

Run as `python -m benchmarks.readme`.

A table stands between `<!-- results: NAME -->` and `<!-- end -->`, in README or in a model's card;
what is printed there is what `python -m benchmarks NAME` prints, from the rows of the CSV.
"""

import re
from pathlib import Path

from benchmarks.experiments import EXPERIMENTS
from benchmarks.jobs import Experiment
from benchmarks.store import Store, frame

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results")
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "acid_causal" / "weights").glob("*.md")))

_BLOCK = re.compile(r"(<!-- results: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str, pictures: Path) -> str:
    """Returns a document with every table of results as the CSVs have it.

    Args:
        text: The document.
        pictures: The folder into which the tables' pictures go.
    """
    return _BLOCK.sub(
        lambda m: f"{m[1]}```text\n{table(EXPERIMENTS[m[2]], pictures)}\n```\n{m[3]}", text
    )


def table(experiment: Experiment, pictures: Path) -> str:
    """Returns the report of an experiment's committed rows, and draws its picture.

    Raises:
        InputError: Rows are missing: no table is made from a part of them.
    """
    store = Store(RESULTS / f"{experiment.name}.csv", experiment)
    jobs, absent = store.complete(experiment.jobs(store.methods(), False), experiment.unit)
    good = [row for row in store.rows(jobs) if not row["error"]]
    text = experiment.report(frame(good, experiment.columns), pictures / f"{experiment.name}.png")
    return text + (f"\nNot run yet: {', '.join(absent)}." if absent else "")


if __name__ == "__main__":
    for document in DOCUMENTS:
        filled = fill(document.read_text(encoding="utf-8"), RESULTS)
        document.write_text(filled, encoding="utf-8")
