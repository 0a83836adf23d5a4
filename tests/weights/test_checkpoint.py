"""Trained models and their files: what goes in comes out, and nothing else gets in."""

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from full_disk import full_disk
from safetensors.torch import save_file

from acid_causal.calibration.reference import Reference
from acid_causal.errors import AcidWarning, ModelError, OptionError, WriteError
from acid_causal.model import ModelConfig
from acid_causal.weights import shipped
from acid_causal.weights.checkpoint import TrainedModel, load_model
from acid_causal.weights.shipped import available_models
from acid_causal.weights.tensor_file import read_tensors, save_tensors

# The identities of the shipped models, which caches and reports refer to.
SHIPPED = {
    "acid-ranks": "869693a99f4aa9be3c98d61419a058a8f137bea09b5c97365283f575acf522f0",
    "acid-mlp08": "4091a62a58a9fbbf0a11850f33d79a4112b7f36696866d91c25d53dcb9fda7aa",
    "acid-mlp16": "a05e569a9aee1949fe7805432109eb5676b92e6703e308b1422ed8607d98878b",
    "acid-mlp32": "c98e05f53d8b27a3f6cb0c72f60760a1b6387fe3b2ae0a4c17841da88f1c1b9c",
    "acid-fast": "cdd08640773633bc2c023d757da9a095ed85b3a10fcd3b9d4669ed95a1c8ec21",
    "acid-base": "11b67b8f730cc969b8d22504f9dc6d66f2606b8dec15af2e5778d4e9dcde4d82",
    "acid-mlp64": "aa713814fadc6fd338df1e7c3f7ca6839da077c2e089a421a2701433ff9d67e1",
}


@pytest.fixture
def saved(tiny_model: TrainedModel, tmp_path: Path) -> Path:
    path = tmp_path / "tiny.safetensors"
    tiny_model.save(path)
    return path


def test_round_trip(tiny_model: TrainedModel, saved: Path) -> None:
    again = load_model(saved)
    assert again.sha256 == tiny_model.sha256
    assert again.recipe == tiny_model.recipe
    assert again.name == "tiny"
    for name, tensor in tiny_model.network.state_dict().items():
        assert torch.equal(tensor, again.network.state_dict()[name])


def test_a_model_that_took_long_is_kept_elsewhere(
    tiny_model: TrainedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(WriteError, match=r"cannot write .*\. The model is now in '.*tiny-.*'"):
        tiny_model.save_or_keep(tmp_path / "file" / "below.safetensors")
    (kept,) = elsewhere.iterdir()
    assert load_model(kept).sha256 == tiny_model.sha256


def test_a_model_that_can_be_kept_nowhere(tiny_model: TrainedModel, tmp_path: Path) -> None:
    message = r"too large.*nor can the model be kept elsewhere"
    with full_disk(), pytest.raises(WriteError, match=message):
        tiny_model.save_or_keep(tmp_path / "tiny.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_sha256_knows_weights_and_null(tiny_model: TrainedModel, saved: Path) -> None:
    tensors, header = read_tensors(saved)
    key = next(iter(tensors))
    tensors[key] = tensors[key] + 1e-3
    save_tensors(saved, tensors, header)
    assert load_model(saved).sha256 != tiny_model.sha256
    header["null"]["pooled"][0] += 1e-6
    tensors[key] = tensors[key] - 1e-3
    save_tensors(saved, tensors, header)
    assert load_model(saved).sha256 != tiny_model.sha256


def test_the_reference_is_kept(tiny_model: TrainedModel, saved: Path) -> None:
    """A file of before there was one loads, and is the same model as ever."""
    assert load_model(saved).null.reference is None
    rng = np.random.default_rng(0)
    of_targets = rng.normal(size=(200, 8)), np.full(200, 50.0), np.zeros(200), np.zeros(200)
    null = replace(tiny_model.null, reference=Reference.fit(*of_targets))
    replace(tiny_model, null=null).save(saved)
    again = load_model(saved).null
    assert again.reference is not None
    assert null.reference is not None
    assert again.reference.to_dict() == null.reference.to_dict()
    assert replace(again, reference=None).to_dict() == tiny_model.null.to_dict()
    tensors, header = read_tensors(saved)
    header["null"]["reference"]["bounds"] = []
    save_tensors(saved, tensors, header)
    with pytest.raises(ModelError, match="reference with unexpected shapes"):
        load_model(saved)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_model_is_the_one_that_it_always_was(name: str) -> None:
    assert load_model(name).sha256 == SHIPPED[name]


def test_all_shipped_models_have_a_hash_in_the_package() -> None:
    lines = (available_models()["acid-base"].parent / "SHA256SUMS").read_text().splitlines()
    assert {line.split()[1] for line in lines} == {p.name for p in available_models().values()}


def test_a_shipped_model_that_was_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: TrainedModel
) -> None:
    """Even by a whole and sound file."""
    folder = tmp_path / "acid_causal" / "weights"
    shutil.copytree(available_models()["acid-base"].parent, folder)
    monkeypatch.setattr(shipped, "files", lambda package: tmp_path / package)
    assert load_model("acid-base").sha256 == SHIPPED["acid-base"]
    tiny_model.save(folder / "acid-mlp08.safetensors")
    with pytest.raises(ModelError, match="not the one that the package was made with"):
        load_model("acid-mlp08")
    tiny_model.save(folder / "added.safetensors")
    with pytest.raises(ModelError, match="no hash of added"):
        load_model("added")


@dataclass(frozen=True)
class LaterConfig(ModelConfig):
    added: int = 3


def test_a_field_that_a_later_version_adds_moves_no_hash(tiny_model: TrainedModel) -> None:
    def with_config(config: ModelConfig) -> TrainedModel:
        return replace(tiny_model, recipe=replace(tiny_model.recipe, model=config))

    now = vars(tiny_model.recipe.model)
    assert with_config(LaterConfig(**now)).sha256 == tiny_model.sha256
    assert with_config(LaterConfig(**now, added=4)).sha256 != tiny_model.sha256


def test_loading_draws_no_random_numbers(saved: Path) -> None:
    before = torch.get_rng_state()
    load_model(saved)
    assert torch.equal(torch.get_rng_state(), before)


def test_weights_are_float32_whatever_the_default(saved: Path, tiny_model: TrainedModel) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        model = load_model(saved)
    finally:
        torch.set_default_dtype(torch.float32)
    assert {p.dtype for p in model.network.parameters()} == {torch.float32}
    assert model.sha256 == tiny_model.sha256


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no weights file"):
        load_model(tmp_path / "none.safetensors")
    with pytest.raises(OptionError, match="unknown model"):
        load_model("no-such-model")


@pytest.mark.usefixtures("wrong_types")
@pytest.mark.parametrize("name", [None, b"acid-base", 7, "a" * 300, "a" * 300 + ".st", "a\0b.st"])
def test_what_names_no_file(name: Any) -> None:
    with pytest.raises(ModelError, match="weights file"):
        load_model(name)


@pytest.mark.parametrize("part", ["recipe", "null"])
def test_with_a_broken_header(saved: Path, part: str) -> None:
    tensors, header = read_tensors(saved)
    broken: object
    for broken in ({}, [], "x", None):
        save_tensors(saved, tensors, {**header, part: broken})
        with pytest.raises(ModelError, match="does not hold a model"):
            load_model(saved)


def edit_recipe(change: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    return lambda header: header["recipe"]["model"].update(change)


def edit_null(path: list[Any], value: float) -> Callable[[dict[str, Any]], None]:
    def edit(header: dict[str, Any]) -> None:
        place = header["null"]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (edit_recipe({"e": 2048}), "shape"),
        (edit_recipe({"e": 8192}), "e must be from 1 to 4096"),
        (edit_recipe({"layers": 100_000}), "layers must be from 1 to 64"),
        (edit_recipe({"layers": 64}), "lacks"),
        (edit_recipe({"smoother_rank": 10**9}), "smoother_rank must be from 1 to 4096"),
        (edit_recipe({"e": 2.5}), "of type int"),
        (edit_null(["conditional", 0, 0], 1e9), "out of range"),
        (edit_null(["sized", "mended", 1, 1], -5.0), "does not increase"),
        (edit_null(["high", 0], 1e300), "out of range"),
        (edit_null(["low", 0], 99.0), "low above high"),
        (edit_null(["pooled", 0], 1e30), "without a finite location"),
        (edit_null(["pooled", 1], 0.0), "positive"),
        (lambda header: header.update(history=[]), "history"),
        (lambda header: header.update(history={"steps": "many"}), "history"),
    ],
)
def test_a_header_that_tells_of_another_model(
    saved: Path, edit: Callable[[dict[str, Any]], None], message: str
) -> None:
    """With a sha256 of its own, as of a file that was made to deceive: nothing is allocated."""
    tensors, header = read_tensors(saved)
    edit(header)
    save_tensors(saved, tensors, header)
    began = time.process_time()
    with pytest.raises(ModelError, match=message):
        load_model(saved)
    assert time.process_time() - began < 5


def test_no_bit_can_flip_unnoticed(saved: Path, tiny_model: TrainedModel) -> None:
    """Of 150 flips a few fall where nothing is kept, in blanks or in the word before the hash."""
    content = saved.read_bytes()
    rng = np.random.default_rng(0)
    harmless = 0
    for place, bit in zip(rng.integers(0, len(content), 150), rng.integers(0, 8, 150), strict=True):
        flipped = bytearray(content)
        flipped[place] ^= 1 << bit
        saved.write_bytes(flipped)
        try:
            model = load_model(saved)
        except ModelError:
            continue
        harmless += 1
        assert model.sha256 == tiny_model.sha256
    assert harmless < 3


def test_a_file_of_before_there_was_a_sha256_loads_with_a_note(
    tiny_model: TrainedModel, saved: Path
) -> None:
    tensors, header = read_tensors(saved)
    save_file(tensors, saved, metadata={"acid": json.dumps(header)})
    with pytest.warns(AcidWarning, match="made before weights files held a sha256"):
        model = load_model(saved)
    assert model.sha256 == tiny_model.sha256
    load_model(saved)  # said once
    model.save(saved)
    assert "sha256" in saved.read_bytes()[:100_000].decode("latin1")


def test_with_weights_that_do_not_fit(saved: Path) -> None:
    tensors, header = read_tensors(saved)
    tensors.pop(next(iter(tensors)))
    save_tensors(saved, tensors, header)
    with pytest.raises(ModelError, match="does not hold a model"):
        load_model(saved)


def test_the_file_says_which_null_is_the_default(tiny_model: TrainedModel, saved: Path) -> None:
    """And the recipe does where a file of before does not say; the hash stays what it was."""
    replace(tiny_model, default_null="sized").save(saved)
    again = load_model(saved)
    assert again.default_null == "sized"
    assert again.sha256 == tiny_model.sha256
    tensors, header = read_tensors(saved)
    del header["default_null"]
    for six_models, null in ((0.0, "conditional"), (1.0, "sized")):
        header["recipe"]["stream"] |= {"six_models": six_models, "driven": 0.0}
        save_tensors(saved, tensors, header)
        assert load_model(saved).default_null == null
    assert load_model("acid-base").default_null == "conditional"
    assert load_model("acid-mlp16").default_null == "sized"
