"""Weights files: what goes in comes out, and nothing else gets in."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from acid_causal.calibration.reference import Reference
from acid_causal.errors import ModelError, OptionError
from acid_causal.weights.checkpoint import TrainedModel, load_model, read_tensors, save_tensors


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
    with pytest.raises(ModelError, match="reference of another shape"):
        load_model(saved)


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no weights file"):
        load_model(tmp_path / "none.safetensors")
    with pytest.raises(OptionError, match="unknown model"):
        load_model("no-such-model")


@pytest.mark.parametrize("cut", [0, 7, 100, 5000, -1])
def test_cut_short(saved: Path, cut: int) -> None:
    saved.write_bytes(saved.read_bytes()[:cut])
    with pytest.raises(ModelError, match="damaged"):
        load_model(saved)


def test_of_another_format(saved: Path, tmp_path: Path) -> None:
    save_file({"a": torch.ones(2)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelError, match="not a weights file"):
        load_model(tmp_path / "other.safetensors")
    torch.save({"a": torch.ones(2)}, saved)  # a pickle is not even looked into
    with pytest.raises(ModelError, match="not a weights file"):
        load_model(saved)


def test_of_another_version(saved: Path) -> None:
    tensors, header = read_tensors(saved)
    save_file(tensors, saved, metadata={"acid": json.dumps({**header, "version": 99})})
    with pytest.raises(ModelError, match="version 99"):
        load_model(saved)


def test_with_nan(saved: Path) -> None:
    tensors, header = read_tensors(saved)
    key = next(iter(tensors))
    tensors[key] = tensors[key] * float("nan")
    save_tensors(saved, tensors, header)
    with pytest.raises(ModelError, match="not finite"):
        load_model(saved)


@pytest.mark.parametrize("part", ["recipe", "null"])
def test_with_a_broken_header(saved: Path, part: str) -> None:
    tensors, header = read_tensors(saved)
    broken: object
    for broken in ({}, [], "x", None):
        save_tensors(saved, tensors, {**header, part: broken})
        with pytest.raises(ModelError, match="does not hold a model"):
            load_model(saved)


def test_with_weights_that_do_not_fit(saved: Path) -> None:
    tensors, header = read_tensors(saved)
    tensors.pop(next(iter(tensors)))
    save_tensors(saved, tensors, header)
    with pytest.raises(ModelError, match="does not hold a model"):
        load_model(saved)
