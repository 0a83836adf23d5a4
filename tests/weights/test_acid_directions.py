"""What `acid-directions` was made for: one function of several causes in both X and Y."""

import numpy as np
import pytest

from acid_causal import Tester
from benchmarks.data.plain_cases import draw_case
from benchmarks.methods import get_method


def rejected(model: str, case: str, d_z: int, *, dependent: bool, count: int = 40) -> float:
    """Returns the share rejected at .05 of questions with 200 rows."""
    in_batches = get_method(f"acid:{model}").in_batches
    assert in_batches is not None
    seeds = range(count)
    asked = [draw_case(case, 200, d_z, dependent=dependent, seed=seed) for seed in seeds]
    return float(np.mean(np.asarray(in_batches(asked)) <= 0.05))


@pytest.mark.parametrize(
    ("case", "d_z"),
    [("squares", 4), ("exponentials", 4), ("products", 4), ("jumps", 4), ("waves", 2)],
)
def test_the_level_holds_with_few_rows_and_dependence_is_found(case: str, d_z: int) -> None:
    # Of 40 at a level of .05, more than 6 are rejected in 1 % of runs.
    assert rejected("acid-directions", case, d_z, dependent=False) <= 0.15
    assert rejected("acid-directions", case, d_z, dependent=True, count=20) >= 0.95


def test_the_default_model_does_not_hold_it() -> None:
    assert rejected("acid-base", "squares", 4, dependent=False, count=20) > 0.5


def test_order_of_rows_and_columns_and_units_move_no_pvalue() -> None:
    rng = np.random.default_rng(0)
    x, y, z = draw_case("squares", 150, 3, dependent=True, seed=0)
    assert z is not None
    table = np.hstack([x, y, z])
    expected = Tester(table, model="acid-directions").test(0, 1, (2, 3, 4)).log_pvalue
    rows = rng.permutation(150)
    moved = (3 - 7 * table)[rows][:, [0, 1, 4, 2, 3]]
    got = Tester(moved, model="acid-directions").test(0, 1, (2, 3, 4)).log_pvalue
    assert got == pytest.approx(expected, abs=1e-3)
    both = Tester(table, model="acid-directions").test_many([(0, 1, (2, 3, 4)), (0, 4, (2, 3))])
    assert both[0].log_pvalue == pytest.approx(expected, abs=1e-3)
