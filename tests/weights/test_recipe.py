"""Recipes refuse what they do not know."""

import re
from pathlib import Path
from typing import Any

import pytest

from acid_causal.errors import OptionError
from acid_causal.weights.checkpoint import load_model
from acid_causal.weights.recipe import Recipe, TrainingConfig
from acid_causal.weights.shipped import available_models, earlier_stages, find_recipe


def test_survives_its_dictionary() -> None:
    recipe = Recipe.from_dict({"name": "a", "stream": {"n": [50, 60]}, "model": {"e": 16}})
    assert recipe.stream.n == (50, 60)
    assert Recipe.from_dict(recipe.to_dict()) == recipe


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "a"\nsede = 1', "'seed'"),
        ('name = "a"\n[model]\nlayer = 3', "'layers'"),
        ('name = "a"\n[model]\nlayers = "3"', "layers.*int"),
        ('name = "a"\n[model]\nhead = "papers"', "paper"),
        ('name = "a"\n[model]\ne = 30', "multiple"),
        ('name = "a"\n[stream]\nn = [100, 50]', "increasing"),
        ('name = "a"\n[stream]\nn = 100', "two increasing"),
        ('name = "a"\n[stream]\nn = [50, 60, 70]', "two increasing"),
        ('name = "a"\n[stream]\nn = [50, 60.5]', "n in .stream. must be two increasing whole"),
        ('name = "a"\n[stream]\nd_z = [false, true]', "d_z in .*whole numbers, not .False, True"),
        ('name = "a"\n[stream]\nstrength = [true, 1.0]', "strength in .*numbers, not .True"),
        ('name = "a"\n[stream]\nsix_models = true', "six_models.*float"),
        ('name = "a"\n[stream]\nmechanisms = "mlp61"', "mlp16"),
        ('name = "a"\n[stream]\nmechanisms = 3', "mechanisms.*str"),
        ('name = "a"\n[training]\nsteps = true', "steps.*int"),
        ('name = "a"\nseed = -1', "seed must be from 0 .* not -1"),
        (f'name = "a"\nseed = {2**40}', "seed must be"),
        ('name = "a"\nmodel = 3', "table"),
        ("seed = 1", "needs a name"),
        ("name = ", "TOML"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(OptionError, match=message):
        Recipe.read(path)


@pytest.mark.parametrize("name", ["a", "acid-base", "0", "A.b_c-1", "v1.0"])
def test_names(name: str) -> None:
    assert Recipe(name).name == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../a", "a/b", "/a", "-a", ".a", "a b", "a\n", "é"]
)
def test_names_that_would_be_no_file_name(name: str) -> None:
    with pytest.raises(OptionError, match="name must be letters, digits"):
        Recipe(name)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("steps", 0, "at least 1, not 0"),
        ("learning_rate", 0.0, "a positive number, not 0.0"),
        ("learning_rate", -1e-3, "positive"),
        ("learning_rate", float("nan"), "positive"),
        ("learning_rate", float("inf"), "positive"),
        ("warmup", -1, "at least 0, not -1"),
        ("clip", 0.0, "positive"),
        ("clip", float("nan"), "positive"),
        ("checkpoint_every", 0, "at least 1, not 0"),
        ("precision", "float16", "one of float32, bfloat16, not 'float16'"),
    ],
)
def test_ranges_of_the_training(field: str, value: Any, message: str) -> None:
    with pytest.raises(OptionError, match=f"^{field} must be .*{message}"):
        TrainingConfig(**{field: value})


def test_bounds_of_the_ranges_of_the_training() -> None:
    config = TrainingConfig(steps=1, warmup=0, checkpoint_every=1)
    assert (config.steps, config.warmup, config.checkpoint_every) == (1, 0, 1)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot read"):
        Recipe.read(tmp_path / "none.toml")


@pytest.mark.parametrize("name", sorted(available_models()))
def test_shipped_recipes_tell_of_the_stages_before_them(name: str) -> None:
    told = earlier_stages(find_recipe(name))
    assert re.search(
        r"(second|last) of (two|three|four|five|six) stages|started from the weights of", told
    )
    assert told.endswith(".")


@pytest.mark.parametrize("name", sorted(available_models()))
def test_shipped_weights_lie_beside_the_recipe_that_made_them(name: str) -> None:
    path = available_models()[name]
    assert Recipe.read(path.with_suffix(".toml")) == load_model(name).recipe
    assert path.with_suffix(".md").exists()
    assert path.stat().st_size < 4 * 2**20
