"""The log of a run: nothing needs it, and nothing of it is lost."""

import os
from pathlib import Path

import pytest
from full_disk import full_disk

from acid_causal.errors import AcidWarning
from acid_causal.training.metrics import MetricsLog, read_metrics


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path, 0) as log:
        for step in range(1, 6):
            log.write(step=step, loss=0.123456789, source="driven")
    return path


def test_lines_beyond_the_checkpoint_are_dropped(path: Path) -> None:
    assert read_metrics(path)[0] == {"step": 1, "loss": 0.123457, "source": "driven"}
    with MetricsLog(path, 3) as log:
        log.write(step=4)
    assert [line["step"] for line in read_metrics(path)] == [1, 2, 3, 4]


def test_a_line_cut_short_at_the_end(path: Path) -> None:
    """As a killed run leaves it."""
    path.write_bytes(path.read_bytes()[:-10])
    assert [line["step"] for line in read_metrics(path)] == [1, 2, 3, 4]
    with MetricsLog(path, 4):
        assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe\n", b"[]\n", b'{"loss": 1}\n', b'{"step": 1}\nxx\n{"step": 3}\n', b"[" * 99999],
)
def test_a_damaged_log_is_named_and_kept(path: Path, content: bytes) -> None:
    path.write_bytes(content + b"\n")
    for k in (1, 2):
        with (
            pytest.warns(
                AcidWarning, match=rf"metrics.*is damaged.*it is now 'damaged-{k}-metrics"
            ),
            MetricsLog(path, 3) as log,
        ):
            log.write(step=4)
        assert (path.parent / f"damaged-{k}-metrics.jsonl").read_bytes() == content + b"\n"
        assert [line["step"] for line in read_metrics(path)] == [4]
        path.write_bytes(content + b"\n")


def test_a_lost_log_is_named(path: Path) -> None:
    path.unlink()
    with (
        pytest.warns(AcidWarning, match="is missing: its lines begin anew at step 4"),
        MetricsLog(path, 3) as log,
    ):
        log.write(step=4)
    assert [line["step"] for line in read_metrics(path)] == [4]


def test_a_run_goes_on_where_the_disk_is_full(path: Path) -> None:
    goes_on = pytest.warns(AcidWarning, match=r"File too large: the run goes on without '.*metrics")
    with goes_on, full_disk(), MetricsLog(path, 5) as log:
        for step in range(6, 2000):
            log.write(step=step, loss=0.5, source="driven")
        log.flush()
    assert path.stat().st_size <= 1000
    assert len(os.listdir(path.parent)) == 1
