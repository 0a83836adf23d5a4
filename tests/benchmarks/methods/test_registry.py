from functools import partial
from pathlib import Path

import numpy as np
import pytest
from questions import question

from acid_causal import ci_test
from acid_causal.errors import InputError, OptionError
from acid_causal.weights.checkpoint import TrainedModel
from benchmarks.harness.runner import seed_everything
from benchmarks.methods import causal_learn, get_method, pick, weights_sha256
from benchmarks.methods.gcm import TREES

SINGLE_COLUMNS = ["fisherz", "scit", "scit-two-sided", "lcit", "gcm"]
CLASSICAL = ["kcit", "rcit", "fastkci", *SINGLE_COLUMNS]


@pytest.fixture(autouse=True)
def fewer_partitions_and_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """FastKCI takes seconds with its eight partitions of the rows, and is called alike with two.

    GCM does with a hundred trees; the best number here is smaller.
    """
    monkeypatch.setitem(TREES, "max_iter", 20)
    for name in ("FastKCI_CInd", "FastKCI_UInd"):
        monkeypatch.setattr(causal_learn, name, partial(getattr(causal_learn, name), J=2))


@pytest.mark.parametrize("d_z", [0, 2])
@pytest.mark.parametrize("name", CLASSICAL)
def test_adapters_tell_dependence(name: str, d_z: int) -> None:
    seed_everything(0)
    pvalues = get_method(name).pvalues
    independent, dependent = pvalues([question(effect=0.0, d_z=d_z), question(effect=1.0, d_z=d_z)])
    assert 0.01 < independent <= 1
    assert 0 <= dependent < 0.01


@pytest.mark.parametrize("name", CLASSICAL)
def test_seeded_answers_repeat(name: str) -> None:
    answers = []
    for _ in range(2):
        seed_everything(5)
        answers.append(get_method(name).pvalues([question(effect=0.0, d_z=2, n=110)]))
    assert answers[0] == answers[1]


def test_kernel_tests_take_several_columns() -> None:
    x, _, z = question(effect=0.0, d_z=2)
    y = np.hstack([x[::-1], x**2])
    assert get_method("kcit").pvalues([(x, y, z)])[0] < 0.01


@pytest.mark.parametrize("name", SINGLE_COLUMNS)
def test_other_tests_refuse_several_columns(name: str) -> None:
    x, y, z = question(effect=0.0, d_z=2)
    with pytest.raises(InputError, match="one column each, got 1 and 2"):
        get_method(name).pvalues([(x, np.hstack([x, y]), z)])


@pytest.mark.parametrize("name", ["scit", "scit-two-sided", "lcit", "gcm"])
def test_what_holds_no_information_is_an_error(name: str) -> None:
    x, y, z = question(effect=0.0, d_z=2)
    with pytest.raises(InputError, match="does not vary"):
        get_method(name).pvalues([(np.ones_like(x), y, z)])


@pytest.mark.parametrize("name", ["scit", "scit-two-sided", "lcit", "gcm"])
@pytest.mark.parametrize("n", range(4, 21, 4))
def test_few_rows_give_an_answer_or_an_error(name: str, n: int) -> None:
    seed_everything(n)
    asked = question(effect=0.0, d_z=10, n=n)
    try:
        (pvalue,) = get_method(name).pvalues([asked])
    except ValueError:
        assert not get_method(name).reaches(n, 10)
    else:
        assert 0 <= pvalue <= 1


def test_nan_is_an_error() -> None:
    x, y, _ = question(effect=0.0, d_z=0)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="NaN"):
        get_method("fisherz").pvalues([(np.ones_like(x), y, None)])


def test_limits_are_declared() -> None:
    fisherz = get_method("fisherz")
    assert not fisherz.reaches(13, 10)
    assert fisherz.reaches(14, 10)
    assert not get_method("scit").reaches(13, 10)
    assert not get_method("gcm").reaches(10, 10)
    assert get_method("lcit").reaches(5, 10)
    assert all(get_method(name).note for name in CLASSICAL)
    assert "one-sided" in get_method("scit").note
    assert get_method("acid").reaches(5, 100)


def test_names() -> None:
    assert pick(["acid:tiny", "rcit", "rcit"], ("acid", "rcit")) == ["acid:tiny", "rcit"]
    with pytest.raises(OptionError, match="Did you mean 'fisherz'"):
        pick(["fisher"], ("acid", "fisherz"))
    with pytest.raises(OptionError, match=r"unknown method 'lcitt'.* mean 'lcit'"):
        get_method("lcitt")
    assert weights_sha256("rcit") == ""
    assert weights_sha256("acid:no-such-model") == ""


def test_acid_by_the_path_of_its_weights(tiny_model: TrainedModel, tmp_path: Path) -> None:
    path = tmp_path / "tiny.safetensors"
    tiny_model.save(path)
    asked = question(effect=0.0, d_z=2)
    pvalue = get_method(f"acid:{path}").pvalues([asked])[0]
    assert pvalue == ci_test(*asked, model=tiny_model).pvalue
    assert len(weights_sha256(f"acid:{path}")) == 64
