"""Categories on their way from a table to the network: indicators, layouts, and whole questions."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from acid_causal.inference.rows.rows import Rows
from acid_causal.inference.tester import Tester
from acid_causal.tables.inputs import Table
from acid_causal.weights.checkpoint import TrainedModel, load_model

# acid-ranks warns of questions about two categories.
pytestmark = pytest.mark.filterwarnings("ignore:.*tests two categories")

Array = NDArray[np.float64]
MODELS = ["acid-base", "acid-ranks"]


def table(n: int = 300, seed: int = 0) -> Table:
    """A number, a binary category, three categories, and a number that two of them cause.

    The third category depends on the second; the fourth is noise.
    """
    rng = np.random.default_rng(seed)
    number, binary, second = rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 5, n)
    third = np.where(rng.random(n) < 0.6, second % 4, rng.integers(0, 4, n))
    effect = np.array([0.0, 2.0, -1.0, 0.5, 1.0])[second] + 0.3 * rng.normal(size=n)
    noise = rng.integers(0, 3, n)
    values = np.stack([number, binary, second, third, noise, effect], axis=1).astype(float)
    levels = {1: 2, 2: 5, 3: 4, 4: 3}
    categories = {k: tuple(f"level {i}" for i in range(count)) for k, count in levels.items()}
    return Table(values, tuple("abcdef"), None, categories=categories)


def renamed(of: Table, seed: int) -> Table:
    """Gives the levels of each category other codes."""
    rng, values = np.random.default_rng(seed), of.values.copy()
    for column, levels in of.categories.items():
        values[:, column] = rng.permutation(len(levels))[values[:, column].astype(int)]
    return replace(of, values=values)


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> TrainedModel:
    return load_model(request.param)


def test_the_network_reads_a_column_for_each_level(model: TrainedModel) -> None:
    rows = Rows(table(), (), model.network)
    assert [rows.width(k) for k in range(6)] == [1, 1, 5, 4, 3, 1]
    assert rows.components((0, 2, 4)) == (0, 2, 2, 2, 2, 2, 4, 4, 4)
    assert rows.columns((2,)).shape == (300, 5)
    assert rows.widths((0, 2, 4, 5)) == (1, 1, 3, 5)  # numbers first
    assert rows.conditioning((0, 2, 4, 5)).shape == (300, 10)
    assert rows.is_category((2,)) is model.network.config.keeps_values
    assert not rows.is_category((1,))  # two levels are as good as a number
    assert not rows.is_category((0, 2))


def test_levels_that_the_rows_lack_have_no_column() -> None:
    whole = table()
    few = Rows(
        replace(whole, values=whole.values[whole.values[:, 2] < 3]), (), load_model().network
    )
    assert few.width(2) == 3


def test_categories_are_seen_in_all_kinds_of_questions(model: TrainedModel) -> None:
    tester = Tester(table(), model=model)
    assert tester.test(2, 3).pvalue < 1e-3  # two categories
    assert tester.test(2, 5).pvalue < 1e-3  # a category and a number
    assert tester.test(2, 5, (0, 4)).pvalue < 1e-3
    assert tester.test(3, 5).pvalue < 1e-3
    assert tester.test(3, 5, (2,)).pvalue > 0.01  # by way of the second alone
    assert tester.test(3, 5, (1, 2)).pvalue > 0.01
    for independent in ((0, 4), (4, 5), (1, 3)):
        assert tester.test(*independent).pvalue > 0.01


def test_names_and_order_of_levels_and_of_rows_move_no_pvalue(model: TrainedModel) -> None:
    one = table(200, seed=1)
    order = np.random.default_rng(2).permutation(200)
    others = [renamed(one, 3), replace(one, values=one.values[order])]
    questions = [(3, 4, (2,)), (3, 5, (2, 4)), (0, 3, (1, 2)), (2, 5, ()), (4, 5, (0, 3))]
    expected = [r.pvalue for r in Tester(one, model=model).test_many(questions)]
    for other in others:
        got = [r.pvalue for r in Tester(other, model=model).test_many(questions)]
        # A network of ranks takes levels for numbers; equally frequent ones are tied pivots there.
        atol = 1e-4 if model.network.config.keeps_values else 1e-2
        np.testing.assert_allclose(got, expected, atol=atol)


def test_batches_of_mixed_questions_answer_as_single_ones(model: TrainedModel) -> None:
    tester = Tester(table(150, seed=4), model=model)
    questions = [
        (i, j, tuple(k for k in given if k not in (i, j)))
        for i in range(6)
        for j in range(i)
        for given in ((), (2,), (0, 2, 4))
    ]
    together = [r.pvalue for r in tester.test_many(questions)]
    # Every other question alone: of each pair one or two.
    single = [Tester(tester.table, model=model).test(*q).pvalue for q in questions[::2]]
    np.testing.assert_allclose(together[::2], single, atol=1e-4)


def test_a_category_that_z_determines_is_said_to_be(model: TrainedModel) -> None:
    one = table()
    values = one.values.copy()
    values[:, 3] = values[:, 2] % 4
    tester = Tester(replace(one, values=values), model=model)
    with pytest.warns(UserWarning, match="deterministic"):
        assert tester.test(3, 5, (2,)).pvalue == 1.0
    # Some levels being determined is no reason.
    values[:, 3] = np.where(values[:, 2] == 0, 3, one.values[:, 3] % 3)
    partly = Tester(replace(one, values=values), model=model).test(3, 5, (2,))
    assert 0.01 < partly.pvalue < 1


@pytest.mark.parametrize("null", ["permutation", "checked"])
def test_permutations_take_categories(null: str) -> None:
    tester = Tester(table(), model="acid-base", null=null, permutations=39)
    assert tester.test(2, 5, (0,)).pvalue < 0.05
    assert tester.test(3, 5, (2,)).pvalue > 0.05
    assert tester.test(2, 3, (4,)).pvalue < 0.05


def test_missing_levels_are_left_out() -> None:
    one = table()
    values = one.values.copy()
    values[:40, 2] = np.nan
    lacking = replace(one, values=values, absent=np.isnan(values))
    complete = replace(one, values=one.values[40:])
    assert Tester(lacking).test(2, 5, (0,)).pvalue == pytest.approx(
        Tester(complete).test(2, 5, (0,)).pvalue, abs=1e-4
    )
