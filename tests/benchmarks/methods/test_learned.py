"""Many tables in a batch get the p-values that each gets alone."""

import numpy as np
import pytest

from acid_causal import ci_test
from benchmarks.methods import get_method
from benchmarks.methods.method import Question


def questions(d_z: int, count: int = 6, n: int = 60) -> list[Question]:
    generator = np.random.default_rng(d_z)
    drawn: list[Question] = []
    for _ in range(count):
        z = generator.normal(size=(n, d_z)) if d_z else None
        x, y = generator.normal(size=(2, n, 1))
        drawn.append((x + (0 if z is None else z[:, :1]), y + 0.5 * x, z))
    return drawn


@pytest.mark.parametrize(
    ("name", "d_z"), [("acid", 0), ("acid", 1), ("acid", 3), ("acid:acid-ranks", 1)]
)
def test_batches_change_no_pvalue(name: str, d_z: int) -> None:
    method, asked = get_method(name), questions(d_z)
    assert method.in_batches is not None
    np.testing.assert_allclose(method.in_batches(asked), method.pvalues(asked), atol=1e-3)


def test_models_of_the_papers_are_asked_with_the_sized_null() -> None:
    asked = questions(5, count=3)
    for name, null in (("acid-ranks", "conditional"), ("acid-mlp16", "sized")):
        method = get_method(f"acid:{name}")
        expected = [ci_test(*question, model=name, null=null).pvalue for question in asked]
        assert method.in_batches is not None
        np.testing.assert_allclose(method.pvalues(asked), expected)
        np.testing.assert_allclose(method.in_batches(asked), expected, atol=1e-3)
        assert ("sized" in method.note) == (null == "sized")


@pytest.mark.filterwarnings("ignore::acid_causal.errors.AcidWarning")
@pytest.mark.parametrize("d_z", [8, 9, 10])
def test_sets_that_leave_few_rows_are_answered_as_alone(d_z: int) -> None:
    """With 12 rows a set of 8 leaves enough for a test, and one of 9 does not."""
    method, asked = get_method("acid"), questions(d_z, count=3, n=12)
    assert method.in_batches is not None
    got = method.in_batches(asked)
    np.testing.assert_allclose(got, method.pvalues(asked), atol=1e-3)
    assert (got == [1.0] * 3) == (d_z > 8)


@pytest.mark.filterwarnings("ignore::acid_causal.errors.AcidWarning")
def test_what_cannot_go_in_a_batch_is_asked_alone() -> None:
    asked = questions(2)
    x, y, z = asked[0]
    assert z is not None
    asked[0] = (np.ones_like(x), y, z)  # constant
    asked[1] = (asked[1][2][:, :1] * 2, asked[1][1], asked[1][2])  # type: ignore[index]
    method = get_method("acid")
    assert method.in_batches is not None
    got = method.in_batches(asked)
    assert got[:2] == [1.0, 1.0]
    np.testing.assert_allclose(got, method.pvalues(asked), atol=1e-3)
