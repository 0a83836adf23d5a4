"""What models that see ranks alone are warned of, where they fail."""

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from acid_causal.errors import AcidWarning
from acid_causal.inference.rank_limits import GAP, LITTLE_NOISE, VOLATILITY
from acid_causal.inference.tester import Tester
from acid_causal.model import ACIDModel
from acid_causal.weights.checkpoint import TrainedModel, load_model
from benchmarks.data.plain_cases import CASES, draw_case

Array = NDArray[np.float64]

# Where Type I error of a model of ranks was measured: .2 and more, or the level.
FAILS = {
    "two sensors, 10 % noise": LITTLE_NOISE,
    "clusters": GAP,
    "gap": GAP,
    "volatility": VOLATILITY,
    "strong volatility": VOLATILITY,
    "zero-inflated counts": VOLATILITY,
}
HOLDS = [
    "linear", "linear, 300 % noise", "skewed Z", "four levels", "saturation", "cubes",
    "exponentials", "squares", "counts", "rounded", "censored", "products", "ratios",
    "heavy-tailed noise", "sum of parts",
]  # fmt: skip


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    """A model of ranks, without a reference: of unfamiliar data nothing is said.

    Its regressions are the shipped model's, and all that matters here; the other layers are small.
    """
    loaded = load_model("acid-mlp16")
    assert not loaded.recipe.model.keeps_values
    null = replace(loaded.null, reference=None)
    small = replace(loaded.recipe.model, e=8, layers=1, attention_heads=2, head_count=2)
    recipe = replace(loaded.recipe, model=small, stream=replace(loaded.recipe.stream, discrete=0.1))
    return replace(loaded, network=ACIDModel(small).eval(), null=null, recipe=recipe)


def kinds(model: TrainedModel, case: str, n: int, d_z: int, seed: int) -> tuple[str, ...]:
    table = np.column_stack(draw_case(case, n, d_z, dependent=False, seed=seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AcidWarning)
        found = Tester(table, model=model).test(0, 1, range(2, 2 + d_z)).unlike_training
    return tuple(kind for kind in found if kind in (GAP, LITTLE_NOISE, VOLATILITY))


@pytest.mark.parametrize("d_z", [1, 2])
@pytest.mark.parametrize("case", FAILS)
def test_what_fails_is_told(model: TrainedModel, case: str, d_z: int) -> None:
    found = [kinds(model, case, 400, d_z, seed) for seed in range(4)]
    assert sum(FAILS[case] in of_seed for of_seed in found) >= 3


@pytest.mark.parametrize("case", HOLDS)
def test_what_holds_is_not(model: TrainedModel, case: str) -> None:
    assert case in CASES
    found = [kinds(model, case, n, d_z, 0) for n in (50, 200, 1000) for d_z in (1, 3)]
    assert found == [()] * 6


def test_it_is_said_once_and_with_what_to_do(model: TrainedModel) -> None:
    x, y, z = draw_case("clusters", 300, 1, dependent=False, seed=0)
    tester = Tester(np.column_stack([x, y, z]), model=model)
    with pytest.warns(AcidWarning, match=r'Z has a wide gap in \(X1, X2 \| X3\).*null="checked'):
        tester.test(0, 1, (2,))
    assert GAP in tester.test(0, 1, (2,)).unlike_training  # warnings are errors


def test_among_many_questions_a_few_are_chance(model: TrainedModel) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 30))
    table[:, :2] *= np.exp(table[:, [2]])  # given the third, and nothing else, the first two
    asked = [(i, j, (2,)) for i in range(3, 12) for j in range(3, i)]
    *_, last = Tester(table, model=model).test_many([*asked, (0, 1, (2,))])  # warnings are errors
    assert last.unlike_training == (VOLATILITY,)
    with pytest.warns(AcidWarning, match="Z moves the scale of both variables"):
        Tester(table, model=model).test_many([*asked[:5], (0, 1, (2,))])


def of_components(rng: Generator) -> Array:
    z = rng.normal(size=400)
    return np.column_stack(
        [*rng.normal(size=(2, 400)), *(np.exp(z) * rng.normal(size=(2, 400))), z]
    )


def of_missing_values(rng: Generator) -> Array:
    table = of_components(rng)
    table[:20, 4] = np.nan
    return table


@pytest.mark.parametrize("draw", [of_components, of_missing_values])
def test_of_several_components_one_is_enough(
    model: TrainedModel, draw: Callable[[Generator], Array]
) -> None:
    tester = Tester(draw(np.random.default_rng(1)), model=model, missing="drop")
    with pytest.warns(AcidWarning, match="Z moves the scale"):
        assert tester.test_sets((0, 2), (1, 3), (4,)).unlike_training == (VOLATILITY,)


def test_models_that_keep_values_need_none_of_it() -> None:
    model = load_model("acid-base")
    for case in FAILS:
        assert kinds(model, case, 200, 1, 0) == ()


@pytest.mark.parametrize(("n", "d_z"), [(29, 14), (41, 20), (60, 20)])
def test_few_rows_are_no_volatility(model: TrainedModel, n: int, d_z: int) -> None:
    """With hardly more rows than terms Z explains any column by chance."""
    found = set()
    for seed in range(8):
        noise = np.random.default_rng(seed).normal(size=(n, d_z + 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AcidWarning)
            answer = Tester(noise, model=model).test(0, 1, range(2, d_z + 2))
        found |= set(answer.unlike_training)
    assert VOLATILITY not in found
