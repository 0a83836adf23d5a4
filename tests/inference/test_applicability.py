"""In what a question is unlike training: told in the result, and once in a warning."""

import copy
import pickle
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from acid_causal import load_sachs
from acid_causal.calibration.reference import Reference
from acid_causal.errors import AcidWarning
from acid_causal.inference.rows.rows import REPEATED
from acid_causal.inference.tester import Tester, ci_test
from acid_causal.tables.inputs import Table
from acid_causal.weights.checkpoint import TrainedModel


def numbers_of(model: TrainedModel, x: np.ndarray) -> np.ndarray:
    """What the columns of a table look like to a network, given nothing."""
    tester = Tester(x, model=model)
    columns = [((), (k,)) for k in range(tester.d)]
    with torch.inference_mode():
        encoded = tester._engine.encodings.encode(columns, tester._all_rows)
        return np.stack([place.summary for place in encoded.values()])


@pytest.fixture(scope="module")
def model(tiny_model: TrainedModel) -> TrainedModel:
    """The tiny model with a reference: normal columns of 60 rows, given nothing."""
    rng = np.random.default_rng(0)
    numbers = numbers_of(tiny_model, rng.normal(size=(60, 300)))
    m = len(numbers)
    # Beside the sample a few odd ones, as in a stream: the bound is theirs.
    odd = numbers[:5] + np.linspace(-0.5, 0.5, numbers.shape[1])
    reference = Reference.fit(
        np.vstack([numbers, odd]), np.full(m + 5, 60.0), np.zeros(m + 5), np.zeros(m + 5)
    )
    return replace(tiny_model, null=replace(tiny_model.null, reference=reference))


@pytest.fixture
def plain() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(60, 4))


def trained_on_levels(model: TrainedModel) -> TrainedModel:
    stream = replace(model.recipe.stream, discrete=0.1)
    return replace(model, recipe=replace(model.recipe, stream=stream))


def kinds(
    x: np.ndarray, model: TrainedModel, cond: Sequence[int] = (2,), **options: Any
) -> tuple[str, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AcidWarning)
        return Tester(x, model=model, **options).test(0, 1, cond).unlike_training


def test_nothing_to_say_of_data_like_training(model: TrainedModel, plain: np.ndarray) -> None:
    result = Tester(plain, model=model).test(0, 1)
    assert result.unlike_training == ()
    assert result.distance is not None
    assert 0 < result.distance < 1


def test_sizes(tiny_model: TrainedModel, plain: np.ndarray) -> None:
    assert kinds(plain[:19], tiny_model) == ("few samples",)
    assert kinds(plain[:20], tiny_model) == ()
    rng = np.random.default_rng(2)
    assert kinds(rng.normal(size=(250, 3)), tiny_model) == ("many samples",)
    wide = rng.normal(size=(60, 8))
    assert kinds(wide, tiny_model, range(2, 7)) == ()
    assert kinds(wide, tiny_model, range(2, 8)) == ("large set",)
    # A constant column is no member of the set.
    wide[:, 7] = 1.0
    assert kinds(wide, tiny_model, range(2, 8)) == ()


@pytest.mark.parametrize("column", [0, 1, 2])
def test_ties(tiny_model: TrainedModel, plain: np.ndarray, column: int) -> None:
    plain[:, column] = np.floor(plain[:, column])
    assert kinds(plain, tiny_model) == ("ties",)
    assert kinds(plain, tiny_model, (3,)) == (("ties",) if column < 2 else ())
    assert kinds(plain, trained_on_levels(tiny_model)) == ()


@pytest.mark.parametrize(("levels", "told"), [(2, False), (6, False), (8, True), (15, True)])
def test_codes_of_many_categories(tiny_model: TrainedModel, levels: int, told: bool) -> None:
    """Where training had levels, only those of Z can be too many; X and Y may have any number."""
    x = np.random.default_rng(9).normal(size=(120, 4))
    x[:, 2] = np.arange(120) % levels
    model = trained_on_levels(tiny_model)
    assert kinds(x, model) == (("ties",) if told else ())
    assert kinds(x[:, [2, 0, 1, 3]], model) == ()
    assert kinds(x, tiny_model) == ("ties",)


def test_only_whole_numbers_may_be_codes(tiny_model: TrainedModel) -> None:
    """Sizes in tenths have few values, too, and columns with outliers may have many."""
    rng = np.random.default_rng(10)
    x = rng.normal(size=(150, 3))
    model = trained_on_levels(tiny_model)
    code = np.arange(150) % 8
    x[:, 2] = code
    with pytest.warns(AcidWarning, match="conditions on a column of 8 different whole numbers"):
        Tester(x, model=model).test(0, 1, (2,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # who says that they have an order need not say more
        Tester(x, model=model, ordered=[2]).test(0, 1, (2,))
    x[:, 2] = 2 + code / 10
    assert kinds(x, model) == ()
    x[:, 2] = np.where(rng.random(150) < 0.8, code, np.arange(100, 250))
    assert len(np.unique(x[:, 2])) > 20
    assert kinds(x, model) == ()


def test_rounded_numbers_are_no_ties(tiny_model: TrainedModel, plain: np.ndarray) -> None:
    assert kinds(np.round(plain, 1), tiny_model) == ()


def test_repeated_rows(tiny_model: TrainedModel) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(100, 4))
    assert kinds(x[rng.integers(0, 100, 100)], tiny_model) == ("repeated rows",)
    few = round(REPEATED * 100)
    assert kinds(np.vstack([x, x[:few]]), tiny_model) == ()
    assert kinds(np.vstack([x, x[: few + 2]]), tiny_model) == ("repeated rows",)
    # The rows of a table are what repeats, not those of the columns of a question.
    half = x.copy()
    half[:50, :3] = half[50:, :3]
    assert kinds(half, tiny_model) == ()


def test_repeated_rows_are_used_once(tiny_model: TrainedModel) -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(100, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AcidWarning)
        once = Tester(x, model=tiny_model).test(0, 1, (2,))
        twice = Tester(np.vstack([x, x]), model=tiny_model).test(0, 1, (2,))
    assert twice.n == 100
    assert twice.pvalue == pytest.approx(once.pvalue, abs=1e-4)


def test_copies_of_rounded_rows_are_used_once() -> None:
    """No column of the Sachs table has mostly different values, but its rows all differ."""
    values = load_sachs().data[:, [4, 0, 1, 3, 5]]
    drawn = np.random.default_rng(1).integers(0, len(values), len(values))
    with pytest.warns(AcidWarning, match="of the rows repeat others"):
        resampled = Tester(values[drawn]).test(1, 3, [2, 4])
    once = Tester(values[np.unique(drawn)]).test(1, 3, [2, 4])
    assert resampled.statistic == pytest.approx(once.statistic, abs=1e-4)
    assert np.isfinite(once.statistic)


def test_rows_repeat_by_chance_in_a_table_of_few_values(tiny_model: TrainedModel) -> None:
    rng = np.random.default_rng(4)
    levels = rng.integers(0, 3, size=(120, 3)).astype(float)
    assert kinds(levels, tiny_model) == ("ties",)
    years = np.column_stack([rng.integers(20, 60, 120), levels[:, :2]]).astype(float)
    assert kinds(years, tiny_model) == ("ties",)


def test_rounding_and_counting_lose_no_rows(tiny_model: TrainedModel) -> None:
    rng = np.random.default_rng(6)
    x = rng.integers(0, 25, 5000).astype(float)
    table = np.column_stack([x, x + rng.integers(-1, 2, 5000), rng.integers(0, 3, 5000)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AcidWarning)
        assert Tester(table, model=tiny_model).test(0, 1).n == 5000


@pytest.mark.parametrize("levels", [1, 2, 8])
def test_copies_of_a_column_of_few_values_lose_no_rows(
    tiny_model: TrainedModel, levels: int
) -> None:
    """As many rows differ as values, which are few: that is no sample of rows."""
    x = np.arange(60.0) % levels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AcidWarning)
        assert Tester(np.column_stack([x, 2 * x]), model=tiny_model).test(0, 1).n == 60
    if levels == 1:
        with pytest.warns(AcidWarning, match="constant columns are independent of everything"):
            Tester(np.column_stack([x, x]), model=tiny_model).test(0, 1)


def test_a_sorted_table_of_few_values_is_no_function(model: TrainedModel) -> None:
    """Rows of one value of Z have no order among them, whatever the file's."""
    rng = np.random.default_rng(7)
    sex = rng.integers(0, 2, 600)
    iq = rng.integers(0, 4, 600)
    table = np.column_stack([iq, iq + rng.integers(0, 2, 600), sex]).astype(float)
    in_order = table[np.lexsort(table.T)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AcidWarning)
        pvalues = [Tester(t, model=model).test(0, 1, (2,)).pvalue for t in (table, in_order)]
    assert pvalues[1] == pytest.approx(pvalues[0], rel=1e-3)
    assert pvalues[0] < 0.05


def test_one_value_in_each_cell_is_a_function(model: TrainedModel) -> None:
    rng = np.random.default_rng(8)
    z = rng.integers(0, 5, 300)
    code, x = np.array([3.0, -1.0, 7.0, 0.0, 2.0])[z], rng.normal(size=300)
    tester = Tester(np.column_stack([code, x, z]).astype(float), model=model)
    with pytest.warns(AcidWarning, match="deterministic"):
        assert tester.test(0, 1, (2,)).pvalue == 1
    code[0] += 1  # one row that differs is enough
    tester = Tester(np.column_stack([code, x, z]).astype(float), model=model)
    rows = tester._all_rows
    assert not rows.measures.is_function_of(0, (2,))
    assert rows.measures.is_function_of(2, (0,))


def test_serial_rows(tiny_model: TrainedModel) -> None:
    rng = np.random.default_rng(5)
    walks = np.cumsum(rng.normal(size=(150, 3)), axis=0)
    assert kinds(walks, tiny_model) == ("serial rows",)
    assert kinds(walks[rng.permutation(150)], tiny_model) == ()
    walks[:, 1] = rng.normal(size=150)  # one independent row after another is enough
    assert kinds(walks, tiny_model) == ()


def test_rows_that_are_alike_no_longer_given_their_pasts(tiny_model: TrainedModel) -> None:
    rng = np.random.default_rng(6)
    series = np.zeros((301, 2))
    for t in range(1, 301):
        series[t] = 0.9 * series[t - 1] + rng.normal(size=2)
    now, past = series[1:200], series[:199]
    table = np.column_stack([now, past])
    assert "serial rows" in kinds(table, tiny_model, ())
    assert kinds(table, tiny_model, (2, 3)) == ()
    assert kinds(table, tiny_model, (2,)) == ()  # one independent row after another is enough


def test_a_sorted_table_is_no_series(tiny_model: TrainedModel) -> None:
    """Within the groups by which it is sorted rows have no order."""
    rng = np.random.default_rng(7)
    group = np.repeat([0.0, 1.0, 2.0], 50)
    table = np.column_stack([*(2 * group + rng.normal(size=(2, 150))), group])
    assert kinds(table, tiny_model, ()) == ()
    assert kinds(table[::-1], tiny_model, ()) == ()
    assert kinds(table[:, :2], tiny_model, ()) == ("serial rows",)  # nothing tells of the groups
    walks = np.column_stack([np.cumsum(rng.normal(size=(150, 2)), axis=0), group])
    assert kinds(walks, tiny_model, ()) == ("serial rows",)
    quarters = np.column_stack([walks[:, :2], np.arange(150) // 4])  # years are no groups
    assert kinds(quarters, tiny_model, ()) == ("serial rows",)


def test_unfamiliar_data(model: TrainedModel, plain: np.ndarray) -> None:
    plain[:, 0] = np.where(plain[:, 0] > 1.2, 1.0, 0.0)
    tester = Tester(plain, model=model)
    with pytest.warns(AcidWarning) as warned:
        result = tester.test(0, 1)
    usual = tester.test(1, 2)
    assert usual.distance is not None
    assert result.distance is not None
    assert usual.distance < 1 < result.distance
    assert result.unlike_training == ("ties", "unfamiliar data")
    assert sum("unlike nearly all questions" in str(w.message) for w in warned) == 1
    assert "(X1, X2 | )" in str(warned[-1].message)


def test_a_rare_unfamiliar_question_is_chance(model: TrainedModel) -> None:
    """It is marked, but among many that are fine there is no warning."""
    x = np.random.default_rng(6).normal(size=(60, 30))
    model = trained_on_levels(model)
    x[:, 0] = np.where(x[:, 0] > 1.2, 1.0, 0.0)
    asked = [(i, j, ()) for i in range(1, 20) for j in range(1, i)]
    distances = [result.distance for result in Tester(x, model=model).test_many(asked)]
    fine = [q for q, r in zip(asked, distances, strict=True) if r is not None and r < 1][:100]
    assert len(fine) == 100
    *_, last = Tester(x, model=model).test_many([*fine, (0, 1, ())])  # warnings are errors here
    assert last.unlike_training == ("unfamiliar data",)
    with pytest.warns(AcidWarning, match="unlike nearly all questions"):
        Tester(x, model=model).test_many([*fine[:3], (0, 1, ())])


def test_each_kind_is_warned_of_once(tiny_model: TrainedModel, plain: np.ndarray) -> None:
    tester = Tester(plain[:19], model=tiny_model)
    with pytest.warns(AcidWarning, match="fewer than the 20") as warned:
        results = tester.test_many([(0, 1, ()), (1, 2, ()), (2, 3, ())])
    assert len(warned) == 1
    assert warned[0].filename == __file__
    assert all(result.unlike_training == ("few samples",) for result in results)
    for same in (tester, copy.deepcopy(tester), pickle.loads(pickle.dumps(tester))):
        assert same.test(0, 2).unlike_training == ("few samples",)


def test_fitted_nulls_point_to_permutations(tiny_model: TrainedModel, plain: np.ndarray) -> None:
    with pytest.warns(AcidWarning, match='null="checked" checks rejections by permuting the rows'):
        ci_test(plain[:10, 0], plain[:10, 1], model=tiny_model)
    with pytest.warns(AcidWarning, match="power there is unknown"):
        ci_test(plain[:10, 0], plain[:10, 1], model=tiny_model, null="permutation", permutations=19)


def test_without_a_reference_there_is_no_distance(
    tiny_model: TrainedModel, plain: np.ndarray
) -> None:
    assert Tester(plain, model=tiny_model).test(0, 1).distance is None


def test_where_nothing_could_depend_nothing_is_unlike(
    model: TrainedModel, plain: np.ndarray
) -> None:
    plain[:, 0] = 1.0
    with pytest.warns(AcidWarning, match="constant"):
        result = Tester(plain, model=model).test(0, 1)
    assert result.unlike_training == ()
    assert result.distance is None


def test_gaps_decide_which_rows_are_looked_at(tiny_model: TrainedModel) -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(100, 4))
    x[80:] = x[:20]
    x[80:, 3] = np.nan
    assert kinds(x, tiny_model, (3,), missing="drop") == ()
    assert kinds(np.nan_to_num(x), tiny_model, (2,)) == ()


def test_models_of_ranks_are_warned_of_two_categories() -> None:
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.integers(0, k, 200) for k in (3, 4, 2, 9)]).astype(float)
    levels = {k: tuple(map(str, range(count))) for k, count in enumerate((3, 4, 2))}
    table = Table(values, tuple("abcd"), None, categories=levels)
    with pytest.warns(AcidWarning, match=r'\(a, b \| \) tests two categories.*"acid-base"'):
        assert "categories" in Tester(table, model="acid-ranks").test(0, 1).unlike_training
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for pair in ((0, 2), (0, 3)):  # two levels are a number
            assert "categories" not in Tester(table, model="acid-ranks").test(*pair).unlike_training
        assert Tester(table, model="acid-base").test(0, 1).unlike_training == ()
