"""The files of results belong together, whatever happens while they are written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from graph_cases import made_discovery, made_sample

from acid_causal.discovery.report.file_names import FILES
from acid_causal.discovery.report.folder import write_results
from acid_causal.errors import OptionError


def test_all_files_and_nothing_else(tmp_path: Path) -> None:
    found = made_discovery(["a", "b"], [(0, 1, "-->")])
    written = write_results(found, tmp_path / "new", title="first")
    assert written == [tmp_path / "new" / name for name in FILES]
    assert sorted(os.listdir(tmp_path / "new")) == sorted(FILES)
    write_results(found, tmp_path / "new", title="second")
    assert "second" in (tmp_path / "new" / "report.html").read_text("utf-8")
    assert sorted(os.listdir(tmp_path / "new")) == sorted(FILES)


def test_files_of_others_stay_unless_told(tmp_path: Path) -> None:
    found = made_discovery(["a", "b"], [(0, 1, "-->")])
    (tmp_path / "edges.csv").write_text("mine")
    with pytest.raises(OptionError, match=r"holds edges.csv, .* pass overwrite=True"):
        found.save(tmp_path)
    assert (tmp_path / "edges.csv").read_text() == "mine"
    found.save(tmp_path, overwrite=True)
    found.save(tmp_path)  # over its own


def test_no_rows_are_written_if_none_shall_be(tmp_path: Path) -> None:
    found = made_discovery(["a", "b"], [(0, 1, "-->")], sample=made_sample("ab"))
    write_results(found, tmp_path / "all", title="t")
    write_results(found, tmp_path / "few", title="t", data=False)
    whole, bare = ((tmp_path / name / "report.html").read_text("utf-8") for name in ("all", "few"))
    assert '"codes"' in whole
    assert '"codes"' not in bare


SCRIPT = """
import sys
from pathlib import Path
from graph_cases import made_discovery
from acid_causal.discovery.report.folder import write_results
found = made_discovery(["a", "b"], [(0, 1, "-->")])
print("ready", flush=True)
while True:
    write_results(found, Path(sys.argv[1]), title=sys.argv[2])
"""


@pytest.mark.slow
def test_a_kill_leaves_one_run_and_the_next_cleans_up(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    found = made_discovery(["a", "b"], [(0, 1, "-->")])
    write_results(found, folder, title="old")
    for pause in (0.1, 0.3):
        with subprocess.Popen(
            [sys.executable, "-c", SCRIPT, folder, "new"],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(pause)
            process.send_signal(signal.SIGKILL)
        assert sorted(set(os.listdir(folder)) & set(FILES)) == sorted(FILES)
    subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("while True:", "if True:"), folder, "last"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    assert sorted(os.listdir(folder)) == sorted(FILES)
