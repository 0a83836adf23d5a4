"""AUC and loss while a model trains: stages of one run, and the rows made of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from acid_causal.errors import InputError
from acid_causal.model import ModelConfig
from acid_causal.synthetic import StreamConfig, six_models
from acid_causal.training.metrics import read_metrics
from acid_causal.training.trainer import Trainer
from acid_causal.weights.recipe import Recipe, TrainingConfig
from benchmarks.command_line import run_experiment
from benchmarks.experiments import training_curve
from benchmarks.harness.staged_training import network_at, stage_file

RECIPE = Recipe(
    "tiny",
    model=ModelConfig(e=8, layers=1, attention_heads=2, head_count=2, head_width=4, dropout=0.1),
    stream=StreamConfig(entries=1000, n=(30, 60), d_z=(0, 3)),
    training=TrainingConfig(steps=8, checkpoint_every=2, warmup=2),
)
CPU = torch.device("cpu")
KEPT = frozenset({2, 4, 8})


# ---- stages --------------------------------------------------------------------


def test_a_run_in_stages_equals_one_that_never_stopped(tmp_path: Path) -> None:
    whole = Trainer(RECIPE, tmp_path / "whole", CPU).run(progress=False)
    for step in (2, 8):
        staged = network_at(RECIPE, tmp_path / "staged", step, KEPT, CPU)
    assert not staged.training
    for name, tensor in whole.state_dict().items():
        torch.testing.assert_close(staged.state_dict()[name], tensor, rtol=0, atol=0, msg=name)
    lines = read_metrics(tmp_path / "staged" / "metrics.jsonl")
    assert [line["step"] for line in lines] == list(range(1, 9))


def test_a_stage_that_was_passed_is_kept(tmp_path: Path) -> None:
    network_at(RECIPE, tmp_path, 4, KEPT, CPU)
    assert not stage_file(tmp_path, 8).exists()
    before = (tmp_path / "metrics.jsonl").stat().st_mtime_ns
    network_at(RECIPE, tmp_path, 2, KEPT, CPU)  # on the way to 4; nothing is trained
    assert (tmp_path / "metrics.jsonl").stat().st_mtime_ns == before
    with pytest.raises(InputError, match="has passed step 3"):
        network_at(RECIPE, tmp_path, 3, KEPT, CPU)


def test_the_run_of_another_recipe_is_refused(tmp_path: Path) -> None:
    network_at(RECIPE, tmp_path, 2, KEPT, CPU)
    with pytest.raises(InputError, match="another recipe"):
        network_at(replace(RECIPE, seed=1), tmp_path, 2, KEPT, CPU)


# ---- rows ----------------------------------------------------------------------


def test_recipes_differ_in_the_head_alone() -> None:
    paper, ours = (
        training_curve.recipe_of(method, 0, training_curve.PAPER)
        for method in ("paper-head", "our-head")
    )
    assert paper.training == ours.training
    assert paper.stream == ours.stream
    of_heads = {"head", "head_width", "classifier_facts"}
    theirs, own = paper.to_dict()["model"], ours.to_dict()["model"]
    assert {name for name in theirs if theirs[name] != own[name]} == of_heads
    assert (theirs["head"], own["head"]) == ("paper", "cross-covariance")


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("method", training_curve.HEADS)
def test_every_step_is_a_checkpoint(method: str, quick: bool) -> None:
    jobs = training_curve.TRAINING.jobs([method], quick)
    for job in jobs:
        plan = training_curve.plan_of(job)
        recipe = training_curve.recipe_of(method, 3, plan)
        assert recipe.seed == 3
        assert recipe.training.steps == job.number("steps") == plan.steps[-1]
        assert job.number("step") % recipe.training.checkpoint_every == 0


def test_the_papers_run_needs_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = training_curve.TRAINING.jobs(["paper-head"], False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert {job["steps"] for job in jobs if training_curve.runs_here(job)} == {2000}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert {job["steps"] for job in jobs if training_curve.runs_here(job)} == {2000, 50_000}


def test_datasets_are_those_of_the_paper() -> None:
    drawn = training_curve.evaluation_sets(4)
    assert [(n, data.z.shape[2]) for n, data in drawn] == [
        (n, d_z) for n in (50, 200) for d_z in (5, 10, 20)
    ]
    assert all(data.x.shape == (4, n, 1) for n, data in drawn)


def test_logits_do_not_depend_on_how_datasets_are_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = network_at(RECIPE, tmp_path, 2, KEPT, CPU)
    data = six_models(6, 40, 2, seed=0)
    whole = training_curve.logits(network, data, CPU)
    monkeypatch.setattr(training_curve, "AT_A_TIME", 4)
    torch.testing.assert_close(training_curve.logits(network, data, CPU), whole)
    assert whole.shape == (6,)
    assert whole.std() > 0


def test_quick_run_makes_rows_table_and_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_curve, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(training_curve, "QUICK", training_curve.Plan((1, 2), 500, 1, 4))
    small = training_curve.evaluation_sets(4)[::3]  # one d_z for each n
    monkeypatch.setattr(training_curve, "evaluation_sets", lambda _: small)
    assert run_experiment("training", "our-head,paper-head", quick=True, out=tmp_path) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:3] for line in lines if line[:1] == ["our-head"]] == [
        ["our-head", "0", "1/2"],
        ["our-head", "0", "2/2"],
    ]
    rows = pd.read_csv(tmp_path / "training.csv")
    assert rows["error"].isna().all()
    np.testing.assert_allclose(rows["auc"], (rows["auc_n50"] + rows["auc_n200"]) / 2, rtol=1e-5)
    # Seconds of training add up along a run.
    assert (
        rows.groupby("method")["training_seconds"].apply(lambda s: s.is_monotonic_increasing).all()
    )
    assert rows["loss"].between(0.3, 2).all()
    assert (tmp_path / "training.png").stat().st_size > 10_000
