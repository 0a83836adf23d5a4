"""Ctrl-C, with a real signal, at any time: one line, exit code 130, and nothing half-written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 40)) @ rng.normal(size=(40, 40))
    path = tmp_path / "data.csv"
    pd.DataFrame(values).add_prefix("v").to_csv(path, index=False)
    return path


def interrupted(csv: Path, arguments: list[str], after: float) -> tuple[int, str]:
    """Sends the signal to all processes of a command, as a terminal does."""
    with subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "acid_causal", *arguments],
        cwd=csv.parent,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
        # A shell that runs the tests in the background makes its children ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:  # until the package itself is being loaded
            if "acid_causal" in line or "typing" in line:
                break
        time.sleep(after)
        os.killpg(process.pid, signal.SIGINT)
        lines = [line for line in process.stderr if not line.startswith("import time:")]
    return process.returncode, "".join(lines)


def check(csv: Path, arguments: list[str], after: float) -> None:
    code, err = interrupted(csv, arguments, after)
    assert code == 130
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "stopped; no result was written"
    assert os.listdir(csv.parent) == ["data.csv"]


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.3, 1.0, 3.0, 20.0])
def test_discover(csv: Path, after: float) -> None:
    check(csv, ["discover", "data.csv"], after)


@pytest.mark.slow
def test_workers_of_discover(csv: Path) -> None:
    options = ["--columns", "v0,v1,v2", "--bootstrap", "500", "--n-jobs", "2"]
    check(csv, ["discover", "data.csv", *options], 40)


@pytest.mark.slow
def test_finetune(csv: Path) -> None:
    check(csv, ["finetune", "data.csv"], 30)
