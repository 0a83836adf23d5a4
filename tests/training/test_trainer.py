"""Training: it learns, it resumes as if never interrupted, and it leaves no half-written file."""

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from acid_causal.calibration.scoring import score_pairs, transform_batch
from acid_causal.errors import ModelError, OptionError, WriteError
from acid_causal.model import ACIDModel, ModelConfig
from acid_causal.model.classifier import MonotoneClassifier
from acid_causal.synthetic import Batch, Stream, StreamConfig
from acid_causal.training.metrics import read_metrics
from acid_causal.training.trainer import Trainer, train_model
from acid_causal.weights.checkpoint import TrainedModel, load_model
from acid_causal.weights.recipe import Recipe, TrainingConfig
from acid_causal.weights.tensor_file import read_tensors, save_tensors

RECIPE = Recipe(
    "tiny",
    model=ModelConfig(
        e=16, layers=1, attention_heads=2, head_count=4, smoother_rank=16, dropout=0.1
    ),
    stream=StreamConfig(entries=800, n=(30, 60), d_z=(0, 3)),
    training=TrainingConfig(steps=6, checkpoint_every=2, warmup=2),
)
# One step that moves no weight by more than 1e-12: what a run starts from remains.
HARDLY_TRAINED = replace(RECIPE, training=TrainingConfig(steps=1, learning_rate=1e-12))
CPU = torch.device("cpu")


def trained(recipe: Recipe, folder: Path, *, resume: bool = False) -> dict[str, torch.Tensor]:
    return Trainer(recipe, folder, CPU, resume).run(progress=False).state_dict()


@contextmanager
def interrupted_at(batch: int) -> Iterator[None]:
    """Presses Ctrl-C while a batch is drawn."""
    draw = Stream.__getitem__

    def interrupting(self: Stream, number: int) -> Batch:
        if number == batch:
            raise KeyboardInterrupt
        return draw(self, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stream, "__getitem__", interrupting)
        with pytest.raises(KeyboardInterrupt):
            yield


def test_resuming_equals_never_stopping(tmp_path: Path) -> None:
    expected = trained(RECIPE, tmp_path / "whole")
    with interrupted_at(5):  # the last checkpoint is at 4
        trained(RECIPE, tmp_path / "cut")
    assert read_tensors(tmp_path / "cut" / "state.safetensors")[1]["step"] == 4
    resumed = trained(RECIPE, tmp_path / "cut", resume=True)
    for name, tensor in expected.items():
        torch.testing.assert_close(resumed[name], tensor, rtol=0, atol=0, msg=name)
    whole, cut = (read_metrics(tmp_path / k / "metrics.jsonl") for k in ("whole", "cut"))
    assert [m["step"] for m in cut] == list(range(1, 7))
    assert [m["loss"] for m in cut] == [m["loss"] for m in whole]


def test_a_failed_checkpoint_leaves_the_last_one_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(file: int) -> None:
        raise OSError(28, "No space left on device")

    saved = []

    def fill_disk(model: ACIDModel, step: int) -> None:
        saved.append(step)
        monkeypatch.setattr(os, "fsync", full_disk)

    with pytest.raises(WriteError, match=r"cannot write '.*state.*': No space left"):
        Trainer(RECIPE, tmp_path, torch.device("cpu"), on_save=fill_disk).run(progress=False)
    assert saved == [2]
    monkeypatch.undo()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["metrics.jsonl", "state.safetensors"]
    assert trained(RECIPE, tmp_path, resume=True)


def test_a_run_is_not_overwritten_or_mixed(tmp_path: Path) -> None:
    trained(RECIPE, tmp_path)
    with pytest.raises(OptionError, match="--resume"):
        trained(RECIPE, tmp_path)
    with pytest.raises(ModelError, match="another recipe"):
        trained(replace(RECIPE, seed=1), tmp_path, resume=True)


def test_resuming_before_the_first_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no checkpoint yet.*start without --resume"):
        trained(RECIPE, tmp_path, resume=True)
    with interrupted_at(1):  # the first checkpoint is at 2
        trained(RECIPE, tmp_path)
    with pytest.raises(ModelError, match=r"no checkpoint yet.*start without --resume"):
        trained(RECIPE, tmp_path, resume=True)
    assert trained(RECIPE, tmp_path)
    assert len(read_metrics(tmp_path / "metrics.jsonl")) == 6


def test_another_number_of_processes_is_refused(tmp_path: Path) -> None:
    with interrupted_at(3):
        trained(RECIPE, tmp_path)
    state = tmp_path / "state.safetensors"
    tensors, header = read_tensors(state)
    assert header["world"] == 1
    save_tensors(state, tensors, header | {"world": 4})
    with pytest.raises(ModelError, match="made by 4 processes, and this run has 1"):
        trained(RECIPE, tmp_path, resume=True)
    del header["world"]  # as before the number was kept
    save_tensors(state, tensors, header)
    assert trained(RECIPE, tmp_path, resume=True)


@pytest.mark.usefixtures("given_null")
@pytest.mark.parametrize("head", ["cross-covariance", "paper"])
def test_trained_model_file(tmp_path: Path, head: str) -> None:
    recipe = replace(RECIPE, model=replace(RECIPE.model, head=head))
    path = train_model(recipe, tmp_path, device="cpu", null_questions=1000, progress=False)
    assert path is not None
    model = load_model(path)
    assert model.recipe == recipe
    assert model.history["steps"] == 6
    assert model.history["hours"] >= 0
    onward = train_model(
        recipe, tmp_path / "onward", device="cpu", start=path, null_questions=1000, progress=False
    )
    assert onward is not None
    assert load_model(onward).history["steps"] == 12


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("e", 32),
        ("layers", 2),
        ("head", "paper"),
        ("attention_heads", 4),
        ("transform", "standardise"),
    ],
)
def test_starting_from_another_architecture(
    tmp_path: Path, tiny_model: TrainedModel, field: str, value: Any
) -> None:
    """The last two fit by their shapes, and their weights would mean something else."""
    tiny_model.save(tmp_path / "tiny.safetensors")
    model = replace(tiny_model.recipe.model, **{field: value})
    message = f"another architecture: {field} is .* there and {value!r} in the recipe"
    with pytest.raises(ModelError, match=message):
        train_model(
            replace(RECIPE, model=model),
            tmp_path / "run",
            device="cpu",
            start=tmp_path / "tiny.safetensors",
            progress=False,
        )
    assert not (tmp_path / "run").exists()


def test_a_model_of_values_starts_from_the_encoder_of_one_of_ranks(
    tmp_path: Path, tiny_model: TrainedModel
) -> None:
    model = replace(tiny_model.recipe.model, transform="values")
    recipe = replace(HARDLY_TRAINED, model=model)
    network = Trainer(recipe, tmp_path, CPU, start=tiny_model).run(progress=False)
    assert type(network.classifier).__name__ == "MonotoneClassifier"
    for name, tensor in tiny_model.network.state_dict().items():
        if not name.startswith("classifier."):
            torch.testing.assert_close(network.state_dict()[name], tensor, msg=name)


def test_a_classifier_that_learns_of_categories_starts_with_weight_0(
    tmp_path: Path, tiny_model: TrainedModel
) -> None:
    values = replace(tiny_model.recipe.model, transform="values")
    with_categories = replace(values, category_facts=True)
    start = replace(tiny_model, network=ACIDModel(values), recipe=replace(RECIPE, model=values))
    recipe = replace(HARDLY_TRAINED, model=with_categories)
    network = Trainer(recipe, tmp_path, CPU, start=start).run(progress=False)
    assert isinstance(network.classifier, MonotoneClassifier)
    assert isinstance(start.network.classifier, MonotoneClassifier)
    weight = network.classifier.facts.weight
    torch.testing.assert_close(weight[:, :6], start.network.classifier.facts.weight)
    assert weight[:, 6:].abs().max() < 1e-11


def test_starting_with_another_dropout_and_rank(tmp_path: Path, tiny_model: TrainedModel) -> None:
    model = replace(tiny_model.recipe.model, dropout=0.3, smoother_rank=8)
    recipe = replace(HARDLY_TRAINED, model=model)
    network = Trainer(recipe, tmp_path, CPU, start=tiny_model).run(progress=False)
    for name, tensor in tiny_model.network.state_dict().items():
        torch.testing.assert_close(network.state_dict()[name], tensor, msg=name)


def test_starting_to_learn_directions(tmp_path: Path, tiny_model: TrainedModel) -> None:
    """As the last stage of acid-base did: no weight depends on it."""
    values = replace(tiny_model.recipe.model, transform="values")
    directions = replace(values, learned_directions=True)
    start = replace(tiny_model, network=ACIDModel(values), recipe=replace(RECIPE, model=values))
    recipe = replace(HARDLY_TRAINED, model=directions)
    network = Trainer(recipe, tmp_path, CPU, start=start).run(progress=False)
    assert network.config.learned_directions
    for name, tensor in start.network.state_dict().items():
        torch.testing.assert_close(network.state_dict()[name], tensor, msg=name)


def test_bfloat16_needs_a_gpu(tmp_path: Path) -> None:
    recipe = replace(RECIPE, training=replace(RECIPE.training, precision="bfloat16"))
    with pytest.raises(OptionError, match=r"bfloat16 .* on a CPU.*float32"):
        train_model(recipe, tmp_path / "run", device="cpu", progress=False)
    assert not (tmp_path / "run").exists()


def test_it_learns(tmp_path: Path) -> None:
    """A few dozen steps lift the AUC on easy questions well above chance, at any seed."""
    stream = StreamConfig(
        entries=1500,
        n=(100, 100),
        d_z=(1, 2),
        six_models=1.0,
        driven=0.0,
        wide=0.0,
        noise_ratio=(0.3, 0.6),
    )
    recipe = replace(RECIPE, stream=stream, training=TrainingConfig(steps=50, learning_rate=5e-3))
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


def test_the_papers_own_recipe_trains(tmp_path: Path) -> None:
    recipe = Recipe.read(
        Path(__file__).parents[2] / "benchmarks" / "recipes" / "acid-mlp16-paper.toml"
    )
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
def test_a_compiled_run_trains_like_a_plain_one(tmp_path: Path) -> None:
    """In processes of their own, where no checker of shapes stands in the compiler's way."""
    losses = []
    for compiled in ("false", "true"):
        recipe = tmp_path / f"{compiled}.toml"
        recipe.write_text(
            'name = "tiny"\n[model]\ne = 16\nlayers = 1\nhead_count = 2\nsmoother_rank = 8\n'
            "[stream]\nentries = 1000\nn = [30, 40]\nd_z = [2, 2]\ntargets = [4, 4]\n"
            f"six_models = 0.0\n[training]\nsteps = 3\ncompile = {compiled}\n"
        )
        run_training(recipe, tmp_path / compiled)
        losses.append([m["loss"] for m in read_metrics(tmp_path / compiled / "metrics.jsonl")])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-3)


def run_training(recipe: Path, folder: Path) -> None:
    command = ["-m", "acid_causal.cli", "train", str(recipe), "--out", str(folder)]
    command += ["--null-questions", "1000", "--threads", "1"]
    subprocess.run([sys.executable, *command], check=True, timeout=550)


@pytest.mark.slow
def test_two_processes_train_together(tmp_path: Path) -> None:
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(
        'name = "tiny"\n[model]\ne = 16\nlayers = 1\nhead_count = 2\n'
        "[stream]\nentries = 1000\nn = [30, 40]\n[training]\nsteps = 4\n"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--nproc_per_node=2",
            "-m",
            "acid_causal.cli",
            "train",
            str(recipe),
            "--out",
            str(tmp_path / "run"),
            "--null-questions",
            "1000",
            "--threads",
            "1",
        ],
        check=True,
        timeout=300,
        capture_output=True,
        text=True,
    )
    assert load_model(tmp_path / "run" / "tiny.safetensors").history["steps"] == 4
    assert "process group" not in done.stderr, done.stderr
    with pytest.raises(ModelError, match="made by 2 processes, and this run has 1"):
        train_model(Recipe.read(recipe), tmp_path / "run", resume=True, device="cpu")
