"""Tests for mixed tables: X, Y and the members of Z are the columns of one array.

andrey-core, pgmpy and tigramite are optional: `pip install 'acid-causal[andrey,pgmpy,tigramite]'`.
"""

import logging
import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch
from causallearn.utils.cit import CIT

from acid_causal.errors import AcidWarning, unknown
from acid_causal.inference.tester import Tester
from acid_causal.synthetic import LabelledDatasets
from acid_causal.weights.checkpoint import TrainedModel
from benchmarks.methods import CHECKED, DEFAULT_MODEL, andrey, learned
from benchmarks.methods.method import Array, import_extra

# Maps a table, (n, 2 + d_z), and the columns that are categories, as codes, to the p-value.
Answer = Callable[[Array, Sequence[int]], float]

# Tests of tables without a number.
ALL_CATEGORICAL = ("chisq", "gsq")
# Of tigramite's CMIknnMixed. Its default of 500 takes five times as long.
_PERMUTATIONS = 100


def mixed_method(name: str) -> Answer:
    """Finds a test by the name that `--methods` takes.

    `acid-codes` is ACID without types: categories are arbitrary integers. `acid-checked` is ACID
    with the checked null.

    Raises:
        OptionError: there is no such test, or its package is not installed.
    """
    base, _, model = name.partition(":")
    if base in ("acid", CHECKED, "acid-codes"):
        loaded = learned.load(model or DEFAULT_MODEL)
        null = "checked" if base == CHECKED else None
        typed = base != "acid-codes"
        return lambda table, codes: acid_pvalue(table, codes if typed else (), loaded, null)
    for names, answer in (
        (andrey.MIXED_TESTS, _andrey),
        (ALL_CATEGORICAL, _causal_learn),
        (("pillai",), _pillai),
        (("cmiknn-mixed",), _tigramite),
    ):
        if base in names:
            return lambda table, codes: _number(answer(base, table, codes))
    peers = (*andrey.MIXED_TESTS, "pillai", "cmiknn-mixed", *ALL_CATEGORICAL)
    raise unknown("method", name, ("acid", *peers))


def questions_of(drawn: LabelledDatasets) -> list[tuple[Array, list[int]]]:
    """Returns the arguments of an `Answer` for each dataset, all of which may have categories."""
    assert drawn.categorical is not None
    tables = torch.cat([drawn.x, drawn.y, drawn.z], dim=2).double().numpy()
    codes = [flags.nonzero()[:, 0].tolist() for flags in drawn.categorical]
    return list(zip(tables, codes, strict=True))


def _number(pvalue: float) -> float:
    """Returns 1 for NaN: a test that could not be computed rejects nothing."""
    return 1.0 if math.isnan(pvalue) else float(pvalue)


def acid_pvalue(
    table: Array, codes: Sequence[int], model: TrainedModel, null: str | None = None
) -> float:
    """Tests the first two columns given the others; `codes` are the columns that are categories."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AcidWarning)
        tester = Tester(table, categorical=codes, model=model, null=null)
        return float(tester.test(0, 1, range(2, tester.d)).pvalue)


def _andrey(name: str, table: Array, codes: Sequence[int]) -> float:
    return andrey.make_test(name, table, codes)(0, 1, range(2, table.shape[1]))


def _causal_learn(name: str, table: Array, codes: Sequence[int]) -> float:
    return CIT(table.astype(np.int64), name)(0, 1, range(2, table.shape[1]))


def _pillai(name: str, table: Array, codes: Sequence[int]) -> float:
    tests = import_extra("pgmpy.ci_tests", "pgmpy", name)
    names = [f"v{k}" for k in range(table.shape[1])]
    frame = pd.DataFrame(table, columns=names)
    for k in codes:
        frame[names[k]] = frame[names[k]].astype(int).astype(str).astype("category")
    logging.getLogger("pgmpy").setLevel(logging.WARNING)  # it tells the types of all columns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test = tests.PillaiTrace(frame)
        test("v0", "v1", names[2:])
    return test.p_value_


def _tigramite(name: str, table: Array, codes: Sequence[int]) -> float:
    tests = import_extra("tigramite.independence_tests.cmiknn_mixed", "tigramite", name)
    test = tests.CMIknnMixed(workers=1, sig_samples=_PERMUTATIONS, sig_blocklength=1)
    types = np.zeros(table.shape, dtype=np.int64)
    types[:, codes] = 1
    (x, y, z), (x_type, y_type, z_type) = (
        np.split(each, [1, 2], axis=1) for each in (table, types)
    )
    return test.run_test_raw(x, y, z, x_type=x_type, y_type=y_type, z_type=z_type)[1]
