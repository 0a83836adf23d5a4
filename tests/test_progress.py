"""Progress: a bar in a terminal, a line a minute elsewhere, and how long it will take."""

import io
import sys
from typing import Any

import pytest

from acid_causal import progress
from acid_causal.progress import progress_bar, say_how_long


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


def test_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    say_how_long("tests of |S| = 0", 499_500, 3.0)
    assert capsys.readouterr().err == ""
    say_how_long("tests of |S| = 0", 499_500, 180.0)
    say_how_long("tests of |S| = 1", 499_500, 9000.0)
    assert capsys.readouterr().err == (
        "tests of |S| = 0: 499,500, about 3 minutes\ntests of |S| = 1: 499,500, about 2.5 hours\n"
    )
