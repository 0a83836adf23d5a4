"""Models that are read once: while their file stays as it is."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from acid_causal.errors import ModelError, OptionError
from acid_causal.inference.tester import ci_test
from acid_causal.weights import checkpoint
from acid_causal.weights.checkpoint import TrainedModel, load_model
from acid_causal.weights.shared import network_on, shared_model


def test_a_file_is_read_once_and_again_when_it_has_changed(
    weights: Path, tiny_model: TrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = shared_model(weights)
    x, y = np.random.default_rng(0).normal(size=(2, 50))
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "open_tensors", None)  # nothing is read any more
        assert shared_model(str(weights)).sha256 == model.sha256
        p = ci_test(x, y, model=weights).pvalue
    assert p == ci_test(x, y, model=tiny_model).pvalue
    other = load_model(weights)
    with torch.no_grad():
        for parameter in other.network.parameters():
            parameter.mul_(1.1)
    replace(other).save(weights)  # of the same size
    assert shared_model(weights).sha256 == replace(other).sha256 != model.sha256
    assert ci_test(x, y, model=weights).pvalue != p


def test_what_is_loaded_by_hand_is_nobody_elses(weights: Path) -> None:
    before = shared_model(weights).sha256
    mine = load_model(weights)
    with torch.no_grad():
        next(mine.network.parameters()).zero_()
    assert replace(shared_model(weights)).sha256 == before


def test_what_is_no_file_is_told_as_by_load_model(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="acid-base"):
        shared_model("acid-bsae")
    with pytest.raises(ModelError, match="no weights file"):
        shared_model(tmp_path / "none.safetensors")
    os.mkdir(tmp_path / "folder.safetensors")
    with pytest.raises(ModelError):
        shared_model(tmp_path / "folder.safetensors")


def test_a_model_loaded_in_inference_mode_can_be_trained(weights: Path) -> None:
    with torch.inference_mode():
        model = load_model(weights)
    network = model.network.train()
    x, y, z = torch.randn(3, 1, 30, 1)
    network(x, y, z).sum().backward()
    assert all(not parameter.is_inference() for parameter in network.parameters())


def test_a_shared_model_is_copied_to_a_device_once(weights: Path) -> None:
    shared, mine, there = shared_model(weights), load_model(weights), torch.device("meta")
    copied = network_on(shared, there)
    assert copied.device == there
    assert shared.network.device.type == "cpu"
    assert network_on(shared_model(weights), there) is copied
    assert network_on(shared, torch.device("cpu")) is shared.network
    # It may have been modified since the last time.
    assert network_on(mine, there) is not network_on(mine, there)
