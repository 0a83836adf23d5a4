"""Global settings of other libraries: none moves an answer, none is changed, and none is needed."""

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from causallearn.search.ConstraintBased.PC import pc

from acid_causal import acid, discover
from acid_causal.compute import settings
from acid_causal.compute.settings import answering_settings, training_settings
from acid_causal.inference.tester import Tester, ci_test
from acid_causal.training.finetuning import finetune
from acid_causal.weights import shared
from acid_causal.weights.checkpoint import TrainedModel, load_model

CPU = torch.device("cpu")


def setting(read: Callable[[], Any], write: Callable[[Any], Any], value: Any) -> Any:
    """Returns a context in which a global setting has a value, put back afterwards."""

    @contextmanager
    def changed() -> Iterator[None]:
        before = read()
        write(value)
        try:
            yield
            assert read() == value  # as the user had set it
        finally:
            write(before)

    return changed


def set_default_device(kind: str) -> None:
    # A default that is set, the usual one too, makes every operation of torch slower.
    torch.set_default_device(None if kind == "cpu" else kind)


@contextmanager
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        yield
        assert list(warnings.filters) == before


CHANGES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "np.errstate": lambda: np.errstate(all="raise"),
    "default dtype": setting(torch.get_default_dtype, torch.set_default_dtype, torch.float64),
    "default device": setting(lambda: torch.get_default_device().type, set_default_device, "meta"),
    "device context": lambda: torch.device("meta"),
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "matrix products": setting(
        torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "medium"
    ),
    "determinism": setting(
        torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, 2
    ),
    "threads": setting(torch.get_num_threads, torch.set_num_threads, 2),
    "warnings": warnings_are_errors,
}


@pytest.fixture(params=CHANGES)
def change(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Each setting, and whatever was read under another one forgotten."""
    shared._load.cache_clear()
    generator = torch.get_rng_state()
    yield CHANGES[request.param]
    assert torch.equal(torch.get_rng_state(), generator)
    shared._load.cache_clear()


def answers(table: np.ndarray) -> list[float]:
    x, y, z = table[:, 0], table[:, 3], table[:, [2, 4]]
    tester = Tester(table)
    many = tester.test_many([(0, 1, ()), (1, 3, (2,)), (4, 5, (0, 1, 2))])
    return [ci_test(x, y, z).pvalue, ci_test(x, y).pvalue, *(r.pvalue for r in many)]


@pytest.fixture(scope="module")
def expected(table: np.ndarray) -> list[float]:
    """The answers where no setting is changed."""
    return answers(table)


def test_no_setting_moves_an_answer(change: Any, table: np.ndarray, expected: list[float]) -> None:
    with change():
        got = answers(table)
    np.testing.assert_allclose(got, expected, atol=1e-6)
    np.testing.assert_allclose(answers(table), expected, atol=1e-6)  # of what it has loaded


def graphs(table: np.ndarray) -> list[np.ndarray]:
    table = table[:90, :3]  # a collider
    plain = pc(table, 0.05, acid, show_progress=False).G.graph
    return [plain, discover(table).endpoints, discover(table, method="fci").endpoints]


@pytest.fixture(scope="module")
def expected_graphs(table: np.ndarray) -> list[np.ndarray]:
    return graphs(table)


def test_no_setting_moves_a_graph(
    change: Any, table: np.ndarray, expected_graphs: list[np.ndarray]
) -> None:
    # causal-learn itself computes under whatever is set, and has warnings of its own.
    with change(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="causallearn")
        got = graphs(table)
    for one, other in zip(got, expected_graphs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.fixture(scope="module")
def parent_file(tiny_model: TrainedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose stream is of small tables."""
    stream = replace(tiny_model.recipe.stream, entries=1500, n=(30, 60), d_z=(0, 3))
    path = tmp_path_factory.mktemp("weights") / "parent.safetensors"
    replace(tiny_model, recipe=replace(tiny_model.recipe, stream=stream)).save(path)
    return path


@pytest.fixture(scope="module")
def usual(table: np.ndarray, parent_file: Path) -> TrainedModel:
    """The model where no setting is changed; its null is not fitted."""
    with pytest.MonkeyPatch.context() as patch:
        keep_null(patch, parent_file)
        return tuned(table, parent_file)


def keep_null(patch: pytest.MonkeyPatch, parent: Path) -> None:
    null = load_model(parent).null
    patch.setattr("acid_causal.training.finetuning.fit_null", lambda *_, **__: null)


def tuned(table: np.ndarray, parent: Path) -> TrainedModel:
    return finetune(
        table, model=load_model(parent), steps=2, null_questions=1000, device="cpu", progress=False
    )


def check_alike(one: TrainedModel, other: TrainedModel) -> None:
    weights = other.network.state_dict()
    for name, tensor in one.network.state_dict().items():
        torch.testing.assert_close(weights[name], tensor, atol=1e-5, rtol=1e-4)


def test_no_setting_moves_a_finetuned_network(
    change: Any,
    table: np.ndarray,
    parent_file: Path,
    usual: TrainedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keep_null(monkeypatch, parent_file)
    with change():
        check_alike(tuned(table, parent_file), usual)


@pytest.mark.slow
def test_no_setting_moves_a_finetuned_null(table: np.ndarray, parent_file: Path) -> None:
    usual = tuned(table, parent_file)
    with ExitStack() as stack:
        for change in CHANGES.values():
            stack.enter_context(change())
        got = tuned(table, parent_file)
    check_alike(got, usual)
    np.testing.assert_allclose(got.null.pooled, usual.null.pooled, rtol=1e-3)


def test_a_shared_setting_is_put_back_by_the_last_thread() -> None:
    read, write = torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode
    inside, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with answering_settings(CPU):
            inside.set()
            leave.wait(10)

    with setting(read, write, 1)():
        thread = threading.Thread(target=stay)
        with answering_settings(CPU):
            thread.start()
            assert inside.wait(10)
        assert read() == 0  # the thread still computes
        leave.set()
        thread.join()
        assert read() == 1


def test_training_has_gradients_and_float32_whatever_is_set() -> None:
    with setting(torch.get_default_dtype, torch.set_default_dtype, torch.float64)():
        with torch.inference_mode(), training_settings(CPU):
            x = torch.ones(3, requires_grad=True)
            assert x.dtype == torch.float32
            x.sum().backward()
            assert x.grad is not None
        assert torch.ones(3).dtype == torch.float64


def test_a_failure_puts_everything_back() -> None:
    with warnings_are_errors(), CHANGES["determinism"]():
        with pytest.raises(KeyError), answering_settings(CPU):
            raise KeyError
        assert torch.get_deterministic_debug_mode() == 2


def test_foreign_warnings_are_no_errors_and_ours_may_be(
    table: np.ndarray, tiny_model: TrainedModel
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with answering_settings(CPU):
            for module in ("torch.nn", "numpy", "acid_causal.model.acid"):
                warnings.warn_explicit("odd", UserWarning, "file.py", 1, module=module)
        with pytest.raises(UserWarning, match="constant"):
            ci_test(np.zeros(30), table[:30, 0], model=tiny_model)


# ---- forks -------------------------------------------------------------------------------------

FORKS = """
import sys, multiprocessing
import numpy as np, torch
from acid_causal import ci_test
torch.set_num_threads(2)
x, y = np.random.default_rng(0).normal(size=(2, 1500))

def ask(_):
    before = torch.get_num_threads()
    p = ci_test(x, y).pvalue
    assert torch.get_num_threads() == before
    return p

expected = ask(0)
for backend in sys.argv[1:]:
    if backend == "fork":
        with multiprocessing.get_context("fork").Pool(2) as pool:
            got = pool.map(ask, range(4))
    else:
        import joblib
        got = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(ask)(k) for k in range(4))
    assert len(got) == 4 and max(abs(p - expected) for p in got) < 1e-4, (backend, expected, got)
    assert torch.get_num_threads() == 2, backend
    print(backend, "answered", file=sys.stderr)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
@pytest.mark.parametrize(
    "backends",
    [
        ["fork", "multiprocessing", "threading"],
        pytest.param(["loky"], marks=pytest.mark.slow),
    ],
)
def test_workers_answer_once_their_parent_has(backends: list[str]) -> None:
    """In a process of its own, as a hang would be for ever."""
    command = [sys.executable, "-W", "ignore", "-c", FORKS, *backends]
    done = subprocess.run(command, timeout=120, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_fork_forgets_the_threads_of_its_parent() -> None:
    """Called by hand: what a fork in the middle of another thread's computation leaves behind."""
    read, write = torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode
    with setting(read, write, 1)():
        settings._DETERMINISM.standard().__enter__()
        settings._LOCK.acquire()
        try:
            settings._after_fork()
            assert read() == 1
            with answering_settings(CPU):
                assert read() == 0
                assert torch.get_num_threads() == 1
            assert read() == 1
        finally:
            settings._forked = False
