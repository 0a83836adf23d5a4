"""Whatever comes in: a p-value, or one of our errors; never a NaN, never a changed input."""

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acid_causal.errors import AcidError, AcidWarning
from acid_causal.inference.tester import Tester, ci_test
from acid_causal.weights.checkpoint import TrainedModel

Draw = Callable[[st.SearchStrategy[Any]], Any]


def with_gaps(v: np.ndarray, rng: np.random.Generator, value: float) -> np.ndarray:
    return np.where(rng.uniform(size=len(v)) < 0.3, value, v)


# From the columns so far, noise of the right length and a source of randomness to a column.
COLUMNS: dict[str, Callable[[list[np.ndarray], np.ndarray, np.random.Generator], np.ndarray]] = {
    "normal": lambda columns, e, rng: e,
    "dependent": lambda columns, e, rng: np.tanh(columns[0]) + 0.1 * e if columns else e,
    "constant": lambda columns, e, rng: np.full(len(e), 3.7),
    "copy": lambda columns, e, rng: columns[-1] if columns else e,
    "affine copy": lambda columns, e, rng: 1e6 - 2.5 * columns[-1] if columns else e,
    "sum": lambda columns, e, rng: sum(columns) + 1e-8 * e if columns else e,
    "binary": lambda columns, e, rng: (e > 0.5).astype(float),
    "ordinal": lambda columns, e, rng: np.floor(2 * e),
    "counts": lambda columns, e, rng: rng.poisson(2, len(e)).astype(float),
    "rare": lambda columns, e, rng: (np.arange(len(e)) == 0).astype(float),
    "repeated": lambda columns, e, rng: np.resize(e[: len(e) // 2 + 1], len(e)),
    "heavy": lambda columns, e, rng: rng.standard_cauchy(len(e)) * 1e12,
    "tiny": lambda columns, e, rng: e * 1e-12,
    "subnormal": lambda columns, e, rng: e * 1e-320,
    "huge": lambda columns, e, rng: e * 1e300,
    "log-normal": lambda columns, e, rng: np.exp(5 * e),
    "outlier": lambda columns, e, rng: np.where(np.arange(len(e)) == 1, 1e12, e),
    "whole": lambda columns, e, rng: np.round(1000 * e),
    "nought": lambda columns, e, rng: np.where(e > 0, 0.0, -0.0),
    "gaps": lambda columns, e, rng: with_gaps(e, rng, np.nan),
    "absent": lambda columns, e, rng: np.full(len(e), np.nan),
    "infinite": lambda columns, e, rng: with_gaps(e, rng, np.inf),
}
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "C": lambda x: x,
    "Fortran": np.asfortranarray,
    "view": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda x: x[::-1, ::-1],
    "frame": lambda x: pd.DataFrame(x, columns=[f"v{k}" for k in range(x.shape[1])]),
    "indexed frame": lambda x: pd.DataFrame(x, index=np.arange(len(x))[::-1]),
    "lists": lambda x: x.tolist(),
    "flat": np.ravel,
    "deep": lambda x: x[..., None],
    "masked": lambda x: np.ma.masked_array(x, np.arange(x.size).reshape(x.shape) % 7 == 3),
}
TYPES = ("float64", "float32", "float16", "int64", "int8", "bool", "object", "complex128", "U8")
INDICES: dict[str, Callable[[list[int]], Any]] = {
    "tuple": tuple,
    "list": list,
    "set": set,
    "array": lambda s: np.array(s, dtype=np.int64),
    "small": lambda s: np.array(s, dtype=np.uint8) if min(s, default=0) >= 0 else s,
    "repeats": lambda s: [*s, *s],
    "iterator": iter,
    "floats": lambda s: [float(k) for k in s],
    "names": lambda s: [f"v{k}" for k in s],
}


def table(draw: Draw) -> Any:
    n: int = draw(st.integers(0, 40))
    d: int = draw(st.integers(0, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns: list[np.ndarray] = []
    for kind in draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=d, max_size=d)):
        with np.errstate(invalid="ignore"):  # a sum of both infinities
            columns.append(COLUMNS[kind](columns, rng.normal(size=n), rng))
    x = np.column_stack(columns) if columns else np.empty((n, 0))
    # Most tables are plain, so that most cases reach the network.
    dtype = draw(st.sampled_from(["float64"] * 12 + list(TYPES)))
    form = draw(st.sampled_from(["C"] * 4 + sorted(FORMS)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # NaN as a whole number, 1e300 as a half
        x = FORMS[form](x.astype(dtype))
    if isinstance(x, np.ndarray) and draw(st.booleans()):
        x.flags.writeable = False
    return x


def index(draw: Draw) -> Any:
    k = draw(st.integers(0, 5) | st.integers(-2, 7))
    return draw(st.sampled_from([k, k, k, np.int64(k), np.int32(k), True, float(k), f"v{k}", None]))


def cond(draw: Draw) -> Any:
    members = draw(st.lists(st.integers(0, 5) | st.integers(-1, 7), max_size=4))
    return INDICES[draw(st.sampled_from(["tuple", "list", "array"] * 2 + sorted(INDICES)))](members)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, pd.DataFrame):
        return a.equals(b)
    return repr(a) == repr(b) and np.array_equal(
        np.asarray(a, dtype=object).astype(str), np.asarray(b, dtype=object).astype(str)
    )


def is_pvalue(p: object) -> bool:
    return type(p) is float and 0 <= p <= 1


def check(data: st.DataObject, model: TrainedModel) -> None:
    x = table(data.draw)
    missing = data.draw(st.sampled_from(["raise", "drop"]))
    null = data.draw(st.sampled_from(["conditional"] * 4 + ["sized", "pooled", "permutation"]))
    options: dict[str, Any] = {"missing": missing, "null": null, "permutations": 19}
    before = copy.deepcopy(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", AcidWarning)
        try:
            tester = Tester(x, model=model, **options)
            for _ in range(2):
                i, j, given = index(data.draw), index(data.draw), cond(data.draw)
                again = copy.deepcopy(given) if not hasattr(given, "__next__") else None
                try:
                    result = tester.test(i, j, given)
                except AcidError:
                    continue
                assert is_pvalue(result.pvalue)
                assert not np.isnan(result.statistic)
                if again is not None:
                    assert tester.test(i, j, again).pvalue == pytest.approx(result.pvalue, abs=1e-4)
            parts = [np.asarray(x)[:, k] for k in range(min(3, np.asarray(x).shape[1]))]
            if len(parts) == 3:
                result = ci_test(*parts, model=model, **options)
                assert is_pvalue(result.pvalue)
        except AcidError:
            pass
    assert same(x, before)


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.mark.usefixtures("wrong_types")
@settings(max_examples=40, deadline=None, suppress_health_check=QUIET)
@given(data=st.data())
def test_anything(tiny_model: TrainedModel, data: st.DataObject) -> None:
    check(data, tiny_model)


@pytest.mark.usefixtures("wrong_types")
@pytest.mark.slow
@settings(max_examples=2000, deadline=None, suppress_health_check=QUIET)
@given(data=st.data())
def test_anything_two_thousand_times(tiny_model: TrainedModel, data: st.DataObject) -> None:
    check(data, tiny_model)
