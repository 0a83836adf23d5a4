"""The numbers from which the page draws pairs of variables.

A pair is drawn twice: as it is, and after a regression on its decisive conditioning set. Two
numbers are drawn as a scatter, a number and a category as a strip for each level, two categories as
a mosaic. Numbers are rounded to 1/250 of their range, so that a value takes one byte.
"""

import base64
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from acid_causal.discovery.report.labels import isolated
from acid_causal.model.config import ModelConfig
from acid_causal.model.layout import Layout
from acid_causal.model.regression.smoothers import fit_fine_smoothers, residualise
from acid_causal.model.transform import rank_normal, robust, tame
from acid_causal.tables.inputs import Columns, Question, Table

Array = NDArray[np.float64]

# Numbers become codes from 0 to this; a further code stands for a missing value.
_STEPS, _MISSING = 250, 255
# A frame holds these quantiles and half of their distance on either side; values beyond it, if any,
# are drawn on its edge, so that an outlier does not squeeze the others into a corner.
_QUANTILES, _MARGIN = (0.02, 0.98), 0.5
# Before a regression values are clipped to a frame with this margin.
_FAR = 10.0
# Most levels drawn one by one; the rarer ones are joined.
_MOST_LEVELS = 7
# Regressions that are drawn, so that the page stays small.
_MOST_REGRESSIONS = 900
# Fewest rows of a regression.
_FEWEST_ROWS = 10


# The drawn level of each row, -1 if it is missing, and the names of the levels.
Levels = tuple[Int[NDArray[np.int64], " n"], list[str]]


def pair_pictures(sample: Table, pairs: Sequence[Question]) -> dict[str, Any]:
    """Returns the values of each variable, and what regressions leave of them, as JSON values.

    Args:
        sample: the rows to draw.
        pairs: the pairs with their decisive sets; the first ones come first if not all are drawn.

    Returns:
        The number of rows; the series, first one for each column and then the residuals; and for
        each pair what is drawn after the regression: two series and, for two categories, the
        numbers of rows expected from the set. None if the set is empty, or the pair not drawn.
    """
    levels = {k: _levels(sample, k) for k in sample.categories}
    wanted = _wanted(pairs)
    left = {
        (target, given): residual
        for given, targets in wanted.items()
        for target, residual in _regress(sample, levels, targets, given).items()
    }
    series = [
        _category(*levels[k]) if k in levels else _numbers(sample.values[:, k])
        for k in range(len(sample.columns))
    ]
    place: dict[tuple[int, Columns], int] = {}
    for (target, given), residual in left.items():
        # A category is drawn as it is, and against what is left of the other variable.
        place[target, given] = target if target in levels else len(series)
        if target not in levels:
            series.append(_numbers(residual[:, 0]))
    after: list[Any] = []
    for a, b, given in pairs:
        if (a, given) not in left or (b, given) not in left:
            after.append(None)
            continue
        after.append([place[a, given], place[b, given]])
        if a in levels and b in levels:
            expected = _expected(
                _indicators(*levels[a]), _indicators(*levels[b]), left[a, given], left[b, given]
            )
            after[-1].append(np.round(expected, 1).tolist())
    return {"rows": len(sample.values), "series": series, "after": after}


def _wanted(pairs: Sequence[Question]) -> dict[Columns, list[int]]:
    """Lists the regressions that are drawn: for each set, the variables that it takes."""
    wanted: dict[Columns, list[int]] = defaultdict(list)
    count = 0
    for a, b, given in pairs:
        new = [k for k in (a, b) if given and k not in wanted.get(given, ())]
        if count + len(new) <= _MOST_REGRESSIONS and new:
            wanted[given] += new
            count += len(new)
    return wanted


def _expected(
    x: Float[Array, "n r"],
    y: Float[Array, "n s"],
    x_left: Float[Array, "n r"],
    y_left: Float[Array, "n s"],
) -> Float[Array, "r s"]:
    """Computes the expected rows of each pair of levels under independence given the set."""
    chances = []
    for indicators, left in ((x, x_left), (y, y_left)):
        chance = np.clip(indicators - left, 1e-6, 1)
        chances.append(chance / chance.sum(axis=1, keepdims=True))
    both = ~np.isnan(chances[0]).any(axis=1) & ~np.isnan(chances[1]).any(axis=1)
    return chances[0][both].T @ chances[1][both]


# ---- regressions -------------------------------------------------------------------------------


def _regress(
    sample: Table, levels: Mapping[int, Levels], targets: Iterable[int], given: Columns
) -> dict[int, Float[Array, "n levels"]]:
    """Returns what the regression on a set leaves of each target, NaN in incomplete rows.

    The regression is the test's own: kernel ridge regressions on values and ranks of the set, whose
    ridge generalised cross-validation selects. Of a category it leaves a column for each level.
    """
    complete = ~np.isnan(sample.values[:, list(given)]).any(axis=1)
    by_rows: dict[bytes, list[int]] = defaultdict(list)
    for target in targets:
        by_rows[(complete & ~np.isnan(sample.values[:, target])).tobytes()].append(target)
    left = {}
    for key, together in by_rows.items():
        rows = np.frombuffer(key, dtype=bool)
        columns = [
            _indicators(*levels[k]) if k in levels else _without_outliers(sample.values[:, k])
            for k in together
        ]
        for target, residual in zip(
            together, _residuals(sample, columns, given, rows), strict=True
        ):
            left[target] = residual
    return left


def _residuals(
    sample: Table,
    columns: Sequence[Float[Array, "n _"]],
    given: Columns,
    rows: Bool[NDArray[np.bool_], " n"],
) -> list[Float[Array, "n _"]]:
    left = [np.full_like(column, np.nan) for column in columns]
    if rows.sum() < _FEWEST_ROWS:
        return left
    # Numbers first, as `Layout` requires.
    order = sorted(given, key=lambda k: k in sample.categories)
    parts = [_conditioning(sample, k)[rows] for k in order]
    layout = Layout.from_widths([[part.shape[1] for part in parts]], torch.device("cpu"))
    z = torch.from_numpy(np.hstack(parts))[None]
    values, ranks = tame(robust(z)).float(), rank_normal(z).float()
    if layout is not None:
        values, ranks = (layout.keep_indicators(part, z) for part in (values, ranks))
    with torch.no_grad():
        smoothers, _ = fit_fine_smoothers(values, ranks, ModelConfig().smoother_rank, layout)
        for column, residual in zip(columns, left, strict=True):
            here = column[rows]
            size = np.maximum(here.std(axis=0), 1e-300)
            v = torch.from_numpy(((here - here.mean(axis=0)) / size).T)[None].float()
            residual[rows] = residualise(v, smoothers)[0].double().numpy().T * size
    return left


def _without_outliers(values: Float[Array, " n"]) -> Float[Array, "n 1"]:
    return np.clip(values, *_frame(values, _FAR))[:, None]


def _conditioning(sample: Table, k: int) -> Float[Array, "n width"]:
    """Returns a number as it is, and a category as a column for each level."""
    values = sample.values[:, [k]]
    return (values == np.unique(values)).astype(np.float64) if k in sample.categories else values


def _indicators(codes: Int[NDArray[np.int64], " n"], names: Sequence[str]) -> Float[Array, "n r"]:
    """Returns a column of 0 and 1 for each level; NaN where the level is missing."""
    columns = (codes[:, None] == np.arange(len(names))).astype(np.float64)
    columns[codes < 0] = np.nan
    return columns


# ---- series ------------------------------------------------------------------------------------


def _frame(values: Float[Array, " n"], margin: float = _MARGIN) -> tuple[float, float]:
    """Returns the smallest and the largest value that is drawn."""
    there = values[~np.isnan(values)]
    if not len(there):
        return 0.0, 0.0
    low, high = np.quantile(there, _QUANTILES)
    beyond = margin * (high - low)
    return float(max(low - beyond, there.min())), float(min(high + beyond, there.max()))


def _numbers(values: Float[Array, " n"]) -> dict[str, Any]:
    low, high = _frame(values)
    share = (np.clip(values, low, high) - low) / (high - low) if high > low else values * 0 + 0.5
    codes = np.where(np.isnan(values), _MISSING, np.round(share * _STEPS))
    cut = bool((values < low).any() or (values > high).any())
    return {
        "codes": _text(codes),
        "low": float(f"{low:.3g}"),
        "high": float(f"{high:.3g}"),
        "cut": cut,
    }


def _levels(sample: Table, k: int) -> Levels:
    """Finds the levels that are drawn."""
    values, names = sample.values[:, k], sample.categories[k]
    there = ~np.isnan(values)
    counts = np.bincount(values[there].astype(np.int64), minlength=len(names))
    found = np.flatnonzero(counts)
    kept = found
    if len(found) > _MOST_LEVELS + 1:
        kept = np.sort(found[np.argsort(-counts[found], kind="stable")][:_MOST_LEVELS])
    place = np.full(len(names) + 1, len(kept))
    place[kept], place[-1] = np.arange(len(kept)), -1
    shown = [isolated(names[level]) for level in kept]
    if len(kept) < len(found):
        shown.append(f"{len(found) - len(kept)} others")
    return place[np.where(there, values, -1).astype(np.int64)], shown


def _category(codes: Int[NDArray[np.int64], " n"], names: Sequence[str]) -> dict[str, Any]:
    return {"codes": _text(np.where(codes < 0, _MISSING, codes)), "levels": list(names)}


def _text(codes: NDArray[Any]) -> str:
    return base64.b64encode(codes.astype(np.uint8).tobytes()).decode()
