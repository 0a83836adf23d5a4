"""Progress: a bar in a terminal, a line a minute elsewhere, and how long it will take."""

import io
import re
import sys
from typing import Any

import pytest

from acid_causal import progress
from acid_causal.progress import Estimate, progress_bar, say_how_long


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def counted(monkeypatch: pytest.MonkeyPatch, file: Any, **options: Any) -> str:
    monkeypatch.setattr(sys, "stderr", file)
    for _ in progress_bar(range(500), total=500, label="samples", unit="sample", **options):
        pass
    return file.getvalue()


def test_a_bar_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\rsamples: 100%" in counted(monkeypatch, Terminal())
    assert counted(monkeypatch, Terminal(), show=False) == ""


def test_lines_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert counted(monkeypatch, io.StringIO()) == ""  # shorter than a minute
    monkeypatch.setattr(progress, "_SECONDS", 1e-9)
    lines = counted(monkeypatch, io.StringIO()).splitlines()
    assert lines[-1].startswith("samples: 500 of 500, 00:00 so far, about ")
    assert not any("\r" in line for line in lines)


def test_a_line_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    clock = [0.0]
    bar = progress_bar(total=100, label="steps")
    bar._time = lambda: clock[0]
    bar.start_t = bar.last_print_t = 0.0
    for _ in range(60):  # fast ones, then slow ones
        clock[0] += 1.0 if clock[0] < 50 else 20.0
        bar.update()
        if bar.miniters > 1:  # what tqdm's monitor does, which watches all bars
            bar.refresh()
    lines = written.getvalue().splitlines()
    assert 3 <= len(lines) <= clock[0] / 60


def test_what_was_done_before_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SECONDS", 1e-9)
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    with progress_bar(total=9, label="steps", done=7) as bar:
        bar.set_postfix(loss="0.693", refresh=False)
        bar.update()
    line = written.getvalue().splitlines()[-1]
    assert re.fullmatch(r"steps: 8 of 9, 00:00 so far, about .* left, loss=0.693", line)


def test_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    say_how_long("tests of |Z| = 0: 499,500", 59.0)
    assert capsys.readouterr().err == ""
    say_how_long("tests of |Z| = 0: 499,500", 60.0)
    say_how_long("tests of |Z| = 0: 499,500", 180.0)
    say_how_long("tests of |Z| = 1: 499,500", 9000.0)
    assert capsys.readouterr().err == (
        "tests of |Z| = 0: 499,500, about 1 minute\n"
        "tests of |Z| = 0: 499,500, about 3 minutes\n"
        "tests of |Z| = 1: 499,500, about 2.5 hours\n"
    )


def test_an_estimate_after_a_first_part(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr("acid_causal.progress.time.monotonic", lambda: clock[0])
    for show, said in ((True, "steps: 500, about 17 minutes\n"), (False, "")):
        estimate = Estimate("steps", 500, after=5, show=show)
        each = []
        for _ in range(7):
            clock[0] += 2.0
            each.append(estimate.advance())
        assert each == [None, None, None, None, 2.0, None, None]
        assert capsys.readouterr().err == said


def test_an_estimate_is_not_that_of_a_slow_first_question(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr("acid_causal.progress.time.monotonic", lambda: clock[0])
    estimate = Estimate("tests", 10_000, seconds=1.0)
    each = []
    for took in (0.5, *[0.01] * 60):
        clock[0] += took
        each.append(estimate.advance())
    assert [round(one, 6) for one in each if one is not None] == [round(1.0 / 51, 6)]
    assert capsys.readouterr().err == "tests: 10,000, about 3 minutes\n"
