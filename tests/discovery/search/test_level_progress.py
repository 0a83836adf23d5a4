"""Bars by level: each level is foreseen exactly."""

import sys
from collections import Counter
from typing import Any

import pytest
from graph_cases import make_oracle
from oracle import random_dag
from tqdm import tqdm

from acid_causal import progress
from acid_causal.discovery.knowledge import Knowledge
from acid_causal.discovery.search import graph_search
from acid_causal.discovery.search.graph_search import search_graph
from acid_causal.discovery.search.level_progress import LevelProgress
from acid_causal.tables.inputs import Question


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[LevelProgress]:
    """Collects what follows each search."""
    made: list[LevelProgress] = []

    class Following(LevelProgress):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            made.append(self)

    monkeypatch.setattr(graph_search, "LevelProgress", Following)
    return made


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "known",
    [Knowledge(), Knowledge(forbid=(("a", "b"), ("b", "a")), require=(("c", "h"),))],
)
def test_levels_are_foreseen(
    monkeypatch: pytest.MonkeyPatch, followed: list[LevelProgress], seed: int, known: Knowledge
) -> None:
    table = make_oracle(monkeypatch, random_dag(8, 3.0, seed))
    found = search_graph(table, knowledge=known, progress=True, orient_by="first")
    sizes = Counter(len(cond) for _, _, cond in found.pvalues)
    assert followed[0].totals == [sizes[size] for size in range(len(sizes))]
    assert len(sizes) > 2


def test_later_phases_have_a_bar_without_a_total() -> None:
    progress = LevelProgress(3, 0.05, show=False)
    answers: dict[Question, float] = {}
    for question, pvalue in [
        ((0, 1, ()), 0.0), ((0, 2, ()), 0.0), ((1, 2, ()), 0.9), ((0, 1, (2,)), 0.0),
        ((0, 2, (1,)), 0.0),
    ]:  # fmt: skip
        progress.follow(question, answers)
        progress.advance(1)
        answers[question] = pvalue
    # Level 1 has the questions of the two edges that level 0 left; there is no level 2.
    assert (progress.totals, progress.counts) == ([3, 2], [3, 2])
    for later in ((1, 2, (0,)), (0, 1, ()), (0, 1, (2,))):
        progress.follow(later, answers)
        progress.advance(1)
    assert (progress.totals, progress.counts) == ([3, 2, 0], [3, 3, 2])


def test_bars_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch,
    followed: list[LevelProgress],
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = make_oracle(monkeypatch, random_dag(5, 2.0, 0))
    search_graph(table, progress=True)
    assert capsys.readouterr().err == ""
    shown = []

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            shown.append((options["desc"], options["total"]))
            super().__init__(*args, **{**options, "disable": False})

    monkeypatch.setattr(progress, "tqdm", Bar)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    search_graph(table, progress=True)
    assert shown[0] == ("|Z| = 0", 10)
    assert "|Z| = 0" in capsys.readouterr().err


@pytest.mark.parametrize(("max_size", "told"), [(None, True), (1, True), (0, False)])
def test_how_long_two_levels_take_is_said_before_the_first_is_done(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    max_size: int | None,
    told: bool,
) -> None:
    clock = [0.0]
    monkeypatch.setattr("acid_causal.progress.time.monotonic", lambda: clock[0])
    follows = LevelProgress(1000, 0.05, max_size=max_size)
    follows.follow((0, 1, ()), {})
    clock[0] = 1.0
    follows.advance(2048)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "tests of |Z| = 0: 499,500, about 4 minutes"
    most = "tests of |Z| = 1: at most 498,501,000, if no pair is independent, about 67.6 hours"
    assert lines[1:] == ([most] if told else [])
    clock[0] = 2.0
    follows.advance(2048)
    follows.close()
    assert "about" not in capsys.readouterr().err
