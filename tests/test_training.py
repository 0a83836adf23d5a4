"""Training: it learns, it resumes as if never interrupted, and it leaves no half-written file."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from acid_causal.checkpoint import load_model
from acid_causal.errors import ModelError, OptionError
from acid_causal.model import ModelConfig
from acid_causal.recipe import Recipe, TrainingConfig
from acid_causal.scoring import score_pairs, transform_batch
from acid_causal.synthetic import Stream, StreamConfig
from acid_causal.training import Trainer, learning_rate, read_metrics, train_model

RECIPE = Recipe(
    "tiny",
    model=ModelConfig(
        e=16, layers=1, attention_heads=2, head_count=4, smoother_rank=16, dropout=0.1
    ),
    stream=StreamConfig(entries=1500, n=(30, 60), d_z=(0, 3)),
    training=TrainingConfig(steps=12, checkpoint_every=4, warmup=3),
)
CPU = torch.device("cpu")


def trained(recipe: Recipe, folder: Path, *, resume: bool = False) -> dict[str, torch.Tensor]:
    return Trainer(recipe, folder, CPU, resume).run(progress=False).state_dict()


class InterruptedRunError(Exception):
    """Stands for Ctrl-C or a kill between two steps."""


def test_resuming_equals_never_stopping(tmp_path, monkeypatch):
    expected = trained(RECIPE, tmp_path / "whole")
    draw = Stream.__getitem__

    def interrupting(self: Stream, number: int):
        if number == 10:  # the last checkpoint is at 8
            raise InterruptedRunError
        return draw(self, number)

    with monkeypatch.context() as patch:
        patch.setattr(Stream, "__getitem__", interrupting)
        with pytest.raises(InterruptedRunError):
            trained(RECIPE, tmp_path / "cut")
    resumed = trained(RECIPE, tmp_path / "cut", resume=True)
    for name, tensor in expected.items():
        torch.testing.assert_close(resumed[name], tensor, rtol=0, atol=0, msg=name)
    whole, cut = (read_metrics(tmp_path / k / "metrics.jsonl") for k in ("whole", "cut"))
    assert [m["step"] for m in cut] == list(range(1, 13))
    assert [m["loss"] for m in cut] == [m["loss"] for m in whole]


def test_a_failed_checkpoint_leaves_the_last_one_whole(tmp_path, monkeypatch):
    def full_disk(tensors, filename, metadata=None):
        Path(filename).write_bytes(b"half a fi")
        raise OSError(28, "No space left on device")

    saved = []
    original = Trainer._save

    def save(self, model, optimiser, step):
        if step == 8:
            monkeypatch.setattr("acid_causal.checkpoint.save_file", full_disk)
        original(self, model, optimiser, step)
        saved.append(step)

    monkeypatch.setattr(Trainer, "_save", save)
    with pytest.raises(OSError, match="No space left"):
        trained(RECIPE, tmp_path)
    assert saved == [4]
    monkeypatch.undo()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["metrics.jsonl", "state.safetensors"]
    assert trained(RECIPE, tmp_path, resume=True)


def test_a_run_is_not_overwritten_or_mixed(tmp_path):
    trained(RECIPE, tmp_path)
    with pytest.raises(OptionError, match="--resume"):
        trained(RECIPE, tmp_path)
    with pytest.raises(ModelError, match="another recipe"):
        trained(replace(RECIPE, seed=1), tmp_path, resume=True)
    with pytest.raises(ModelError, match="no weights file"):
        trained(RECIPE, tmp_path / "nothing", resume=True)


def test_schedule_warms_up_and_falls():
    config = TrainingConfig(steps=1000, warmup=100, learning_rate=1e-3)
    rates = [learning_rate(config, step) for step in range(1000)]
    assert rates[0] == pytest.approx(1e-5)
    assert max(rates) == pytest.approx(1e-3)
    assert rates.index(max(rates)) in (99, 100)
    assert rates[-1] == pytest.approx(1e-5, rel=0.05)


@pytest.mark.parametrize("head", ["cross-covariance", "paper"])
def test_trained_model_file(tmp_path, head):
    recipe = replace(RECIPE, model=replace(RECIPE.model, head=head))
    path = train_model(recipe, tmp_path, device="cpu", null_questions=1000, progress=False)
    model = load_model(path)
    assert model.recipe == recipe
    assert model.history["steps"] == 12
    assert model.history["hours"] >= 0
    onward = train_model(
        recipe, tmp_path / "onward", device="cpu", start=path, null_questions=1000, progress=False
    )
    assert load_model(onward).history["steps"] == 24


def test_bfloat16_and_compile_are_checked():
    with pytest.raises(OptionError, match="precision"):
        TrainingConfig(precision="float16")


def test_it_learns(tmp_path):
    """A few dozen steps lift the AUC on easy questions well above chance, at any seed."""
    stream = StreamConfig(
        entries=4000, n=(100, 100), d_z=(1, 2), six_models=1.0, wide=0.0, noise_ratio=(0.3, 0.6)
    )
    recipe = replace(RECIPE, stream=stream, training=TrainingConfig(steps=60, learning_rate=5e-3))
    network = Trainer(recipe, tmp_path, CPU).run(progress=False).eval()
    logits, labels = [], []
    for number in range(12):
        batch = Stream(stream, seed=99)[number]
        with torch.no_grad():
            scored = score_pairs(network, transform_batch(batch, network.transform))
        logits.append(scored.logit)
        labels.append(scored.label)
    assert roc_auc_score(torch.cat(labels), torch.cat(logits)) > 0.8
    losses = [m["loss"] for m in read_metrics(tmp_path / "metrics.jsonl")]
    assert np.mean(losses[-10:]) < 0.9 * math.log(2)


def test_imports_neither_causal_learn_nor_pandas():
    code = (
        "import sys, json, acid_causal.training;"
        "print(json.dumps([m for m in ('causallearn', 'pandas') if m in sys.modules]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert json.loads(out.stdout) == []


def test_the_papers_own_recipe_trains(tmp_path):
    recipe = Recipe.read(Path(__file__).parents[1] / "benchmarks" / "recipes" / "acid-mlp16.toml")
    assert recipe.model.head == "paper"
    assert recipe.model.sample_attention
    assert not recipe.model.residual_channels
    short = replace(
        recipe,
        stream=replace(recipe.stream, entries=1000),
        training=replace(recipe.training, steps=2),
    )
    before = Trainer(replace(short, training=TrainingConfig(steps=1)), tmp_path / "a", CPU)
    after = Trainer(short, tmp_path / "b", CPU)
    one, two = before.run(progress=False), after.run(progress=False)
    assert any(
        not torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True)
    )


@pytest.mark.slow
def test_two_processes_train_together(tmp_path):
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(
        'name = "tiny"\n[model]\ne = 16\nlayers = 1\nhead_count = 2\n'
        "[stream]\nentries = 1000\nn = [30, 40]\n[training]\nsteps = 4\n"
    )
    subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "-m",
         "acid_causal.cli", "train", str(recipe), "--out", str(tmp_path / "run"),
         "--null-questions", "1000", "--threads", "1"],
        check=True, timeout=300,
    )  # fmt: skip
    assert load_model(tmp_path / "run" / "tiny.safetensors").history["steps"] == 4
