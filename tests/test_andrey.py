"""ACID inside andrey-core, the real package."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from acid_causal import causal_learn
from acid_causal.causal_learn import ACID
from acid_causal.discovery.discovery import discover
from acid_causal.errors import InputError, OptionError
from acid_causal.inference.tester import Tester
from acid_causal.weights.checkpoint import TrainedModel

pytestmark = pytest.mark.filterwarnings("ignore")  # of the package's own


@pytest.fixture
def frame() -> pd.DataFrame:
    """A collider, nonlinear: a and b cause c, c causes d; e and f hang on d."""
    rng = np.random.default_rng(0)
    a, b, *noise = rng.normal(size=(6, 400))
    c = np.sin(2 * a) + b + 0.3 * noise[0]
    d = np.tanh(c) + 0.2 * noise[1]
    e = d + 0.3 * noise[2]
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e, "f": e**2 + noise[3]})


def _pairs(structure: object) -> set[frozenset[str]]:
    edges = structure.oriented_edges()  # type: ignore[attr-defined]
    return {frozenset(edge[:2]) for edge in edges}


def test_pc_finds_our_skeleton_with_no_more_tests_or_batches(
    frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    import andrey

    import acid_causal.andrey  # noqa: F401

    made: list[ACID] = []

    def make(data: object, **options: Any) -> ACID:
        made.append(ACID(data, **options))
        return made[-1]

    monkeypatch.setattr(causal_learn, "ACID", make)
    found = andrey.pc(frame, indep_test="acid").structure
    ours = discover(frame, orient="first")  # which asks no further questions
    assert _pairs(found) == {frozenset((edge.a, edge.b)) for edge in ours.edges}
    arrows = {edge[:2] for edge in found.oriented_edges() if edge[2] == "directed"}
    assert {("a", "c"), ("b", "c"), ("c", "d")} <= arrows
    (test,) = made
    assert test.n_computed == len(ours.pvalues)
    deepest = max(len(cond) for _, _, cond in ours.pvalues)
    assert test.n_batches <= deepest + 3  # the first two questions are single


def test_fci_and_cdnod_run(frame: pd.DataFrame) -> None:
    import andrey

    import acid_causal.andrey  # noqa: F401

    pag = andrey.fci(frame, indep_test="acid").structure
    assert frozenset(("a", "c")) in _pairs(pag)
    assert frozenset(("a", "b")) not in _pairs(pag)
    domain = np.repeat([0.0, 1.0], 200)
    found = andrey.cdnod(frame[["a", "c"]], domain_index=domain, indep_test="acid").structure
    assert any({"a", "c"} == set(edge[:2]) for edge in found.oriented_edges())


def test_the_test_gives_the_testers_answers(frame: pd.DataFrame, tiny_model: TrainedModel) -> None:
    from andrey.core.ci import make_indep_test

    import acid_causal.andrey  # noqa: F401

    test = make_indep_test("acid", frame.to_numpy(), model=tiny_model)
    expected = Tester(frame, model=tiny_model).test(0, 3, (1, 2)).pvalue
    assert test(0, 3, (1, 2)) == test(3, 0, np.array([2, 1])) == expected
    assert "400 rows, 6 columns" in repr(test)
    with pytest.raises(OptionError, match="unknown option of acid"):
        make_indep_test("acid", frame.to_numpy(), modell=tiny_model)
    with pytest.raises(InputError):
        test(0, 0)


def test_another_name_has_its_own_options(
    frame: pd.DataFrame, tiny_model: TrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    import andrey

    import acid_causal.andrey as adapter

    made: list[Any] = []

    def make(data: object, **options: Any) -> ACID:
        made.append(ACID(data, **options))
        return made[-1]

    monkeypatch.setattr(causal_learn, "ACID", make)
    adapter.register("acid-checked", null="checked", model=tiny_model)
    andrey.pc(frame[["a", "b", "c"]], indep_test="acid-checked", alpha=0.02)
    # The level of the search decides the checked null, and what is predicted.
    assert made[0]._tester.alpha == made[0]._prefetch._given_alpha == 0.02
    with pytest.raises(InputError, match="has its own test 'fisherz'"):
        adapter.register("fisherz")
    with pytest.raises(OptionError, match="unknown option of acid 'nul'"):
        adapter.register("mine", nul="checked")
