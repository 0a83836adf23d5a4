"""Shared pieces: tiny trained models, so that no test depends on the shipped weights' values."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shape_checks  # before the package, see there
import torch
from commands import Done, RunCommand
from jaxtyping import config

from acid_causal import errors
from acid_causal.calibration import fitting, skew_normal
from acid_causal.calibration.facts import Facts
from acid_causal.calibration.fitting import fit_null
from acid_causal.calibration.null import NullDistribution
from acid_causal.cli import main
from acid_causal.model import ACIDModel, ModelConfig
from acid_causal.synthetic import StreamConfig
from acid_causal.training import finetuning, trainer
from acid_causal.weights.checkpoint import TrainedModel
from acid_causal.weights.recipe import Recipe

torch.set_num_threads(1)

# Half a million objects of modules live as long as the session. To look for garbage among them
# takes half a second each time, so that is not done while they are loaded, nor afterwards.
gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


# ---- the checks of signatures, which only tests have -------------------------------


@pytest.fixture(autouse=True, scope="session")
def warnings_point_past_the_checks() -> Iterator[None]:
    """Counts the frames of the checks as the package's, between whose own they stand."""
    is_ours = errors._is_ours
    with pytest.MonkeyPatch.context() as patch:
        checks = ("jaxtyping.", "shape_checks")
        patch.setattr(errors, "_is_ours", lambda m: is_ours(m) or m.startswith(checks))
        yield


@pytest.fixture(autouse=True, scope="module")
def calls_of_other_files_do_not_count() -> None:
    shape_checks.forget_calls()


@pytest.fixture
def wrong_types() -> Iterator[None]:
    """Turns the checks off, for a test of what users see whose values are of another type."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "jaxtyping_disable", True)
        yield


# ---- models and data ---------------------------------------------------------------


@pytest.fixture(scope="session")
def tiny_model() -> TrainedModel:
    """A network with random weights and a null fitted to noise: fast, and every path is real."""
    recipe = Recipe(
        "tiny",
        model=ModelConfig(e=16, layers=1, attention_heads=2, head_count=4, smoother_rank=24),
        stream=StreamConfig(n=(20, 200), d_z=(0, 5)),
    )
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    m = 2000
    facts = Facts(
        n=rng.uniform(20, 200, m),
        d_z=rng.integers(0, 6, m).astype(float),
        explained_x=rng.uniform(0, 0.9, m),
        explained_y=rng.uniform(0, 0.9, m),
        pairs=rng.integers(1, 5, m).astype(float),
        nonlinear_x=np.zeros(m),
        nonlinear_y=np.zeros(m),
        categories=np.zeros(m),
        few_values=np.zeros(m),
        ties_x=np.zeros(m),
        ties_y=np.zeros(m),
    )
    # Each of the covariates matters to this null, so that none can be forgotten unnoticed.
    location = facts.covariates()[:, :5] @ [0.2, -0.1, 0.3, -0.2, 0.3]
    statistic = location + rng.normal(scale=0.3, size=m)
    null = NullDistribution.fit(statistic, statistic, facts)
    return TrainedModel(ACIDModel(recipe.model).eval(), null, recipe, {"steps": 0})


@pytest.fixture
def weights(tmp_path: Path, tiny_model: TrainedModel) -> Path:
    """The tiny model's weights file."""
    path = tmp_path / "tiny.safetensors"
    tiny_model.save(path)
    return path


@pytest.fixture
def rough_null(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits nulls roughly, to a hundred questions, for tests of what is done with them."""
    monkeypatch.setattr(skew_normal, "_MAX_STEPS", 3)

    def fit(*args: Any, **options: Any) -> NullDistribution:
        return fit_null(*args, **{**options, "questions": 100})

    for module in (fitting, finetuning, trainer):
        monkeypatch.setattr(module, "fit_null", fit)


@pytest.fixture
def given_null(monkeypatch: pytest.MonkeyPatch, tiny_model: TrainedModel) -> None:
    """Gives models the null of the tiny one, for tests of what is done before or after the fit."""
    for module in (finetuning, trainer):
        monkeypatch.setattr(module, "fit_null", lambda *_, **__: tiny_model.null)


@pytest.fixture(scope="session")
def table() -> np.ndarray:
    """120 x 6: x0 and x1 cause x2, x2 causes x3 nonlinearly, x4 and x5 stand alone."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(120, 6))
    x[:, 2] += x[:, 0] + 0.8 * x[:, 1]
    x[:, 3] = np.sin(x[:, 2]) + 0.5 * x[:, 3]
    return x


@pytest.fixture
def run_command(capsys: pytest.CaptureFixture[str]) -> RunCommand:
    """Runs a command in this process."""

    def run(*arguments: object) -> Done:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Done(int(ended.value.code or 0), captured.out, captured.err)

    return run
