"""One run of PC or FCI with ACID, in which every question is written down.

Both algorithms are causal-learn's. What is ours: the test notes what it is asked, tells how far the
search is, and keeps the edges that background knowledge requires.
"""

import contextlib
import io
import threading
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, SupportsIndex

import numpy as np
import torch
from causallearn.graph.GeneralGraph import GeneralGraph
from causallearn.search.ConstraintBased.FCI import fci
from causallearn.utils.cit import CIT, register_ci_test
from causallearn.utils.PCUtils.BackgroundKnowledgeOrientUtils import orient_by_background_knowledge
from causallearn.utils.PCUtils.Meek import meek
from causallearn.utils.PCUtils.SkeletonDiscovery import skeleton_discovery
from causallearn.utils.PCUtils.UCSepset import uc_sepset

from acid_causal import defaults
from acid_causal.causal_learn import ACID
from acid_causal.discovery.knowledge import Knowledge
from acid_causal.discovery.level_progress import LevelProgress
from acid_causal.discovery.mixed_graph import Endpoints
from acid_causal.errors import InputError, require, unknown
from acid_causal.inference.tester import Tester
from acid_causal.tables.inputs import Question, Table, normalise_question
from acid_causal.weights.checkpoint import TrainedModel, load_model

METHODS = ("pc", "fci")

# The name under which causal-learn finds the test below.
_RECORDED = "acid-recorded"
# pc's own default: a collider never overrules one that was found before.
_COLLIDER_PRIORITY = 2

# Warnings are caught and causal-learn's printing is swallowed, and Python does either for all
# threads at once: so searches of several threads wait for one another.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class GraphSearch:
    """What one run gave.

    Attributes:
        endpoints: the graph, (d, d).
        pvalues: the p-value of each question asked, in the order of the first asking.
        warnings: what the test and the algorithm warned of.
        asked: questions asked, repetitions included.
        computed: questions computed.
        seconds: wall time.
    """

    endpoints: Endpoints
    pvalues: dict[Question, float]
    warnings: tuple[str, ...]
    asked: int
    computed: int
    seconds: float


def search_graph(
    table: Table,
    *,
    method: str = defaults.METHOD,
    alpha: float = defaults.ALPHA,
    knowledge: Knowledge | None = None,
    max_size: int | None = None,
    threads: int | None = None,
    progress: bool = False,
    **options: Any,
) -> GraphSearch:
    """Runs PC (stable, as `causallearn`'s `pc` does by default) or FCI.

    Args:
        table: the data, of at least two columns with distinct names.
        method: "pc" or "fci".
        alpha: level of each test, in (0, 1).
        knowledge: what is known beforehand, about columns of the table.
        max_size: largest conditioning set; None: as large as need be.
        threads: CPU threads of torch during the run; None: as they are.
        progress: show a bar for each level on standard error, if that is a terminal.
        **options: of the tester, such as `model` and `device`.

    Raises:
        OptionError: a value that is none of these; a name in the knowledge that is no column.
        InputError: fewer than two columns, or two of one name.
    """
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    require(0 < alpha < 1, "alpha", alpha, "between 0 and 1")
    require(max_size is None or max_size >= 0, "max_size", max_size, "at least 0")
    knowledge = knowledge or Knowledge()
    knowledge.check(table.columns)
    _check_columns(table)
    followed = LevelProgress(table.columns, alpha, knowledge) if progress else None
    record = _Record(table, knowledge, max_size, followed)
    options = {"prefetch_alpha": float(alpha), **options}
    start = time.perf_counter()
    run = _pc if method == "pc" else _fci
    with _ONE_AT_A_TIME, _torch_threads(threads), _caught_warnings() as messages:
        try:
            graph = run(record, float(alpha), options)
        finally:
            if followed is not None:
                followed.close()
    assert record.test is not None
    return GraphSearch(
        np.asarray(graph.graph, dtype=np.int8),
        record.pvalues,
        tuple(dict.fromkeys(messages)),
        asked=record.test.n_asked,
        computed=record.test.n_computed,
        seconds=time.perf_counter() - start,
    )


def load_options(options: dict[str, Any]) -> dict[str, Any]:
    """Returns a tester's options with the model loaded, so that many runs share it."""
    model = options.get("model", defaults.MODEL)
    return {**options, "model": model if isinstance(model, TrainedModel) else load_model(model)}


def _check_columns(table: Table) -> None:
    columns = table.columns
    if len(columns) < 2:
        raise InputError(f"a graph needs at least two columns, and there is {len(columns)}")
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise InputError(f"two columns are named {twice[0]!r}; rename or leave out one of them")


# ---- the test that writes down ---------------------------------------------------------------


@dataclass
class _Record:
    """What a run knows and has asked so far."""

    table: Table
    knowledge: Knowledge
    max_size: int | None
    progress: LevelProgress | None
    pvalues: dict[Question, float] = field(default_factory=dict)
    test: ACID | None = None

    def pairs(self, are: Any) -> set[tuple[int, int]]:
        """Lists the pairs of columns whose names answer to a question."""
        names = self.table.columns
        pairs = combinations(range(len(names)), 2)
        return {(i, j) for i, j in pairs if are(names[i], names[j])}


class RecordedACID(ACID):
    """ACID that writes down what it is asked, and never separates a required pair."""

    def __init__(self, data: Any, *, record: _Record, **options: Any) -> None:
        self._record = record
        self._required = record.pairs(record.knowledge.requires)
        super().__init__(data, settled=self._required, **options)
        record.test = self

    def _make_tester(self, data: Any, options: dict[str, Any]) -> Any:
        """Makes a tester that knows the columns' names and shows how far it is."""
        return _ReportingTester(self._record, options)

    def __call__(
        self,
        X: SupportsIndex,
        Y: SupportsIndex,
        condition_set: Iterable[SupportsIndex] | None = None,
        *args: object,
    ) -> float:
        """Tests as ACID does; an edge that is required is dependent whatever the data say.

        What they say of it is computed once, given nothing: no set can take the edge away.
        """
        record = self._record
        question = normalise_question(X, Y, condition_set, len(record.table.columns))
        # FCI's search for hidden causes knows no limit of its own: what is not tested stays linked.
        if record.max_size is not None and len(question[2]) > record.max_size:
            return 0.0
        is_required = question[:2] in self._required
        if is_required and question[2]:
            return 0.0
        if record.progress is not None:
            record.progress.follow(question, record.pvalues)
        record.pvalues[question] = pvalue = super().__call__(X, Y, condition_set)
        return 0.0 if is_required else pvalue


register_ci_test(_RECORDED, RecordedACID)


class _ReportingTester(Tester):
    def __init__(self, record: _Record, options: dict[str, Any]) -> None:
        super().__init__(record.table, **options)
        self._advance = record.progress.advance if record.progress is not None else None

    def test_many(self, questions: Sequence[Question], progress: Any = None) -> Any:
        return super().test_many(questions, progress or self._advance)


# ---- the two algorithms ------------------------------------------------------------------------


def _pc(record: _Record, alpha: float, options: Any) -> GeneralGraph:
    """Does what `causallearn`'s `pc` does, with one step more: see below."""
    names = list(record.table.columns)
    knowledge = record.knowledge.to_causal_learn(names)
    test = CIT(record.table.values, _RECORDED, record=record, **options)
    skeleton = skeleton_discovery(
        record.table.values, alpha, test, stable=True, background_knowledge=knowledge,
        show_progress=False, node_names=names, max_k=record.max_size,
    )  # fmt: skip
    if knowledge is not None:
        # A pair that is kept apart by knowledge was separated by no set. causal-learn would take
        # it for separated by the empty one, and see a collider in each common neighbour.
        for i, j in record.pairs(record.knowledge.keeps_apart):
            if record.pvalues[i, j, ()] <= alpha:
                everything = [tuple(range(len(names)))]
                skeleton.sepset[i, j] = skeleton.sepset[j, i] = everything
        orient_by_background_knowledge(skeleton, knowledge)
    oriented = uc_sepset(skeleton, _COLLIDER_PRIORITY, background_knowledge=knowledge)
    return meek(oriented, background_knowledge=knowledge).G


def _fci(record: _Record, alpha: float, options: Any) -> GeneralGraph:
    names = [_Name(name, k) for k, name in enumerate(record.table.columns)]
    with contextlib.redirect_stdout(io.StringIO()):  # it prints how it orients by knowledge
        graph, _ = fci(
            record.table.values, _RECORDED, alpha,
            depth=-1 if record.max_size is None else record.max_size,
            background_knowledge=record.knowledge.to_causal_learn(names), show_progress=False,
            node_names=names, record=record, **options,
        )  # fmt: skip
    return graph


class _Name(str):
    """A name whose hash is its column: FCI loops over sets of nodes, and Python salts strings.

    Without it the graph could differ from one process to the next.
    """

    __slots__ = ("_column",)
    _column: int

    def __new__(cls, name: str, column: int) -> "_Name":
        made = super().__new__(cls, name)
        made._column = column
        return made

    def __hash__(self) -> int:
        return self._column


# ---- what a run leaves as it found it ----------------------------------------------------------


@contextlib.contextmanager
def _caught_warnings() -> Any:
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield messages
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            messages.append(str(warning.message))
        else:  # none of ours, and for programmers
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


@contextlib.contextmanager
def _torch_threads(threads: int | None) -> Any:
    before = torch.get_num_threads()
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
