"""`acid-causal train`: how it ends, and how Ctrl-C stops it."""

import json
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from commands import RunCommand
from full_disk import full_disk

from acid_causal.__main__ import run
from acid_causal.synthetic import Batch, Stream
from acid_causal.weights.checkpoint import load_model

RECIPE = """name = "tiny"
[model]
e = 16
layers = 1
attention_heads = 2
head_count = 2
[stream]
entries = 500
n = [30, 40]
d_z = [0, 2]
mechanisms = "linear"
[training]
steps = {steps}
checkpoint_every = 2
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE.format(steps=6))
    return path


def test_a_shipped_model_goes_on_from_its_weights(
    run_command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str | None] = []
    monkeypatch.setattr(
        "acid_causal.training.trainer.train_model",
        lambda *_, start, **__: started.append(start),
    )
    train = ["train", "acid-mlp16", "--out", tmp_path / "run"]
    told = run_command(*train).err
    assert "The last of three stages, each from the weights" in told
    assert "This run repeats the last stage from the shipped weights" in told
    assert run_command(*train, "--from", "random").err == ""
    assert run_command(*train, "--from", "acid-mlp32").err == ""
    assert started == ["acid-mlp16", None, "acid-mlp32"]


@pytest.mark.usefixtures("rough_null")
def test_train(run_command: RunCommand, recipe: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    train = ["train", recipe, "--out", run, "--device", "cpu", "--null-questions", "1000"]
    done = run_command(*train, "--threads", "1")
    assert (done.code, done.out) == (0, f"wrote {run / 'tiny.safetensors'}\n")
    assert load_model(run / "tiny.safetensors").history["steps"] == 6
    again = run_command(*train)
    assert again.code == 2
    assert "go on with --resume" in again.err
    other = run_command(*train[:3], tmp_path / "other", *train[4:], "--json")
    assert json.loads(other.out) == {
        "name": "tiny",
        "path": str(tmp_path / "other" / "tiny.safetensors"),
    }


@pytest.mark.usefixtures("given_null")
@pytest.mark.parametrize(("number", "checkpoint"), [(1, False), (3, True)])
def test_ctrl_c_says_how_to_go_on(
    run_command: RunCommand,
    recipe: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    checkpoint: bool,
) -> None:
    draw = Stream.__getitem__

    def interrupting(self: Stream, k: int) -> Batch:
        if k == number:
            raise KeyboardInterrupt
        return draw(self, k)

    run = tmp_path / "a run"
    train = ["train", recipe, "--out", run, "--device", "cpu", "--null-questions", "1000"]
    with monkeypatch.context() as patch:
        patch.setattr(Stream, "__getitem__", interrupting)
        done = run_command(*train)
    assert done.code == 130
    last = done.err.splitlines()[-1]
    if checkpoint:
        assert last.endswith(f"acid-causal train {recipe} --out '{run}' --resume")
        assert run_command(*train, "--resume").code == 0
    else:
        assert last == "stopped; no checkpoint was made; start again"
        refused = run_command(*train, "--resume")
        assert refused.code == 2
        assert "no checkpoint yet" in refused.err
        assert run_command(*train).code == 0
    assert load_model(run / "tiny.safetensors").history["steps"] == 6


def run_alone(words: list[str], errors: Path) -> None:
    """Runs the command line in a process of its own, whose standard error is a file."""
    # A shell that runs the tests in the background makes them ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = words
    sys.stderr = errors.open("w")
    run()


def test_ctrl_c_in_a_terminal(recipe: Path, tmp_path: Path) -> None:
    """A real signal, to a process that is forked, as this one has done the imports."""
    recipe.write_text(RECIPE.format(steps=1_000_000))
    out, errors = tmp_path / "run", tmp_path / "errors"
    options = ["--out", str(out), "--device", "cpu", "--threads", "1"]
    words = ["acid-causal", "train", str(recipe), *options]
    process = multiprocessing.get_context("fork").Process(target=run_alone, args=(words, errors))
    process.start()
    try:
        state = out / "state.safetensors"
        deadline = time.monotonic() + 120
        while not state.exists() and process.is_alive() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert process.pid is not None
        assert process.exitcode is None, errors.read_text()
        os.kill(process.pid, signal.SIGINT)
        process.join(60)
    finally:
        process.kill()
        process.join()
    err = errors.read_text()
    assert process.exitcode == 130
    assert "Traceback" not in err
    assert "stopped; go on from the last checkpoint: acid-causal train" in err
    assert sorted(p.name for p in out.iterdir()) == ["metrics.jsonl", "state.safetensors"]


def test_a_full_disk_is_one_line(run_command: RunCommand, recipe: Path, tmp_path: Path) -> None:
    """The log of few steps does not reach 20 kB."""
    with full_disk(20_000):
        done = run_command("train", recipe, "--out", tmp_path / "run", "--device", "cpu")
    assert done.code == 1
    last = done.err.splitlines()[-1]
    assert last.startswith("error: cannot write")
    assert last.endswith(
        "state.safetensors': File too large; what was there before is whole. "
        "Make room; then no checkpoint was made; start again"
    )
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["metrics.jsonl"]


@pytest.mark.usefixtures("given_null")
@pytest.mark.parametrize("damage", ["lost", "damaged"])
def test_the_log_is_never_needed(
    run_command: RunCommand, recipe: Path, tmp_path: Path, damage: str
) -> None:
    run = tmp_path / "run"
    train = ["train", recipe, "--out", run, "--device", "cpu", "--null-questions", "1000"]
    assert run_command(*train).code == 0
    (run / "tiny.safetensors").unlink()
    log = run / "metrics.jsonl"
    log.unlink()
    if damage == "damaged":
        log.write_text("not a line of ours\n")
    done = run_command(*train, "--resume")
    assert done.code == 0
    assert f"is {damage.replace('lost', 'missing')}" in done.err
    assert "warning: " in done.err
    assert load_model(run / "tiny.safetensors").history["loss"] > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 'a'\nsede = 1", "unknown key in recipe: 'sede'. Did you mean 'seed'?"),
        ("name = '../a'", "name must be letters, digits"),
        ("name = 'a'\n[training]\nprecision = 'bfloat16'\n", "bfloat16"),
    ],
)
def test_recipes_with_mistakes(
    run_command: RunCommand, recipe: Path, tmp_path: Path, text: str, message: str
) -> None:
    recipe.write_text(text)
    done = run_command("train", recipe, "--out", tmp_path / "run", "--device", "cpu")
    assert done.code == 2
    assert message in done.err
