"""A run's state: it goes on as if never interrupted, and what is damaged is named and left."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from acid_causal.errors import ModelError
from acid_causal.model import ACIDModel, ModelConfig
from acid_causal.training.state import Progress, load_state, read_progress, save_state
from acid_causal.weights.recipe import Recipe, TrainingConfig
from acid_causal.weights.tensor_file import read_tensors, save_tensors

RECIPE = Recipe(
    "tiny",
    model=ModelConfig(e=8, layers=1, attention_heads=2, head_count=2),
    training=TrainingConfig(steps=9),
)
SAVED = Progress(4, 12.5, 0.6)


def first_weight(model: ACIDModel) -> Tensor:
    assert isinstance(model.classifier, nn.Sequential)
    layer = model.classifier[0]
    assert isinstance(layer, nn.Linear)
    return layer.weight


def fresh() -> tuple[ACIDModel, torch.optim.Adam]:
    model = ACIDModel(RECIPE.model)
    return model, torch.optim.Adam(model.parameters())


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """After a step in which not all weights had a gradient."""
    model, optimiser = fresh()
    first_weight(model).sum().backward()
    optimiser.step()
    path = tmp_path / "state.safetensors"
    save_state(path, model, optimiser, RECIPE, SAVED)
    return path


def test_model_and_optimiser_come_back(state: Path) -> None:
    model, optimiser = fresh()
    assert load_state(state, model, optimiser, RECIPE) == SAVED
    assert read_progress(state) == SAVED
    saved, _ = read_tensors(state)
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(tensor, saved[f"model.{name}"], rtol=0, atol=0)
    of_weight = optimiser.state[first_weight(model)]
    assert of_weight["step"] == 1
    assert of_weight["exp_avg"].shape == first_weight(model).shape


def test_progress_is_a_running_mean() -> None:
    progress = Progress().after(0.5, 2.0).after(0.7, 3.0)
    assert (progress.step, progress.seconds) == (2, 5.0)
    assert progress.loss == pytest.approx(0.502)


def without(name: str) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def remove(tensors: dict[str, Any], header: dict[str, Any]) -> None:
        (tensors if name in tensors else header).pop(name)

    return remove


def changed(**values: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda tensors, header: header.update(values)


def reshaped(tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    tensors["adam.exp_avg.classifier.0.weight"] = torch.zeros(3)


@pytest.mark.usefixtures("wrong_types")
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("step"), "not the state of a training run"),
        (without("recipe"), "not the state of a training run"),
        (without("model.classifier.0.weight"), "lacks the tensors model.classifier.0.weight"),
        (
            without("adam.exp_avg.classifier.0.weight"),
            "lacks the tensors adam.exp_avg.classifier.0.weight",
        ),
        (
            without("adam.step.classifier.0.weight"),
            "lacks the tensors adam.step.classifier.0.weight",
        ),
        (reshaped, r"of shape \(3,\), not"),
        (changed(step="four"), "'four' where a number was expected"),
        (changed(step=-1), "-1 where a number"),
        (changed(step=True), "True where a number"),
        (changed(step=10), "tells of step 10, of 9"),
        (changed(seconds=[]), "where a number was expected"),
        (changed(world=None), "where a number was expected"),
        (changed(loss=[]), "not the state of a training run"),
        (changed(recipe=[]), "not the state of a training run"),
        (changed(recipe={"name": "tiny", "model": 3}), "not the state of a training run"),
        (changed(recipe={"name": "tiny", "sede": 3}), "unknown key in recipe"),
    ],
)
def test_what_is_damaged_is_named_and_left(
    state: Path, damage: Callable[[dict[str, Any], dict[str, Any]], None], message: str
) -> None:
    tensors, header = read_tensors(state)
    damage(tensors, header)
    save_tensors(state, tensors, header)
    before = state.read_bytes()
    with pytest.raises(ModelError, match=message):
        load_state(state, *fresh(), RECIPE)
    assert state.read_bytes() == before


def test_a_cut_file(state: Path) -> None:
    state.write_bytes(state.read_bytes()[:-100])
    with pytest.raises(ModelError, match="damaged"):
        load_state(state, *fresh(), RECIPE)


def test_files_of_before_have_no_time_and_no_loss(state: Path) -> None:
    tensors, header = read_tensors(state)
    for name in ("seconds", "loss", "world"):
        del header[name]
    save_tensors(state, tensors, header)
    assert load_state(state, *fresh(), RECIPE) == Progress(4)
