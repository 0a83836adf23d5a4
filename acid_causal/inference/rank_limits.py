"""Questions on which a model fails that sees ranks alone, told by the values and the residuals.

| kind | the question |
|---|---|
| little noise | Z explains nearly all of both X and Y |
| gap in Z | Z explains both, and a member of Z has a wide gap, as between two clusters |
| common volatility | Z moves the scale of both X and Y, and hardly their mean |

On ranks a gap makes a jump of every relation, and on plain relations of these kinds Type I error at
.05 is .2 to .95 (`python -m benchmarks consistency`). A model that keeps values holds its level.
"""

from collections import defaultdict

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.inference.batching import Task
from acid_causal.inference.encoding_cache import EncodedQuestions, Place
from acid_causal.inference.rows.rows import Rows
from acid_causal.tables.inputs import Columns

Array = NDArray[np.float64]

LITTLE_NOISE, GAP, VOLATILITY = "little noise", "gap in Z", "common volatility"

# Share of the variance of both X and Y that Z explains: above the first the noise is little; below
# the second a gap does no harm; above the third residuals grow with what the regressions miss.
_NEARLY_ALL, _SOME, _LITTLE = 0.965, 0.3, 0.3
# A wide gap, in units of the range: this, and in small samples this much over n more.
_WIDE, _WIDE_BY_CHANCE = 0.4, 3.0
# Share of the variance of absolute residuals that Z explains: this, and standard errors of it.
_VOLATILE, _VOLATILE_DEVIATIONS = 0.1, 3.0
# Rows for each term of the regression on Z and its squares, so that its adjusted share means much.
_ROWS_A_TERM = 1.5


def kinds_by_rank(questions: EncodedQuestions) -> list[tuple[str, ...]]:
    """Returns the kinds above that hold of each question."""
    volatile = _volatile(questions)
    found = []
    for task, (x, y) in zip(questions.tasks, questions.pairs, strict=True):
        explained = min(x.explained, y.explained)
        kinds = []
        if explained > _NEARLY_ALL:
            kinds.append(LITTLE_NOISE)
        if explained > _SOME and _has_gap(task, questions.rows):
            kinds.append(GAP)
        if (task.cond, task.x) in volatile and (task.cond, task.y) in volatile:
            kinds.append(VOLATILITY)
        found.append(tuple(kinds))
    return found


def _has_gap(task: Task, rows: Rows) -> bool:
    wide = _WIDE + _WIDE_BY_CHANCE / rows.n
    return any(rows.measures.widest_gap(k) > wide for k in task.cond)


def _volatile(questions: EncodedQuestions) -> set[tuple[Columns, Columns]]:
    """Returns the targets, each with its conditioning set, whose scale Z moves."""
    places: dict[Columns, dict[Columns, Place]] = defaultdict(dict)
    for task, (x, y) in zip(questions.tasks, questions.pairs, strict=True):
        if task.cond and max(x.explained, y.explained) < _LITTLE:
            places[task.cond].update({task.x: x, task.y: y})
    found = set()
    for cond, targets in places.items():
        z = questions.rows.columns(cond).double().cpu().numpy()
        terms = np.hstack([np.ones((len(z), 1)), z, z * z])
        bound = _VOLATILE + _VOLATILE_DEVIATIONS * np.sqrt(2 * (terms.shape[1] - 1)) / len(z)
        # Too few rows: by chance alone Z explains most of any column.
        if bound >= 1 or len(z) < _ROWS_A_TERM * terms.shape[1]:
            continue
        basis = np.linalg.qr(terms)[0]
        found |= {(cond, part) for part, at in targets.items() if _share(at, basis) > bound}
    return found


def _share(target: Place, basis: Float[Array, "n terms"]) -> float:
    """Returns the share of the variance of a target's absolute residuals that Z explains."""
    residuals = target.encoding.residuals[0]  # (d, regressions, n)
    if residuals.shape[1] == 0:
        return 0.0
    sizes = residuals[:, 0].abs().double().cpu().numpy()
    sizes -= sizes.mean(axis=1, keepdims=True)
    total = np.square(sizes).sum(axis=1)
    explained = np.square(sizes @ basis).sum(axis=1) / np.where(total > 0, total, 1.0)
    n, terms = basis.shape
    return float((1 - (1 - explained) * (n - 1) / (n - terms)).max())
