"""Tests for mixed tables, each as a function of a `MixedQuestion`.

andrey-core and pgmpy are optional: `pip install 'acid-causal[andrey,pgmpy]'`.
"""

import importlib
import logging
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from causallearn.utils.cit import CIT

from acid_causal.errors import AcidWarning, OptionError, unknown
from acid_causal.inference.tester import Tester
from benchmarks.data.mixed_questions import MixedQuestion
from benchmarks.methods import DEFAULT_MODEL, learned

Answer = Callable[[MixedQuestion], float]

# Tests of tables without a number.
ALL_CATEGORICAL = ("chisq", "gsq")
_PACKAGES = {"andrey.core.ci": "andrey", "pgmpy.ci_tests": "pgmpy"}


def mixed_method(name: str) -> Answer:
    """Finds a test by the name that `--methods` takes.

    Raises:
        OptionError: there is no such test, or its package is not installed.
    """
    base, _, model = name.partition(":")
    if base in ("acid", "acid-codes"):
        loaded = learned.load(model or DEFAULT_MODEL)
        return lambda question: _acid(question, loaded, typed=base == "acid")
    for names, answer in (
        (("degen_gauss", "cond_gauss"), _andrey),
        (ALL_CATEGORICAL, _causal_learn),
        (("pillai",), _pillai),
    ):
        if base in names:
            return lambda question: _number(answer(base, question))
    raise unknown("method", name, ("acid", "degen_gauss", "cond_gauss", "pillai", *ALL_CATEGORICAL))


def _number(pvalue: float) -> float:
    """Returns 1 for NaN: a test that could not be computed rejects nothing."""
    return 1.0 if math.isnan(pvalue) else float(pvalue)


def _acid(question: MixedQuestion, model: Any, *, typed: bool) -> float:
    """Asks ACID; without types categories are arbitrary integers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AcidWarning)
        categorical = question.categorical if typed else ()
        tester = Tester(question.values, categorical=categorical, model=model)
        return float(tester.test(0, 1, range(2, tester.d)).pvalue)


def _andrey(name: str, question: MixedQuestion) -> float:
    make = _require("andrey.core.ci").make_indep_test
    mask = np.isin(range(len(question.levels)), question.categorical)
    return make(name, question.values, categorical=mask)(0, 1, range(2, len(mask)))


def _causal_learn(name: str, question: MixedQuestion) -> float:
    test = CIT(question.values.astype(np.int64), name)
    return test(0, 1, range(2, len(question.levels)))


def _pillai(name: str, question: MixedQuestion) -> float:
    tests = _require("pgmpy.ci_tests")
    names = [f"v{k}" for k in range(len(question.levels))]
    frame = pd.DataFrame(question.values, columns=names)
    for k in question.categorical:
        frame[names[k]] = frame[names[k]].astype(int).astype(str).astype("category")
    logging.getLogger("pgmpy").setLevel(logging.WARNING)  # it tells the types of all columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test = tests.PillaiTrace(frame)
        test("v0", "v1", names[2:])
    return test.p_value_


def _require(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise OptionError(
            f"a method needs a package that is not installed ({error}). Install it with: "
            f"pip install 'acid-causal[{_PACKAGES[module]}]'"
        ) from error
