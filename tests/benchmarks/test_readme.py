"""README's numbers are the committed results', byte for byte."""

import dataclasses
import re
import sys
from pathlib import Path

import pytest

from acid_causal.errors import InputError, OptionError
from benchmarks import readme
from benchmarks.documents import claims, costs
from benchmarks.experiments import EXPERIMENTS
from benchmarks.harness import committed
from benchmarks.harness.jobs import Experiment
from benchmarks.harness.runner import run_jobs
from benchmarks.harness.store import Store
from benchmarks.readme import DOCUMENTS, block, fill


@pytest.fixture(autouse=True)
def pictures_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The experiments' tests draw them, and it takes longer than the tables."""
    modules = [value for name, value in sys.modules.items() if "benchmarks.experiments." in name]
    for module in modules:
        for name, value in list(vars(module).items()):
            if getattr(value, "__module__", "").startswith("benchmarks.pictures."):
                monkeypatch.setattr(module, name, lambda *_, **__: None)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_tables_are_those_of_the_committed_results(document: Path, tmp_path: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert fill(text, tmp_path) == text


def test_every_experiment_with_rows_has_a_table() -> None:
    text = "".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    with_rows = [name for name in EXPERIMENTS if (committed.RESULTS / f"{name}.csv").exists()]
    assert [
        name
        for name in (*with_rows, *readme.SUMMARIES, *readme.MARKDOWN)
        if f"<!-- results: {name} -->" not in text
    ] == []


def test_claims_have_a_block(tmp_path: Path) -> None:
    filled = fill("before\n<!-- results: claims -->\na stale table\n<!-- end -->\nafter", tmp_path)
    assert filled.startswith("before\n<!-- results: claims -->\n```text\nexperiment")
    assert filled.endswith("```\n<!-- end -->\nafter")
    assert all(claim.says in filled for claim in claims.CLAIMS)
    assert "stale" not in filled


def test_unknown_blocks_are_told(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"unknown block of results 'claim'.*'claims'"):
        block("claim", tmp_path)


def test_links_can_be_given_an_address() -> None:
    text = "[a](docs/a.md) ![b](b.png) [c](https://c.org) [d](#d)"
    assert readme.with_base(text, "https://x.org/y/") == (
        "[a](https://x.org/y/docs/a.md) ![b](https://x.org/y/b.png) [c](https://c.org) [d](#d)"
    )
    full = readme.with_base(readme.README.read_text(encoding="utf-8"), "https://x.org")
    assert re.findall(r"\]\((?!https://)", full) == []


def test_no_table_without_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed, "RESULTS", tmp_path)
    with pytest.raises(InputError, match=r"graphs\.csv has no rows; python -m benchmarks graphs"):
        block("graphs", tmp_path)


def test_a_table_says_which_units_were_not_run(
    toy: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committed, "RESULTS", tmp_path)
    experiment = dataclasses.replace(toy, unit=("outcome",))
    run_jobs(toy, toy.jobs((), False)[:1], Store(tmp_path / "toy.csv", toy))
    text = readme.table(experiment, tmp_path)
    assert text == "1 good rows\nNot run yet: raises, nan, blank."


def test_costs_are_the_seconds_of_the_rows() -> None:
    rows, _ = committed.committed(EXPERIMENTS["sachs-ci"])
    line = next(line for line in costs.table().splitlines() if line.startswith("sachs-ci"))
    _, count, minutes, costliest, *_ = line.split()
    assert int(count) == len(rows)
    assert int(minutes) == round(rows["seconds"].sum() / 60)
    assert costliest == rows.groupby("method")["seconds"].sum().idxmax()
