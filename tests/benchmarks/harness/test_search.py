from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from causallearn.search.ConstraintBased.FCI import fci
from causallearn.search.ConstraintBased.PC import pc

from acid_causal.data.sachs import load_sachs
from acid_causal.weights.checkpoint import TrainedModel
from benchmarks.harness.search import search


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    return np.log(load_sachs().data[:300])


def test_counting_does_not_change_pc(table: np.ndarray) -> None:
    counted = search("pc", "fisherz", table)
    plain = pc(table, 0.05, "fisherz", show_progress=False)
    np.testing.assert_array_equal(counted.endpoints, plain.G.graph)
    # causal-learn keeps three entries beside its p-values.
    assert counted.tests_computed == len(plain.test.pvalue_cache) - 3
    assert counted.tests_asked > counted.tests_computed
    assert counted.seconds > 0


def test_counting_does_not_change_fci(table: np.ndarray) -> None:
    counted = search("fci", "fisherz", table, alpha=0.1)
    plain, _ = fci(table, "fisherz", 0.1, show_progress=False)
    np.testing.assert_array_equal(counted.endpoints, plain.graph)
    assert counted.tests_asked >= counted.tests_computed > 0


def test_fci_keeps_quiet(table: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
    search("fci", "fisherz", table)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("algorithm", ["pc", "fci"])
def test_acid_counts_for_itself(
    algorithm: Literal["pc", "fci"], table: np.ndarray, tiny_model: TrainedModel, tmp_path: Path
) -> None:
    path = tmp_path / "tiny.safetensors"
    tiny_model.save(path)
    found = search(algorithm, f"acid:{path}", table[:200, :5])
    assert found.tests_computed >= 10
    assert found.tests_asked >= 10


def test_questions_are_those_asked(table: np.ndarray) -> None:
    found = search("pc", "fisherz", table[:, :4])
    assert len(set(found.questions)) == found.tests_computed
    assert found.questions[:6] == tuple((i, j, ()) for i in range(4) for j in range(i + 1, 4))
    assert all(i < j and list(cond) == sorted(cond) for i, j, cond in found.questions)


def test_options_reach_the_test(
    table: np.ndarray, tiny_model: TrainedModel, tmp_path: Path
) -> None:
    tiny_model.save(tmp_path / "tiny.safetensors")
    method = f"acid:{tmp_path / 'tiny.safetensors'}"
    options = {"cache_path": str(tmp_path / "pvalues.json"), "prefetch": False}
    cold = search("pc", method, table[:100, :5], options=options)
    assert cold.tests_computed == len(cold.questions)
    warm = search("pc", method, table[:100, :5], options=options)
    assert warm.tests_computed == 0
    assert warm.questions == cold.questions
    np.testing.assert_array_equal(warm.endpoints, cold.endpoints)


def test_kcit_is_causal_learns_kci(table: np.ndarray) -> None:
    one, other = (search("pc", name, table[:60, :3]) for name in ("kcit", "kci"))
    np.testing.assert_array_equal(one.endpoints, other.endpoints)
    assert one.questions == other.questions


@pytest.mark.parametrize("method", ["acid", "degen_gauss"])
def test_tests_are_told_the_categories(method: str) -> None:
    """X acts on Y by a category whose codes are in no order; Z by nothing."""
    rng = np.random.default_rng(0)
    x, z = rng.integers(0, 3, 300), rng.normal(size=300)
    y = np.array([0.0, 2.0, 0.0])[x] + rng.normal(size=300)
    codes = np.stack([x, y, z], axis=1)
    found = search("pc", method, codes, categorical=[0])
    assert (found.endpoints != 0).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    # Codes that are numbers hide a relation that rises and falls from a linear test.
    named = search("pc", method, codes[:, [2, 1, 0]], categorical=[2])
    assert (named.endpoints != 0).tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
