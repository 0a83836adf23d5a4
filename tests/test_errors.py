"""Messages that name what is known, and warnings that point at the user's line."""

import importlib
import math
import sys
import types
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from acid_causal.errors import (
    AcidWarning,
    OptionError,
    PackageError,
    check_fraction,
    check_level,
    listed,
    require,
    unknown,
    warn,
)


def test_unknown_names_the_closest() -> None:
    assert str(unknown("fruit", "aple", ["kiwi", "apple"])) == (
        "unknown fruit 'aple'. Did you mean 'apple'?"
    )


def test_unknown_lists_all_if_none_is_close() -> None:
    assert str(unknown("fruit", 3, ["pear", "apple"])) == "unknown fruit 3. Known: apple, pear."
    many = str(unknown("column", "?", [f"X{k:04}" for k in range(1000)]))
    assert many.endswith("X0019 and 980 more.")


def test_unknown_without_any_to_choose_from() -> None:
    message = str(unknown("model", "acid", []))
    assert message == "unknown model 'acid'. There is none to choose from."


def test_unknown_takes_names_that_are_no_text() -> None:
    numbers: Any = [20, 17]
    assert "Known: 17, 20." in str(unknown("number", "x", numbers))


def test_listed() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed([]) == ""
    assert listed(list("abcdefghijk")) == "a, b, c, d, e, f, g, h, i, j and 1 more"
    assert listed(["a", "b", "c"], 1) == "a and 2 more"


def test_require() -> None:
    require(True, "steps", 3, "at least 1")
    with pytest.raises(OptionError, match=r"^steps must be at least 1, not 0$"):
        require(False, "steps", 0, "at least 1")


NO_NUMBERS = [None, True, np.True_, "0.05", [0.05], 0.5j]


def test_levels() -> None:
    levels: list[Any] = [0.05, np.float32(0.05), np.float64(0.05), Fraction(1, 20)]
    for alpha in levels:
        assert check_level(alpha) == pytest.approx(0.05)
        assert type(check_level(alpha)) is float
    for wrong in (0, 1, 0.0, 1.0, 5, -0.1, 10**400, math.nan, math.inf, *NO_NUMBERS):
        with pytest.raises(OptionError, match=r"^alpha must be between 0 and 1, not "):
            check_level(wrong)
    with pytest.raises(OptionError, match=r"^level must be between 0 and 1, or so, not 2$"):
        check_level(2, "level", ", or so")


def test_fractions() -> None:
    for fraction in (1, np.int64(1), 0.5, np.float32(0.5)):
        assert check_fraction(fraction) == fraction
        assert type(check_fraction(fraction)) is float
    for wrong in (0, 1.01, math.nan, *NO_NUMBERS):
        with pytest.raises(OptionError, match=r"^fraction must be above 0 and at most 1, not "):
            check_fraction(wrong)


@pytest.mark.parametrize("adapter", ["andrey", "pgmpy", "tigramite"])
def test_an_adapter_says_what_to_install(adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == adapter]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, adapter, None)
    monkeypatch.delitem(sys.modules, f"acid_causal.{adapter}", raising=False)
    with pytest.raises(PackageError, match=rf"{adapter}.*pip install 'acid-causal\[{adapter}\]'"):
        importlib.import_module(f"acid_causal.{adapter}")
    assert issubclass(PackageError, ImportError)


def module(name: str, **names: object) -> types.ModuleType:
    """Makes a module whose function calls a function `inner`."""
    made = types.ModuleType(name)
    made.__dict__.update(names)
    exec("def outer():\n    inner()", made.__dict__)
    return made


def caught(call: types.FunctionType) -> tuple[warnings.WarningMessage, int]:
    """Returns the warning that a call gives, and the line of the call."""
    with pytest.warns(AcidWarning) as record:
        call()
    (warning,) = record
    return warning, caught.__code__.co_firstlineno + 3


@pytest.mark.parametrize("depth", [0, 1, 4])
def test_warnings_point_at_the_line_outside_the_package(depth: int) -> None:
    call = lambda: warn("careful")  # noqa: E731
    # A function of the package itself, then others that call it.
    call = types.FunctionType(call.__code__, {"warn": warn, "__name__": "acid_causal.deep"})
    names = ("acid_causal.sub", "causallearn.graph", "pgmpy.estimators", "andrey")
    for name in names[:depth]:
        call = module(name, inner=call).outer
    warning, line = caught(call)
    assert str(warning.message) == "careful"
    assert warning.category is AcidWarning
    assert (warning.filename, warning.lineno) == (__file__, line)


def test_a_neighbour_with_a_similar_name_is_outside() -> None:
    call = module("acid_causal_extra", inner=lambda: warn("careful")).outer
    warning, _ = caught(call)
    assert warning.filename == __file__  # the lambda's own line: this module is the first outside


def test_each_caller_is_warned_once() -> None:
    """With Python's default filter a warning is shown once for each line that it points at."""
    ours = types.FunctionType(
        (lambda: warn("careful")).__code__, {"warn": warn, "__name__": "acid_causal.deep"}
    )
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("default")
        for _ in range(3):
            ours()
        ours()
    assert len(record) == 2


def test_other_categories_and_no_frame_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(DeprecationWarning, match="old"):
        warn("old", DeprecationWarning)
    monkeypatch.setattr("acid_causal.errors._is_ours", lambda module: True)
    with pytest.warns(AcidWarning, match="deep"):
        warn("deep")
