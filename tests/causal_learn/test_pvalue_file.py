"""The cache file: reused when it may be, refused when it may not, whole whatever happens."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from causallearn.search.ConstraintBased.PC import pc
from oracle import FisherZThroughACID, linear_data, random_dag

from acid_causal.causal_learn import pvalue_file
from acid_causal.causal_learn.adapter import ACID
from acid_causal.causal_learn.pvalue_file import PValueFile
from acid_causal.errors import AcidWarning, CacheError, OptionError
from acid_causal.inference import tester
from acid_causal.inference.tester import Tester
from acid_causal.tables.inputs import Question
from acid_causal.weights.checkpoint import TrainedModel

QUIET = {"show_progress": False}
# For another process: the tests' helpers, and the package that is tested, installed or not.
PATHS = os.pathsep.join(str(folder) for folder in Path(__file__).parents[1:3])


def table() -> np.ndarray:
    return linear_data(random_dag(8, 3.0, 0), 200, 0)


def visible(folder: Path) -> list[Path]:
    """What a folder holds but for locks."""
    return [path for path in folder.iterdir() if path.suffix != ".lock"]


# ---- the cache file ------------------------------------------------------------------------------


def test_cache_is_reused_at_another_alpha_while_the_first_graph_lives(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "cache"
    first = pc(table(), 0.01, "acid-fisherz", cache_path=path, **QUIET)
    second = pc(table(), 0.05, "acid-fisherz", cache_path=str(path), **QUIET)
    assert first.test.n_computed > 0
    fresh = pc(table(), 0.05, "acid-fisherz", **QUIET)
    assert second.test.n_computed < fresh.test.n_computed / 2
    np.testing.assert_array_equal(second.G.graph, fresh.G.graph)
    third = pc(table(), 0.01, "acid-fisherz", cache_path=path, **QUIET)
    assert third.test.n_computed == 0


@pytest.mark.parametrize("form", [os.fsencode, str, Path, lambda path: f"~/{path.name}"])
def test_paths_as_users_write_them(
    form: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    test = FisherZThroughACID(table(), cache_path=form(tmp_path / "p.json"))
    test(0, 1)
    test.save()
    assert visible(tmp_path) == [tmp_path / "p.json"]
    assert test.cache_path == str(tmp_path / "p.json")


@pytest.mark.usefixtures("wrong_types")
@pytest.mark.parametrize("path", [3, "a\0b", "~nobody-of-this-name/p.json", 1.5])
def test_what_is_no_path(path: Any) -> None:
    with pytest.raises(OptionError, match="a path was expected, not"):
        FisherZThroughACID(table(), cache_path=path)


def test_a_cache_serves_equal_tables_whatever_their_bits() -> None:
    one = np.round(table(), 1)
    one[0, 0], other = 0.0, one.copy()
    other[0, 0] = -0.0
    prints = [Tester(data).fingerprint for data in (one, other)]
    assert prints[0] == prints[1]


def test_cache_is_written_when_the_test_dies_and_read_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    test = FisherZThroughACID(table(), cache_path=path)
    expected = test(0, 1, (2,)), test(0, 1)
    del test
    assert visible(tmp_path) == [path]
    test = FisherZThroughACID(table(), cache_path=path)
    assert (test(0, 1, (2,)), test(0, 1)) == expected
    assert test.n_computed == 0


def test_bare_file_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    test = FisherZThroughACID(table(), "p-values")
    test(0, 1)
    monkeypatch.chdir("/")  # the path was meant where it was given
    test.save()
    assert (tmp_path / "p-values").exists()


def test_cache_is_saved_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pvalue_file, "SAVE_EVERY_SECONDS", 0.0)
    test = FisherZThroughACID(table(), tmp_path / "p.json", prefetch=False)
    asked: list[tuple[Any, ...]] = [(0, 1), (0, 2), (0, 1, (2,))]
    for count, question in enumerate(asked, start=1):
        test(*question)
        saved = json.loads((tmp_path / "p.json").read_text())["pvalues"]
        assert len(saved) == count
    assert saved["0;1|2"] == test(0, 1, (2,))


def test_cache_of_another_fingerprint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    test = FisherZThroughACID(table(), path, fingerprint="a" * 64)
    test(0, 1)
    # Deleting the file would not be enough while the test lives.
    with pytest.raises(CacheError, match="other data, weights or options: a test of this Python"):
        FisherZThroughACID(table(), path, fingerprint="b" * 64)
    del test
    before = path.read_bytes()
    with pytest.raises(CacheError, match="other data, weights or options"):  # on disk
        FisherZThroughACID(table(), path, fingerprint="b" * 64)
    assert path.read_bytes() == before


def test_a_cache_of_a_version_with_other_pvalues_is_refused(
    tmp_path: Path, tiny_model: TrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.json"
    with monkeypatch.context() as patch:
        patch.setattr(tester, "ALGORITHM", tester.ALGORITHM - 1)
        ACID(table(), cache_path=path, model=tiny_model)(0, 1)
    with pytest.raises(CacheError, match="or to a version of acid-causal that computed other p-v"):
        ACID(table(), cache_path=path, model=tiny_model)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: text.replace("acid-causal p-values 1", "acid-causal p-values 9"),
        lambda text: text.replace('"0;1"', '"zero;one"'),
        lambda text: text.replace('"0;1": ', '"0;1": NaN, "0;2": '),
        lambda text: '{"data_hash": "causal-learn\'s own"}',
        lambda text: "\xff\xfe",
    ],
)
def test_damaged_cache_is_refused_and_left_alone(
    tmp_path: Path, damage: Callable[[str], str]
) -> None:
    path = tmp_path / "p.json"
    test = FisherZThroughACID(table(), path)
    test(0, 1)
    del test
    path.write_text(damage(path.read_text()))
    before = path.read_bytes()
    with pytest.raises(CacheError, match="delete it"):
        FisherZThroughACID(table(), path)
    assert path.read_bytes() == before


def test_unusable_paths_are_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "p.json"):
        with pytest.raises(CacheError, match="Choose another cache_path"):
            FisherZThroughACID(table(), path)


def test_failing_save_leaves_the_old_file_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.json"
    test = FisherZThroughACID(table(), path)
    test(0, 1)
    test.save()
    before = path.read_bytes()
    test(0, 1, (2,))

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(CacheError, match="No space left"):
            test.save()
        assert path.read_bytes() == before
        assert visible(tmp_path) == [path]
        # In the middle of a search it is a warning: hours of work shall not end here.
        patch.setattr(pvalue_file, "SAVE_EVERY_SECONDS", 0.0)
        with pytest.warns(AcidWarning, match="No space left"):
            assert 0.0 <= test(0, 1, (3,)) <= 1.0
    test.save()
    assert len(json.loads(path.read_text())["pvalues"]) >= 3


# ---- several processes -------------------------------------------------------------------------


def in_processes(*works: Callable[[], None], exit_code: int = 0) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=work) for work in works]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [exit_code] * len(works)


def test_killed_while_saving_leaves_the_old_file_whole(tmp_path: Path) -> None:
    def save_and_die() -> None:  # in a process of its own
        test = FisherZThroughACID(table(), tmp_path / "p.json")
        test(0, 1)
        test.save()
        test(0, 2)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", lambda _: os._exit(9))
            test.save()

    in_processes(save_and_die, exit_code=9)
    test = FisherZThroughACID(table(), tmp_path / "p.json")
    assert list(test.pvalue_cache) == [(0, 1, ())]


def add_and_save(path: Path, pvalues: dict[Question, float]) -> None:
    file = PValueFile.open(path, "f")
    for question, pvalue in pvalues.items():
        file.pvalues[question] = pvalue
        file.save()


def test_processes_that_share_a_file_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    parts: list[dict[Question, float]] = [
        {(i, j, ()): j / 100 for j in range(i + 1, i + 21)} for i in range(3)
    ]
    in_processes(*(partial(add_and_save, path, part) for part in parts))
    assert PValueFile.open(path, "f").pvalues == parts[0] | parts[1] | parts[2]


def test_what_others_add_is_kept_and_read(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    file = PValueFile.open(path, "f")
    file.pvalues[0, 1, ()] = 0.25
    in_processes(partial(add_and_save, path, {(0, 2, ()): 0.5}))
    file.save_at_end()
    both = {(0, 1, ()): 0.25, (0, 2, ()): 0.5}
    assert file.pvalues == both
    assert json.loads(path.read_text())["pvalues"] == {"0;1": 0.25, "0;2": 0.5}


def test_a_file_that_another_table_has_taken_meanwhile_is_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    file = PValueFile.open(path, "of another table")
    file.pvalues[0, 1, ()] = 0.25
    in_processes(partial(add_and_save, path, {(0, 2, ()): 0.5}))
    before = path.read_bytes()
    with pytest.raises(CacheError, match="belongs to other data"):
        file.save()
    with pytest.warns(AcidWarning, match="belongs to other data"):
        file.save_at_end()
    assert path.read_bytes() == before


def test_a_file_that_was_damaged_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    file = PValueFile.open(path, "f")
    file.pvalues[0, 1, ()] = 0.25
    path.write_text("[]")
    with pytest.raises(CacheError, match="delete it"):
        file.save()
    assert path.read_text() == "[]"


def test_the_mode_of_the_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    add_and_save(path, {(0, 1, ()): 0.5})
    path.chmod(0o640)
    add_and_save(path, {(0, 2, ()): 0.5})
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.slow
def test_two_searches_at_once_share_a_cache(tmp_path: Path) -> None:
    """One is killed in the middle; what it had saved is there, and so is all of the other."""
    code = (
        "import sys\n"
        "from oracle import FisherZThroughACID\n"
        "import numpy as np\n"
        "data = np.random.default_rng(0).normal(size=(50, 9))\n"
        "test = FisherZThroughACID(data, 'p.json', prefetch=False)\n"
        "for k in range(1, 9):\n"
        "    test(0, k) if sys.argv[1] == 'one' else test(0, k, (9 - k if k < 8 else 2,))\n"
        "    test.save()\n"
        "print('saved', flush=True)\n"
        "sys.stdin.read() if sys.argv[1] == 'one' else None\n"
    )
    command = [sys.executable, "-c", code]
    environment = os.environ | {"PYTHONPATH": PATHS}
    one, two = (
        subprocess.Popen(
            [*command, name],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for name in ("one", "two")
    )
    assert one.stdout is not None
    assert one.stdout.readline() == b"saved\n"
    one.kill()
    one.communicate()
    two.communicate()
    assert (one.returncode, two.returncode) == (-signal.SIGKILL, 0)
    keys = list(json.loads((tmp_path / "p.json").read_text())["pvalues"])
    assert len([key for key in keys if "|" not in key]) == 8
    assert len([key for key in keys if "|" in key]) == 8


def test_save_without_a_path_says_so() -> None:
    with pytest.raises(CacheError, match="cache_path"):
        FisherZThroughACID(table()).save()


def test_file_round_trip_is_exact(tmp_path: Path) -> None:
    file = PValueFile.open(tmp_path / "p.json", "f")
    pvalues = {(0, 1, ()): 1 / 3, (2, 10, (0, 3, 11)): 5e-324, (1, 2, (0,)): 1.0}
    file.pvalues.update(pvalues)
    file.save()
    del file
    assert PValueFile.open(tmp_path / "p.json", "f").pvalues == pvalues
