"""The conditional independence tests that are compared, each as `(x, y, z) -> p-value`.

`acid` is `acid_causal`'s default model; `acid:NAME` is another one, by name or by the path of its
weights, so that two models can be compared in one run. The others are causal-learn's, with its
defaults.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import joblib
import numpy as np
from causallearn.utils.cit import FisherZ
from causallearn.utils.FastKCI.FastKCI import FastKCI_CInd, FastKCI_UInd
from causallearn.utils.KCI.KCI import KCI_CInd, KCI_UInd
from causallearn.utils.RCIT.RCIT import RCIT, RIT
from numpy.typing import NDArray

from acid_causal import ci_test, load_model
from acid_causal.checkpoint import TrainedModel, available_models
from acid_causal.errors import unknown
from benchmarks import provenance

Array = NDArray[np.float64]
# x of shape (n, d_x), y (n, d_y), z (n, d_z) or None.
Question = tuple[Array, Array, Array | None]

DEFAULT_MODEL = "acid-base"


@dataclass(frozen=True)
class Method:
    """A test and the settings in which it is asked.

    Attributes:
        name: Name in the CSV.
        pvalues: From many questions of one shape to their p-values.
        reaches: Whether the experiments on synthetic data ask it at (n, d_z).
        note: What a reader of its figures should know, such as its reach; printed below tables.
    """

    name: str
    pvalues: Callable[[Sequence[Question]], list[float]]
    reaches: Callable[[int, int], bool] = lambda n, d_z: True
    note: str = ""


def get_method(name: str) -> Method:
    """Finds a method by the name that `--methods` takes.

    Raises:
        OptionError: There is no such method.
    """
    base, _, model = name.partition(":")
    if base == "acid":
        return Method(name, lambda questions: _acid(questions, model or DEFAULT_MODEL))
    if name not in _CLASSICAL:
        raise unknown("method", name, (*_CLASSICAL, "acid"))
    return _CLASSICAL[name]


def pick(requested: Iterable[str], offered: Sequence[str]) -> list[str]:
    """Checks requested names against those that an experiment offers.

    Raises:
        OptionError: The experiment has no such method.
    """
    names = list(dict.fromkeys(requested))
    for name in names:
        if name.partition(":")[0] not in offered:
            raise unknown("method", name, offered)
    return names


def weights_sha256(name: str) -> str:
    """Returns the digest of a learned method's weights; empty for one without any, or not found."""
    base, _, model = name.partition(":")
    if base != "acid":
        return ""
    name = model or DEFAULT_MODEL
    path = available_models().get(name, Path(name))
    return provenance.sha256(path) if path.is_file() else ""


# ---- adapters ------------------------------------------------------------------


@cache
def _load(model: str) -> TrainedModel:
    return load_model(model)


def _acid(questions: Sequence[Question], model: str) -> list[float]:
    loaded = _load(model)
    return [float(ci_test(x, y, z, model=loaded).pvalue) for x, y, z in questions]


def _one_by_one(
    test: Callable[[Array, Array, Array | None], float],
) -> Callable[[Sequence[Question]], list[float]]:
    def pvalues(questions: Sequence[Question]) -> list[float]:
        return [_checked(float(test(x, y, z))) for x, y, z in questions]

    return pvalues


def _checked(pvalue: float) -> float:
    if math.isnan(pvalue):
        raise ValueError("the test returned NaN as its p-value")
    return pvalue


def _kcit(x: Array, y: Array, z: Array | None) -> float:
    if z is None:
        return KCI_UInd().compute_pvalue(x, y)[0]
    return KCI_CInd().compute_pvalue(x, y, z)[0]


def _rcit(x: Array, y: Array, z: Array | None) -> float:
    if z is None:
        return RIT().compute_pvalue(x, y)[0]
    return RCIT().compute_pvalue(x, y, z)[0]


def _fastkci(x: Array, y: Array, z: Array | None) -> float:
    # FastKCI asks joblib for all cores. In one process it is timed like the others, and it draws
    # from the generator that the job has seeded.
    with joblib.parallel_config(backend="sequential"):
        if z is None:
            return FastKCI_UInd().compute_pvalue(x, y)[0]
        return FastKCI_CInd().compute_pvalue(x, y, z)[0]


def _fisherz(x: Array, y: Array, z: Array | None) -> float:
    """Fisher's z of the partial correlation; x and y must be one column each."""
    if x.shape[1] != 1 or y.shape[1] != 1:
        raise ValueError(f"Fisher-z takes one column each, got {x.shape[1]} and {y.shape[1]}")
    table = np.hstack([x, y] if z is None else [x, y, z])
    return FisherZ(table)(0, 1, range(2, table.shape[1]))


_CLASSICAL = {
    method.name: method
    for method in (
        Method(
            "kcit",
            _one_by_one(_kcit),
            lambda n, d_z: n <= 500,
            "asked at n <= 500: its cost grows with n^3.",
        ),
        Method(
            "rcit",
            _one_by_one(_rcit),
            note="at n <= 100 its 100 features of Z fit every row, and p is 0 whatever the data.",
        ),
        Method(
            "fisherz",
            _one_by_one(_fisherz),
            lambda n, d_z: n > d_z + 3,
            "asked at n > d_z + 3, where it has degrees of freedom.",
        ),
        # Its ten blocks hold n / 10 rows; those with fewer than six are skipped, and below n of
        # about 60 none is left and p is 0 whatever the data.
        Method(
            "fastkci",
            _one_by_one(_fastkci),
            lambda n, d_z: 100 <= n <= 300,
            "asked at 100 <= n <= 300: blocks too small below, 2 s a test above.",
        ),
    )
}
