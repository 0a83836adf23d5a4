"""The scripts of examples/ run, and find what they are about."""

import contextlib
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

pytestmark = pytest.mark.filterwarnings("ignore")  # of the other packages

# What a script must print, and whether it takes more than a few seconds.
PRINTS = {
    "sachs": "of them in the consensus network of 17",
    "own_table": "pressure --> risk",
    "time_series": "wind -> waves after 1\nwaves -> sand after 1\n",
    "fine_tuning": "coarse.safetensors: x and y",
    "own_test": "acid: 3 of 3 edges, and 0 that are not there",
}
SLOW = {"fine_tuning", "own_table"}


def test_every_script_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(PRINTS)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in PRINTS],
)
def test_a_script_runs(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.chdir(tmp_path):
        runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert PRINTS[name] in capsys.readouterr().out
