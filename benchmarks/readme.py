"""Fills README's tables from the committed results: `python -m benchmarks.readme`.

A table stands between `<!-- results: NAME -->` and `<!-- end -->`, in README or in a model's card;
what is printed there is what `python -m benchmarks NAME` prints, from the rows of the CSV.
"""

import re
import tempfile
from pathlib import Path

from benchmarks.experiments import EXPERIMENTS
from benchmarks.jobs import Experiment
from benchmarks.store import Store, frame

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results")
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "acid_causal" / "weights").glob("*.md")))

_BLOCK = re.compile(r"(<!-- results: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str) -> str:
    """Returns a document with every table of results as the CSVs have it."""
    return _BLOCK.sub(lambda m: f"{m[1]}```text\n{table(EXPERIMENTS[m[2]])}\n```\n{m[3]}", text)


def table(experiment: Experiment) -> str:
    """Returns the report of an experiment's committed rows.

    Raises:
        InputError: Rows are missing: no table is made from a part of them.
    """
    store = Store(RESULTS / f"{experiment.name}.csv", experiment)
    jobs, absent = store.complete(experiment.jobs(store.methods(), False), experiment.unit)
    good = [row for row in store.rows(jobs) if not row["error"]]
    with tempfile.TemporaryDirectory() as folder:  # the picture lies beside the CSV already
        text = experiment.report(frame(good, experiment.columns), Path(folder) / "picture.png")
    return text + (f"\nNot run yet: {', '.join(absent)}." if absent else "")


if __name__ == "__main__":
    for document in DOCUMENTS:
        document.write_text(fill(document.read_text(encoding="utf-8")), encoding="utf-8")
