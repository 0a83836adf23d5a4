"""A small experiment for tests of the harness."""

import pandas as pd
import pytest

from benchmarks.harness.jobs import Experiment, Job, Results


@pytest.fixture
def toy() -> Experiment:
    # Functions of a fixture reach joblib's workers by value; those of a conftest module do not.
    def jobs(methods: object, quick: bool) -> list[Job]:
        return [
            Job("toy", "fisherz", (("n", n), ("outcome", outcome)), seed=n)
            for n, outcome in [(1, "good"), (2, "raises"), (3, "nan"), (4, "blank")]
        ]

    def run(job: Job) -> Results:
        if job["outcome"] == "raises":
            raise RuntimeError("two\nlines")
        if job["outcome"] == "nan":
            return {"score": float("nan"), "note": "x"}
        note = None if job["outcome"] == "blank" else "x, y"
        return {"score": 0.25 * job.number("n"), "note": note}

    def report(rows: pd.DataFrame, picture: object) -> str:
        return f"{len(rows)} good rows"

    return Experiment(
        name="toy",
        methods=("fisherz",),
        quick_methods=("fisherz",),
        setting_columns=("n", "outcome"),
        result_columns=("score", "note"),
        jobs=jobs,
        run=run,
        report=report,
    )
