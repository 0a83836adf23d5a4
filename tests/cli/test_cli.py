"""The command line: what it prints, and how it fails."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from commands import RunCommand, run_code

from acid_causal.inference.tester import Tester
from acid_causal.weights.checkpoint import load_model
from acid_causal.weights.shipped import available_models

MISSING = os.strerror(errno.ENOENT)


@pytest.fixture
def frame(table: np.ndarray) -> pd.DataFrame:
    frame = pd.DataFrame(table, columns=["a", "b", "c", "income, net", "e", "f"])
    frame["kind"] = [f"text {k}" for k in range(len(frame))]
    return frame


@pytest.fixture
def csv(tmp_path: Path, frame: pd.DataFrame) -> Path:
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


# ---- help and models -----------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [[], ["discover"], ["test"], ["finetune"], ["train"], ["calibrate"], ["models"]]
)
def test_help(run_command: RunCommand, command: list[str]) -> None:
    done = run_command(*command, "--help")
    assert done.code == 0
    assert "Usage: acid-causal" in done.out


def test_the_module_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "acid_causal", "--help"], capture_output=True, text=True, check=True
    )
    for command in ("discover", "test", "finetune", "train", "calibrate", "models"):
        assert f" {command} " in done.stdout


def test_help_teaches(run_command: RunCommand) -> None:
    text = run_command("discover", "--help").out
    for line in (
        "acid-causal discover data.csv --bootstrap 100 --n-jobs -1",
        'forbid  = [["cancer", "smoking"]]',
        "Exit codes: 0 done, 1 the system failed",
    ):
        assert line in text


def test_the_module_runs_for_torchrun() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "acid_causal.cli", "models", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "acid-causal models" in done.stdout


def test_the_command_line_itself_is_cheap_to_import() -> None:
    code = "import sys, acid_causal.cli; assert not {'torch', 'pandas'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_models(run_command: RunCommand) -> None:
    done = run_command("models", "--json")
    assert [row["name"] for row in json.loads(done.out)] == list(available_models())
    lines = run_command("models").out.splitlines()
    assert len(lines) == 2 * len(available_models())
    # Names of all lengths are aligned.
    assert len({line.index("steps") for line in lines[::2]}) == 1
    assert lines[1] == "  The general-purpose model that comes with the package."
    assert all(line.startswith("  ") and line.endswith(".") for line in lines[1::2])


# ---- test ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "given", "cond"),
    [
        ("a", "c", None, []),
        ("a", "c", "", []),
        ("b", "a", "c", ["c"]),
        ("a", "b", "f, c,f", ["f", "c"]),
        ("a", "income, net", "c,b", ["c", "b"]),
        ("a", "c", "income, net", ["income, net"]),
        ("a", "c", "f,income, net,b", ["f", "income, net", "b"]),
    ],
)
def test_answers_as_the_library_does(
    run_command: RunCommand,
    weights: Path,
    csv: Path,
    frame: pd.DataFrame,
    x: str,
    y: str,
    given: str | None,
    cond: list[str],
) -> None:
    options = [] if given is None else ["--given", given]
    done = run_command("test", csv, x, y, *options, "--model", weights, "--json", "--alpha", "0.2")
    assert (done.code, done.err) == (0, "")
    columns = list(frame.columns)
    tester = Tester(frame.drop(columns="kind"), model=weights)
    expected = tester.test(columns.index(x), columns.index(y), map(columns.index, cond))
    row = json.loads(done.out)
    for name in ("pvalue", "log_pvalue", "statistic", "probability"):
        assert row[name] == pytest.approx(getattr(expected, name), abs=1e-5)
    assert row["dependent"] is (expected.pvalue <= 0.2)
    assert (row["x"], row["y"], row["given"]) == (x, y, cond)
    assert (row["n"], row["alpha"], row["model"], row["null"]) == (120, 0.2, "tiny", "conditional")


def test_says_how_a_pvalue_was_checked(run_command: RunCommand, csv: Path) -> None:
    """The table has columns that depend on one another without any ties."""
    options = ["--null", "checked", "--given", "c", "--alpha", "0.01"]
    done = run_command("test", csv, "a", "b", *options, "--json")
    row = json.loads(done.out)
    assert row["null"] == "checked"
    assert (row["pvalue_null"], row["draws"]) in {("conditional", 0), ("permutation", row["draws"])}
    few = run_command("test", csv, "a", "b", *options, "--draws", "50")
    assert few.code == 2
    assert "draws must be a whole number, 99 or more at alpha = 0.01, not 50" in few.err


def test_prints_a_verdict(run_command: RunCommand, weights: Path, csv: Path) -> None:
    rejected = run_command(
        "test", csv, "a", "c", "--given", "b,f", "--model", weights, "--alpha", "0.999"
    )
    assert rejected.code == 0
    first, *rest = rejected.out.splitlines()
    assert first == "independence of a and c given b, f is rejected at alpha = 0.999"
    assert [line.split()[0] for line in rest] == ["p-value", "statistic", "probability", "n"]
    assert rest[-1].split() == ["n", "120"]
    kept = run_command("test", csv, "a", "c", "--model", weights, "--alpha", "1e-9")
    assert kept.out.startswith("independence of a and c is not rejected at alpha = 1e-09\n")


def test_the_null_can_be_chosen(
    run_command: RunCommand, weights: Path, csv: Path, frame: pd.DataFrame
) -> None:
    done = run_command("test", csv, "a", "c", "--model", weights, "--null", "pooled", "--json")
    expected = Tester(frame[["a", "c"]], model=weights, null="pooled").test(0, 1)
    assert json.loads(done.out)["pvalue"] == pytest.approx(expected.pvalue, abs=1e-5)


def test_missing_values(
    run_command: RunCommand, weights: Path, csv: Path, frame: pd.DataFrame
) -> None:
    frame.loc[[3, 5], "a"] = np.nan
    frame.loc[7, "f"] = np.nan
    frame.to_csv(csv, index=False)
    done = run_command("test", csv, "a", "c", "--model", weights)
    assert done.code == 2
    assert "missing values (NaN) in 'a': 2" in done.err
    done = run_command("test", csv, "a", "c", "--model", weights, "--missing", "drop", "--json")
    assert json.loads(done.out)["n"] == 118
    done = run_command("test", csv, "b", "c", "--model", weights, "--json")
    assert json.loads(done.out)["n"] == 120


def test_a_constant_column(
    run_command: RunCommand, weights: Path, csv: Path, frame: pd.DataFrame
) -> None:
    frame.assign(a=1.0).to_csv(csv, index=False)
    done = run_command("test", csv, "a", "c", "--model", weights, "--json")
    row = json.loads(done.out)
    assert (row["pvalue"], row["statistic"], row["dependent"]) == (1.0, None, False)
    assert done.err == ("warning: constant columns are independent of everything (p = 1): a\n")
    assert run_command("test", csv, "a", "c", "--model", weights).code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "d"], "unknown column 'd'. Known: a, b, c, e, f, income, net, kind."),
        (["incme, net", "a"], "Did you mean 'income, net'?"),
        (["a", "b", "--given", "c,kid"], "unknown column 'kid'. Did you mean 'kind'?"),
        (["a", "a"], "'a' cannot be tested against itself"),
        (["a", "b", "--given", "c,b"], "'b' is both tested and in the conditioning set"),
        (["a", "kind"], "'kind' (an identifier, it seems: each of its 120 values is different)"),
        (["a", "b", "--missing", "dorp"], "Did you mean 'drop'?"),
        (["a", "b", "--null", "poled"], "Did you mean 'pooled'?"),
        (["a", "b", "--device", "tpu"], "no such device: 'tpu'"),
        (["a", "b", "--model", "no-such-model"], "unknown model 'no-such-model'"),
        (["a", "b", "--model", "none.safetensors"], "there is no weights file"),
        (["a", "b", "--alpha", "1.5"], "--alpha"),
        (["a"], "Missing argument"),
    ],
)
def test_mistakes_end_with_a_message(
    run_command: RunCommand, weights: Path, csv: Path, arguments: list[str], message: str
) -> None:
    done = run_command(
        "test", csv, *(["--model", weights] if "--model" not in arguments else []), *arguments
    )
    assert (done.code, done.out) == (2, "")
    assert message in " ".join(done.err.replace("│", " ").split())


def test_a_file_that_cannot_be_read(run_command: RunCommand, tmp_path: Path) -> None:
    done = run_command("test", tmp_path / "none.csv", "a", "b")
    assert done.code == 2
    assert done.err == f"error: cannot read the table {str(tmp_path / 'none.csv')!r}: {MISSING}\n"


def test_files_of_all_forms(
    run_command: RunCommand, weights: Path, csv: Path, frame: pd.DataFrame
) -> None:
    """What a file looks like moves no answer, and what was taken for granted is told."""
    ask = ["--model", weights, "--json"]
    expected = json.loads(run_command("test", csv, "a", "c", *ask).out)["pvalue"]
    named = frame.rename(columns={"a": "größe ", "c": "c "})
    options: dict[str, tuple[dict[str, Any], list[str]]] = {
        "german.csv": ({"sep": ";", "decimal": ",", "encoding": "cp1252"}, []),
        "told.csv": (
            {"sep": ";", "decimal": ",", "encoding": "cp1252"},
            ["--separator", ";", "--decimal", ",", "--encoding", "cp1252"],
        ),
        "packed.csv.gz": ({}, []),
        "blanks.txt": ({"sep": " "}, []),
        "bare.csv": ({"header": False}, ["--no-header"]),
    }
    for name, (form, words) in options.items():
        named.to_csv(csv.parent / name, index=False, **form)
        x, y = ("X1", "X3") if "--no-header" in words else ("größe", "c ")
        done = run_command("test", csv.parent / name, x, y, *words, *ask)
        assert json.loads(done.out)["pvalue"] == pytest.approx(expected, abs=1e-6)
        told = {"german.csv": 3, "blanks.txt": 1}.get(name, 0)
        assert [line[:9] for line in done.err.splitlines()] == ["warning: "] * told
    done = run_command("test", csv.parent / "bare.csv", "X1", "X3", "--size-limit", "1", *ask)
    assert (done.code, "--no-header" in done.err) == (2, True)


# ---- calibrate -----------------------------------------------------------------------


@pytest.mark.usefixtures("rough_null")
def test_calibrate(run_command: RunCommand, weights: Path, tmp_path: Path) -> None:
    out = tmp_path / "again.safetensors"
    threads = torch.get_num_threads()
    done = run_command(
        "calibrate", weights, out, "--questions", "1000", "--device", "cpu", "--threads", "1"
    )
    assert (done.code, done.out) == (0, f"wrote {out}\n")
    before, after = load_model(weights), load_model(out)
    assert after.history == {**before.history, "null_questions": 1000}
    assert after.recipe == before.recipe
    assert after.null.to_dict() != before.null.to_dict()
    for name, tensor in before.network.state_dict().items():
        assert torch.equal(after.network.state_dict()[name], tensor)
    assert torch.get_num_threads() == threads == 1


@pytest.mark.slow
def test_calibrate_for_machines(run_command: RunCommand, weights: Path, tmp_path: Path) -> None:
    out = tmp_path / "again.safetensors"
    done = run_command(
        "calibrate", weights, out, "--questions", "1000", "--device", "cpu", "--json"
    )
    assert json.loads(done.out) == {
        "name": "tiny",
        "path": str(out),
        "sha256": load_model(out).sha256,
    }


def test_calibrate_refuses(run_command: RunCommand, weights: Path, tmp_path: Path) -> None:
    done = run_command("calibrate", weights, tmp_path / "o", "--device", "cuda:99")
    assert done.code == 2
    assert "cuda:99" in done.err
    # At once, and not after the minutes that the fit takes.
    done = run_command("calibrate", weights, weights / "below", "--device", "cpu")
    assert done.code == 1
    assert done.err.startswith("error: ")
    done = run_command("calibrate", weights, tmp_path, "--device", "cpu")
    assert done.code == 2
    assert "OUT must be a file" in done.err


# A function that is reached once the work has begun, and the command.
INTERRUPTED = {
    "finetune": (
        "training.descent",
        "PairLoss.forward",
        ["finetune", "data.csv", "--drop", "kind"],
    ),
    "calibrate": ("calibration.fitting", "_collect", ["calibrate", "acid-mlp16", "a.safetensors"]),
    "train": ("training.descent", "PairLoss.forward", ["train", "acid-mlp16", "--out", "run"]),
}


@pytest.mark.slow
@pytest.mark.parametrize(("module", "function", "words"), INTERRUPTED.values(), ids=INTERRUPTED)
def test_ctrl_c_is_one_line(
    module: str, function: str, words: list[str], csv: Path, tmp_path: Path
) -> None:
    """A real signal, in a process of its own: exit code 130, and nothing half-written."""
    (tmp_path / "data.csv").write_bytes(csv.read_bytes())
    before = set(tmp_path.rglob("*.safetensors"))
    code = (
        "import os, signal\n"
        f"from acid_causal import cli\nfrom acid_causal.{module} import *\n"
        f"import acid_causal.{module} as module\n"
        f"module.{function} = lambda *a: os.kill(os.getpid(), signal.SIGINT)\n"
        f"cli.main({words!r})\n"
    )
    done = run_code(code, tmp_path)
    assert done.returncode == 130
    assert [line for line in done.stderr.splitlines() if line.startswith("stopped; ")]
    assert "Traceback" not in done.stderr
    assert set(tmp_path.rglob("*.safetensors")) == before
    assert not list(tmp_path.rglob("*.part"))
