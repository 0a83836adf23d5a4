"""Recipes refuse what they do not know."""

import pytest

from acid_causal.checkpoint import available_models, load_model
from acid_causal.errors import OptionError
from acid_causal.recipe import Recipe


def test_survives_its_dictionary():
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
        ('name = "a"\nmodel = 3', "table"),
        ("seed = 1", "needs a name"),
        ("name = ", "TOML"),
    ],
)
def test_mistakes_are_named(tmp_path, text, message):
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(OptionError, match=message):
        Recipe.read(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(OptionError, match="cannot read"):
        Recipe.read(tmp_path / "none.toml")


@pytest.mark.parametrize("name", sorted(available_models()))
def test_shipped_weights_lie_beside_the_recipe_that_made_them(name):
    path = available_models()[name]
    assert Recipe.read(path.with_suffix(".toml")) == load_model(name).recipe
    assert path.with_suffix(".md").exists()
    assert path.stat().st_size < 4 * 2**20
