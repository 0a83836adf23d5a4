"""How certain each edge is, from the p-values of one run: no further test is computed.

- `stability_path`: the graph at other levels alpha.
- `adjusted_pvalues`: p-values of edges under control of the false discovery rate.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import SupportsIndex

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from acid_causal.causal_learn.level import Pair
from acid_causal.discovery.knowledge import Knowledge
from acid_causal.discovery.mixed_graph import Endpoints, mark_between
from acid_causal.discovery.search.graph_search import run_fci, run_pc
from acid_causal.tables.inputs import Question

ALPHAS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
# A larger alpha keeps more edges, and so needs tests that the run did not make; their number grows
# exponentially. A level that needs more of them than the run made given some variable is left out,
# with all larger ones, unless they are at most so many. Tests given nothing are not counted, since
# their number depends only on that of the columns.
_FEW = 2000


@dataclass(frozen=True)
class StabilityPath:
    """The graph of PC or FCI at several levels, from the p-values of one run.

    A smaller level rarely asks what the run did not ask. A larger one keeps more edges and would
    ask more: there `open` counts the questions without a p-value, which are taken to separate
    nothing. Such a graph may have edges that a run at this level would remove.

    Attributes:
        alphas: the levels, increasing, without those that have more open questions than the run
            asked given some variable, and more than 2,000.
        graphs: the endpoints at each level.
        open: number of questions without a p-value at each level; 0: the graph is that of a run.
    """

    alphas: tuple[float, ...]
    graphs: Int[NDArray[np.int8], "levels d d"]
    open: tuple[int, ...]

    def marks(self, a: int, b: int) -> tuple[str, ...]:
        """Returns the mark at each level, read from column a to column b; "" for no edge."""
        return tuple(mark_between(graph, a, b) for graph in self.graphs)


def stability_path(
    pvalues: Mapping[Question, float],
    columns: Sequence[str],
    *,
    method: str = "pc",
    alpha: float,
    orient_by: str,
    max_size: int | None = None,
    knowledge: Knowledge | None = None,
    alphas: Iterable[float] = ALPHAS,
) -> StabilityPath:
    """Runs PC or FCI again at several levels on the p-values of one run.

    Args:
        pvalues: of the questions that the run asked.
        columns: names of the columns.
        method: "pc" or "fci".
        alpha: level of the run, which is one of the path's.
        orient_by: see `acid_causal.discovery.search.orientation.orient`; for PC.
        max_size: size of the largest conditioning set; None: no limit.
        knowledge: background knowledge of the run.
        alphas: further levels.
    """
    known = knowledge or Knowledge()
    required = known.pairs(known.requires, columns)
    graphs: dict[float, Endpoints] = {}
    unanswered = []
    bound = max(sum(bool(given) for *_, given in pvalues), _FEW)
    for level in sorted({*alphas, alpha}):
        answers = _Known(pvalues, required, max_size, None if level == alpha else bound)
        try:
            if method == "pc":
                found = run_pc(columns, answers, level, max_size, known, orient_by)
            else:
                shape = np.zeros((len(columns), len(columns)))
                found = run_fci(columns, shape, answers, level, max_size, known)
        except _TooManyError:
            if level > alpha:
                break
            continue
        graphs[level] = found.endpoints
        unanswered.append(len(answers.open))
    return StabilityPath(tuple(graphs), np.stack(list(graphs.values())), tuple(unanswered))


class _TooManyError(Exception):
    """A search asks too much that is not known."""


@dataclass
class _Known:
    """Answers the questions of a search from the p-values of another one.

    Attributes:
        pvalues: of the other search.
        required: pairs that stay adjacent.
        max_size: size of the largest conditioning set; None: no limit.
        most: number of open questions and of larger sets that are answered; None: no limit.
        open: the questions that the other search did not ask.
    """

    pvalues: Mapping[Question, float]
    required: Collection[Pair]
    max_size: int | None
    most: int | None
    open: set[Question] = field(default_factory=set)
    _larger: int = 0

    def answer_pairs(self) -> None:
        """Everything is known."""

    def compute(self, questions: Iterable[Question]) -> None:
        """Everything is known, but for some of the questions that only rank colliders."""

    def answer(
        self, x: SupportsIndex, y: SupportsIndex, cond: Iterable[SupportsIndex] | None
    ) -> float:
        """Returns the p-value; 0 where there is none, as for required pairs and larger sets.

        Raises:
            _TooManyError: more than `most` are open or larger.
        """
        i, j = sorted((index(x), index(y)))
        question = i, j, tuple(sorted(map(index, cond or ())))
        if question[:2] in self.required:
            return 0.0
        if question in self.pvalues:
            return self.pvalues[question]
        if self.max_size is not None and len(question[2]) > self.max_size:
            self._larger += 1
        else:
            self.open.add(question)
        if self.most is not None and len(self.open) + self._larger > self.most:
            raise _TooManyError
        return 0.0


def adjusted_pvalues(
    pvalues: Float[NDArray[np.float64], " pairs"], tested: Bool[NDArray[np.bool_], " pairs"]
) -> Float[NDArray[np.float64], " pairs"]:
    """Adjusts the p-values of all pairs for the false discovery rate, by Benjamini and Hochberg.

    The p-value of a pair is the largest over the conditioning sets tested. Among the edges
    whose adjusted p-value is at most q, a share of q at most is expected to be wrong, if these sets
    contain a separating one for each pair that has one (so errors of earlier levels are not
    covered), each p-value keeps its level, and p-values of different pairs depend on one another
    positively at most. It says nothing on directions.

    Args:
        pvalues: the largest p-value of each pair of columns, edges or not.
        tested: whether the data decide on the pair; knowledge decides on the others.

    Returns:
        The adjusted p-values; NaN for pairs that are not tested.

    References:
        Strobl, Spirtes, Visweswaran (2019), Estimating and controlling the false discovery rate of
        the PC algorithm using edge-specific p-values.
        Benjamini, Hochberg (1995), Controlling the false discovery rate.
    """
    adjusted = np.full(len(pvalues), np.nan)
    if tested.any():
        adjusted[tested] = false_discovery_control(pvalues[tested], method="bh")
    return adjusted
