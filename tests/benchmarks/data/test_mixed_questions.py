"""Questions about mixed tables have the kinds and the labels that are asked for."""

import itertools

import numpy as np
import pytest

from acid_causal.errors import OptionError
from acid_causal.synthetic import KINDS_OF_PAIRS, KINDS_OF_Z
from benchmarks.data.mixed_model import MOST_LEVELS, RELATIONS
from benchmarks.data.mixed_questions import draw_question

CELLS = list(itertools.product(KINDS_OF_PAIRS, KINDS_OF_Z, RELATIONS, (False, True)))


@pytest.mark.parametrize("d_z", [0, 1, 3])
def test_kinds_and_shapes(d_z: int) -> None:
    for pair, given, relation, dependent in CELLS:
        for seed in range(5):
            question = draw_question(
                pair, given, 150, d_z, relation=relation, dependent=dependent, seed=seed
            )
            assert question.values.shape == (150, 2 + d_z)
            assert np.isfinite(question.values).all()
            kinds = sorted("category" if count else "numeric" for count in question.levels[:2])
            assert kinds == sorted(pair.split("-"))
            of_z = [count > 0 for count in question.levels[2:]]
            expected = {"numeric": [False] * d_z, "categorical": [True] * d_z}
            assert of_z == expected.get(given, [k % 2 == 1 for k in range(d_z)])
            for column, count in zip(question.values.T, question.levels, strict=True):
                if count:
                    assert set(column) == set(range(count))
                    assert count <= MOST_LEVELS
                else:
                    assert column.mean() == pytest.approx(0, abs=1e-9)
                    assert column.std() == pytest.approx(1)


def test_equal_seeds_give_equal_questions() -> None:
    one, same, other = (
        draw_question(
            "numeric-category", "mixed", 100, 2, relation="nonlinear", dependent=True, seed=s
        )
        for s in (3, 3, 4)
    )
    np.testing.assert_array_equal(one.values, same.values)
    assert not np.array_equal(one.values, other.values)


def test_without_z_the_label_is_what_a_plain_test_sees() -> None:
    """Of independent lines about 5 % are rejected, of dependent ones nearly all."""
    rejected = {False: 0, True: 0}
    for dependent, seed in itertools.product((False, True), range(100)):
        x, y = draw_question(
            "numeric-numeric", "numeric", 200, 0, relation="linear", dependent=dependent, seed=seed
        ).values.T
        rejected[dependent] += abs(np.corrcoef(x, y)[0, 1]) > 0.139  # the 5 % point of 200 rows
    assert rejected[False] <= 12
    assert rejected[True] == 100


def test_unknown_kinds() -> None:
    with pytest.raises(OptionError, match="unknown relation 'nonlinar'"):
        draw_question(
            "numeric-numeric", "numeric", 50, 1, relation="nonlinar", dependent=True, seed=0
        )
    with pytest.raises(OptionError, match="unknown pair"):
        draw_question("a-b", "numeric", 50, 1, relation="linear", dependent=True, seed=0)
