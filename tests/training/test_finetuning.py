"""Fine-tuning: it adapts a copy, says what it did, and refuses what it cannot use."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import roc_auc_score

from acid_causal import ci_test, finetune, load_model
from acid_causal.calibration.scoring import score_pairs, transform_batch
from acid_causal.errors import AcidWarning, InputError, InputTypeError, OptionError
from acid_causal.synthetic import Batch, Stream
from acid_causal.synthetic.draws import seeded
from acid_causal.tables.inputs import read_table
from acid_causal.training import finetuning
from acid_causal.training.finetuning import PATIENCE, train_on
from acid_causal.training.table_questions import TableStream
from acid_causal.weights.checkpoint import TrainedModel
from acid_causal.weights.recipe import TrainingConfig


@pytest.fixture(scope="module")
def parent(tiny_model: TrainedModel) -> TrainedModel:
    stream = replace(tiny_model.recipe.stream, entries=800, n=(30, 60), d_z=(0, 3))
    return replace(tiny_model, recipe=replace(tiny_model.recipe, stream=stream))


def tuned(data: object, parent: TrainedModel, **options: Any) -> TrainedModel:
    usual: dict[str, Any] = {
        "steps": 4,
        "null_questions": 1000,
        "device": "cpu",
        "progress": False,
    }
    return finetune(data, model=parent, **(usual | options))


def same_weights(one: TrainedModel, other: TrainedModel) -> bool:
    theirs = other.network.state_dict()
    return all(torch.equal(v, theirs[k]) for k, v in one.network.state_dict().items())


@pytest.mark.usefixtures("rough_null")
def test_a_copy_is_tuned_and_says_so(
    parent: TrainedModel, table: np.ndarray, tmp_path: Path
) -> None:
    weights, before, data = parent.sha256, table.copy(), pd.DataFrame(table)
    model = tuned(data, parent, seed=3)
    np.testing.assert_array_equal(data.to_numpy(), before)
    assert replace(parent).sha256 == weights  # a new object, whose hash is taken anew
    assert not same_weights(model, parent)
    assert not model.network.training
    assert model.name == "tiny-finetuned"
    assert (model.recipe.model, model.recipe.seed) == (parent.recipe.model, 3)
    (stage,) = model.history["finetuned"]
    assert (stage["parent"], stage["parent_sha256"]) == ("tiny", weights)
    assert (stage["rows"], stage["columns"], stage["steps"], stage["seed"]) == (120, 6, 4, 3)
    assert model.history["steps"] == 4
    model.save(tmp_path / "mine.safetensors")
    again = load_model(tmp_path / "mine.safetensors")
    assert again.sha256 == model.sha256
    assert again.history == model.history
    x, y, z = table[:60, [0, 3, 2]].T
    assert ci_test(x, y, z, model=again).pvalue == ci_test(x, y, z, model=model).pvalue


@pytest.mark.usefixtures("given_null")
def test_tuning_a_tuned_model_keeps_its_past(parent: TrainedModel, table: np.ndarray) -> None:
    once = tuned(table, parent, name="mine")
    twice = tuned(table[:, :4] + 1.0, once, name="ours")
    first, second = twice.history["finetuned"]
    assert first == once.history["finetuned"][0]
    assert second["parent"] == "mine"
    assert second["parent_sha256"] == once.sha256
    assert first["data_sha256"] != second["data_sha256"]
    assert twice.history["steps"] == 8


@pytest.mark.usefixtures("given_null")
def test_it_depends_on_the_seed_and_on_nothing_else(
    parent: TrainedModel, table: np.ndarray
) -> None:
    torch.manual_seed(1)
    one = tuned(table, parent)
    state = torch.get_rng_state()
    torch.manual_seed(2)
    two = tuned(table.astype(np.float32).astype(float), parent)
    same = tuned(np.asfortranarray(table), parent)
    assert same.sha256 == one.sha256
    assert two.history["finetuned"] != one.history["finetuned"]
    assert not same_weights(tuned(table, parent, seed=1), one)
    torch.manual_seed(1)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.usefixtures("given_null")
def test_half_of_the_steps_are_about_the_table(
    parent: TrainedModel, table: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[type] = []
    for source in (TableStream, Stream):

        def draw(
            self: TableStream | Stream,
            generator: torch.Generator,
            *,
            original: Callable[..., Batch] = source.draw,
            kind: type = source,
            **size: Any,
        ) -> Batch:
            drawn.append(kind)
            return original(self, generator, **size)

        monkeypatch.setattr(source, "draw", draw)
    tuned(table, parent, steps=6)
    assert drawn[:6] == [TableStream, Stream] * 3


@pytest.mark.usefixtures("given_null")
def test_units_and_columns_of_no_matter(parent: TrainedModel, table: np.ndarray) -> None:
    scaled = np.exp(table) * 1e-9
    with pytest.warns(AcidWarning, match="constant columns .*left out: X7"):
        wide = tuned(np.column_stack([scaled, np.ones(120)]), parent)
    assert wide.history["finetuned"][0]["columns"] == 6
    assert same_weights(wide, tuned(table, parent))


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param(lambda x: np.sign(x), id="signs"),
        pytest.param(lambda x: np.column_stack([x, 2 * x, x[:, 0] + x[:, 1]]), id="collinear"),
        pytest.param(lambda x: x[:, :2], id="two columns"),
        pytest.param(lambda x: np.where(x > 1.5, 1e12, x), id="outliers"),
        pytest.param(lambda x: (x > 1.8).astype(int), id="rare ones"),
    ],
)
@pytest.mark.usefixtures("given_null")
def test_tables_unlike_any_other(
    parent: TrainedModel, table: np.ndarray, columns: Callable[[np.ndarray], np.ndarray]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = tuned(columns(table), parent)
    assert all(v.isfinite().all() for v in model.network.state_dict().values())


@pytest.mark.usefixtures("given_null")
def test_rows_that_lack_a_value(parent: TrainedModel, table: np.ndarray) -> None:
    lacking = table.copy()
    lacking[:15, 2] = np.nan
    with pytest.raises(InputError, match=r"missing values \(NaN\) in 'X3': 15"):
        tuned(lacking, parent)
    model = tuned(lacking, parent, missing="drop")
    assert model.history["finetuned"][0]["rows"] == 105
    assert same_weights(model, tuned(table[15:], parent))
    lacking[:, 4] = np.where(np.arange(120) < 30, np.nan, 0.0)
    with pytest.raises(InputError, match=r"90 rows without a missing value, of 120.*at least 100"):
        tuned(lacking, parent, missing="drop")


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (np.zeros((99, 3)), InputError, "99 rows; fine-tuning needs at least 100"),
        (np.zeros((100, 3)), InputError, "0 columns that vary; .* at least 2"),
        (np.arange(200.0)[:, None], InputError, "1 columns that vary; .* at least 2"),
        (np.full((200, 2), np.inf), InputError, "infinite values"),
        (np.full((200, 2), 1j), InputTypeError, "neither numbers nor texts"),
        (np.zeros(200), InputError, "must have shape"),
    ],
)
@pytest.mark.usefixtures("given_null")
def test_tables_that_cannot_be_used(
    parent: TrainedModel, data: np.ndarray, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tuned(data, parent)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("steps", 0, "steps must be at least 1, not 0"),
        ("learning_rate", -1.0, "learning_rate must be a positive number"),
        ("null_questions", 999, "null_questions must be at least 1000"),
        ("seed", -1, "seed must be from 0"),
        ("name", "a/b", "name must be letters"),
        ("missing", "dorp", "Did you mean 'drop'"),
        ("device", "tpu", "device"),
    ],
)
def test_options_that_have_no_such_value(
    parent: TrainedModel, table: np.ndarray, option: str, value: float | str, message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        tuned(table, parent, **{option: value})


def test_unknown_model(table: np.ndarray) -> None:
    with pytest.raises(OptionError, match=r"unknown model 'acid-bass'.*acid-base"):
        finetune(table, model="acid-bass")


@pytest.mark.parametrize("rate", [1e-12, 10.0], ids=["nothing moves", "all is lost"])
@pytest.mark.usefixtures("given_null")
def test_it_ends_when_nothing_more_is_gained(
    parent: TrainedModel,
    table: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rate: float,
) -> None:
    """The weights are those that answered held-out questions best: here the first ones."""
    monkeypatch.setattr(finetuning, "_CHECK_EVERY", 1)
    model = tuned(table, parent, steps=20, learning_rate=rate, progress=True)
    said = f"ended after {PATIENCE} of 20, as no more was gained"
    assert said in capsys.readouterr().err
    assert same_weights(model, parent)
    assert model.history["finetuned"][0]["steps"] == model.history["steps"] == 0


def test_it_goes_on_while_there_is_something_to_gain(
    parent: TrainedModel, table: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finetuning, "_CHECK_EVERY", 2)
    losses = iter([0.7, 0.69, 0.695, 0.6895, 0.68, 0.69])
    monkeypatch.setattr(finetuning._Best, "_held_out_loss", lambda _: next(losses))
    network, config = copy.deepcopy(parent.network), TrainingConfig(steps=9, warmup=1)
    stream = TableStream(torch.from_numpy(table).float(), 0, entries=500)
    batch = stream.draw(seeded("held out"))
    done = train_on(
        network, lambda _, g: stream.draw(g), config, seed=0, held_out=[batch], progress=False
    )
    assert done == 8  # .68; the last step of all is asked about, too
    assert list(losses) == []
    assert not network.training


def test_it_learns_what_a_table_is_like(parent: TrainedModel) -> None:
    """From random weights, a few dozen steps on a table tell its dependent pairs from others."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 3))
    x = np.abs(z) + 0.3 * rng.normal(size=(400, 3))
    values = torch.from_numpy(np.column_stack([z, x])).float()
    stream = TableStream(values, 0, entries=2000)
    network = copy.deepcopy(parent.network)
    config = TrainingConfig(steps=40, learning_rate=5e-3, warmup=5)

    def auc() -> float:
        logits, labels = [], []
        for number in range(10):
            batch = stream.draw(seeded("fresh", number))
            with torch.no_grad():
                scored = score_pairs(network, transform_batch(batch, network.transform))
            logits.append(scored.logit)
            labels.append(scored.label)
        return float(roc_auc_score(torch.cat(labels), torch.cat(logits)))

    before = auc()
    train_on(network, lambda _, g: stream.draw(g), config, seed=0, progress=False)
    assert auc() > max(0.75, before + 0.05)


def mixed_frame() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Numbers and a category of two levels; and these with a text and a column of codes."""
    numbers = np.random.default_rng(0).normal(size=(150, 3))
    frame = pd.DataFrame(numbers, columns=["a", "b", "c"]).assign(sex=["f", "m", "f"] * 50)
    return frame, frame.assign(kind=["u", "v", "w"] * 50, code=np.arange(150) % 4)


@pytest.mark.usefixtures("given_null")
def test_models_of_ranks_leave_categories_out(parent: TrainedModel) -> None:
    frame, mixed = mixed_frame()
    with pytest.warns(AcidWarning, match=r"categories of three levels .* left out.*: kind, code;"):
        adapted = tuned(mixed, parent, categorical=["code"])
    assert adapted.history["finetuned"][-1]["columns"] == 4
    assert same_weights(adapted, tuned(frame, parent))


@pytest.mark.usefixtures("given_null")
def test_models_of_values_learn_from_categories(parent: TrainedModel) -> None:
    _, mixed = mixed_frame()
    model = load_model("acid-base")
    stream = replace(parent.recipe.stream, categories=0.5)
    model = replace(model, recipe=replace(model.recipe, stream=stream))
    adapted = tuned(mixed, model, categorical=["code"], steps=2)  # without a warning
    assert adapted.history["finetuned"][-1]["columns"] == 6
    assert not same_weights(adapted, model)
    levels = finetuning._usable(read_table(mixed, categorical=["code"]), 0, categories=True)[1]
    assert levels == [1, 1, 1, 1, 3, 4]
