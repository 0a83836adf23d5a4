"""The adapter with a real network behind it: tiny and untrained, as only the wiring is tested."""

import json
import multiprocessing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from causallearn.search.ConstraintBased.FCI import fci
from causallearn.search.ConstraintBased.PC import pc
from oracle import FisherZThroughACID, linear_data, random_dag

from acid_causal import ACID, acid
from acid_causal.calibration.designs import DESIGNS
from acid_causal.calibration.null import NullDistribution
from acid_causal.calibration.null_regression import NullRegression
from acid_causal.calibration.tail_maps import TailMaps
from acid_causal.errors import AcidWarning, CacheError, InputError, OptionError
from acid_causal.inference import tester
from acid_causal.model import ACIDModel, ModelConfig
from acid_causal.weights.checkpoint import TrainedModel
from acid_causal.weights.recipe import Recipe

QUIET = {"show_progress": False}


def table(seed: int = 0, d: int = 8) -> np.ndarray:
    return linear_data(random_dag(d, 3.0, seed), 200, seed)


def search(data: np.ndarray, name: str, path: Path) -> np.ndarray:
    return pc(data, 0.5, name, model=path, **QUIET).G.graph


def ask(test: ACID) -> float:
    return test(0, 1, (2, 3))


def flat_null(location: float, scale: float) -> NullDistribution:
    """The same normal distribution, pooled and whatever the question, up to any n and |Z|."""
    coefficients = np.zeros((3, DESIGNS[5].terms(np.zeros((1, 5))).shape[1]))
    coefficients[:2, 0] = location, np.log(scale)
    unmended = TailMaps(np.zeros((1, 1, 2, 1)))
    conditional = NullRegression(coefficients, unmended, low=np.full(5, -9.0), high=np.full(5, 9.0))
    return NullDistribution((location, scale, 0.0), conditional)


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    """A tiny random network, with a null that spreads its p-values over [0, 1]."""
    config = ModelConfig(e=8, layers=1, attention_heads=2, head_count=2, smoother_rank=16)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = ACIDModel(config).eval()
    bare = TrainedModel(network, flat_null(0.0, 1.0), Recipe("tiny", model=config))
    questions = [(i, j, c) for i in range(8) for j in range(i) for c in [(), (8,)]]
    logits = [r.statistic for r in tester.Tester(table(d=9), model=bare).test_many(questions)]
    null = flat_null(float(np.mean(logits)), float(np.std(logits)))
    return TrainedModel(network, null, Recipe("tiny", model=config))


def test_pc_with_acid(model: TrainedModel) -> None:
    found = pc(table(d=7), 0.5, acid, model=model, **QUIET)
    plain = pc(table(d=7), 0.5, "acid", model=model, prefetch=False, **QUIET)
    assert type(found.test) is ACID
    assert found.test.pvalue_cache.keys() == plain.test.pvalue_cache.keys()
    assert max(len(cond) for _, _, cond in found.test.pvalue_cache) >= 1
    for question, pvalue in plain.test.pvalue_cache.items():
        assert found.test.pvalue_cache[question] == pytest.approx(pvalue, abs=1e-4)
    np.testing.assert_array_equal(found.G.graph, plain.G.graph)
    assert found.test.n_batches < plain.test.n_batches / 3


def test_fci_with_acid(model: TrainedModel) -> None:
    graph, _ = fci(table(d=6), acid, 0.5, model=model, **QUIET)
    assert graph.get_num_nodes() == 6


def test_mvpc_with_acid(model: TrainedModel) -> None:
    data = table()
    data[::13, 3] = np.nan
    with pytest.raises(InputError, match="missing"), pytest.warns(AcidWarning, match="mvpc"):
        pc(data, 0.3, acid, mvpc=True, model=model, **QUIET)
    with pytest.warns(AcidWarning, match=r"mvpc corrects the graph .* with Fisher-z") as warned:
        found = pc(data, 0.3, acid, mvpc=True, model=model, missing="drop", **QUIET)
    assert len(warned) == 1
    assert found.G.graph.shape == (8, 8)
    pc(data, 0.3, acid, model=model, missing="drop", **QUIET)  # warnings are errors here


def test_cache_of_other_data_or_options_is_refused(model: TrainedModel, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    test = ACID(table(), path, model=model, null="pooled")
    test(0, 1)
    test.save()
    del test
    assert ACID(table(), path, model=model, null="pooled").pvalue_cache
    for data, null in [(table(1), "pooled"), (table(), "conditional")]:
        with pytest.raises(CacheError, match="belongs to other"):
            ACID(data, path, model=model, null=null)


def test_misspelt_model() -> None:
    with pytest.raises(OptionError, match="no-such-model"):
        pc(table(), 0.05, acid, model="no-such-model", **QUIET)


# ---- other processes -----------------------------------------------------------------------------

# What a pickled name registers where nothing of the package was loaded before.
REGISTERED = "__import__('causallearn.utils.cit').utils.cit._custom_ci_tests[name].__name__"


def leave_a_cache(path: Path) -> None:
    """Asks one question, and lets the test live until the process ends."""
    kept.append(FisherZThroughACID(table(), path))
    kept[0](0, 1)


kept: list[ACID] = []


@dataclass(frozen=True)
class Answers:
    """What a process that Python started anew has answered and left behind."""

    loaded: bool  # whether it had the package before it got the pickled name
    registered: str
    pvalue: float
    graph: np.ndarray
    cache: Path


@pytest.fixture(scope="module")
def weights_file(model: TrainedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "tiny.safetensors"
    model.save(path)
    return path


@pytest.fixture(scope="module")
def answers(weights_file: Path) -> Answers:
    """Of one process for several tests, as its imports take seconds."""
    cache = weights_file.with_name("p.json")
    test = ACID(table(), model=weights_file)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found: dict[str, Any] = {
            "loaded": pool.apply(eval, ("'acid_causal' in __import__('sys').modules",)),
            "registered": pool.apply(eval, (REGISTERED, {"name": acid})),
            "pvalue": pool.apply(ask, (test,)),
            "graph": pool.apply(search, (table(d=5), acid, weights_file)),
        }
        pool.apply(leave_a_cache, (cache,))
        assert not cache.exists()
        pool.close()
        pool.join()
    return Answers(cache=cache, **found)


def test_pickled_name_registers_the_test_in_a_fresh_process(answers: Answers) -> None:
    assert not answers.loaded
    assert answers.registered == "ACID"


def test_cache_is_written_when_python_ends(answers: Answers) -> None:
    assert list(json.loads(answers.cache.read_text())["pvalues"]) == ["0;1"]


def check_worker(weights_file: Path, pvalue: float, graph: np.ndarray) -> None:
    assert pvalue == pytest.approx(ACID(table(), model=weights_file)(0, 1, (2, 3)), abs=1e-4)
    np.testing.assert_array_equal(graph, search(table(d=5), acid, weights_file))


def test_fresh_worker_process_with_acid(answers: Answers, weights_file: Path) -> None:
    """A pickled test, and pc itself run in a worker with the pickled name."""
    check_worker(weights_file, answers.pvalue, answers.graph)


def test_forked_worker_process_with_acid(weights_file: Path) -> None:
    test = ACID(table(), model=weights_file)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pvalue = pool.apply(ask, (test,))
        graph = pool.apply(search, (table(d=5), acid, weights_file))
    check_worker(weights_file, pvalue, graph)
