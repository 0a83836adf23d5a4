"""The experiment `finetuning`, on a tiny model: rows, table and picture."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from acid_causal.synthetic import Stream, StreamConfig
from acid_causal.weights.checkpoint import TrainedModel
from benchmarks.command_line import run_experiment
from benchmarks.experiments import finetuning


# Coarse columns are unlike what the tiny model knows, and the package says so.
@pytest.mark.filterwarnings("ignore::acid_causal.errors.AcidWarning")
def test_quick_run(
    tiny_model: TrainedModel,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "tiny.safetensors"
    stream = replace(tiny_model.recipe.stream, entries=1500)  # small batches
    replace(tiny_model, recipe=replace(tiny_model.recipe, stream=stream)).save(path)
    monkeypatch.setattr(
        "acid_causal.training.finetuning.fit_null", lambda *_, **__: tiny_model.null
    )
    small = {"STEPS": 2, "NULL_QUESTIONS": 1000, "DATASETS": 4, "STREAM_QUESTIONS": 16}
    for name, value in small.items():
        monkeypatch.setattr(finetuning, f"QUICK_{name}", value)
    assert run_experiment("finetuning", f"acid:{path}", quick=True, out=tmp_path) == 0
    finetuning.prepared.cache_clear()
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    starts = [line[:5] for line in printed if line[:1] == ["wine-coarse"]]
    assert starts == [
        ["wine-coarse", kind, "tiny", cells, steps]
        for kind, cells in (("held-out", "1"), ("table", "2"), ("training", "1"))
        for steps in ("0", "2")
    ]
    assert (tmp_path / "finetuning.png").stat().st_size > 10_000
    rows = pd.read_csv(tmp_path / "finetuning.csv")
    assert rows["error"].isna().all()
    assert (rows["finetuning_seconds"].isna() == (rows["steps"] == 0)).all()


def test_streams_give_as_many_of_each_label() -> None:
    stream = Stream(StreamConfig(entries=2000, n=(20, 40), d_z=(0, 2)), seed=0)
    questions, labels = finetuning._of_stream(stream, 220)
    assert len(questions) == len(labels) == 220
    assert 0.35 < labels.mean() < 0.65
    assert {None if z is None else z.shape[1] for _, _, z in questions} == {None, 1, 2}
    again, _ = finetuning._of_stream(stream, 220)
    assert all(np.array_equal(x, y) for (x, _, _), (y, _, _) in zip(questions, again, strict=True))


def test_jobs_ask_before_and_after_and_only_what_a_table_holds() -> None:
    jobs = finetuning.make_jobs(["acid"], False)
    assert {job["steps"] for job in jobs} == {0, 500}
    wine = [job for job in jobs if job["table"] == "wine-coarse" and job["questions"] == "table"]
    assert {job["n"] for job in wine} == {60}
    assert {job["d_z"] for job in wine} == {0, 1, 3, 5}
    assert all(job["questions"] in ("table", *finetuning.STREAMS) for job in jobs)
