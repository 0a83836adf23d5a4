"""One run of PC or FCI with ACID, in which every question is recorded.

FCI is causal-learn's. Added are the record of questions, a progress bar, and that edges required by
background knowledge are kept.
"""

import contextlib
import io
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import torch
from causallearn.search.ConstraintBased.FCI import fci
from jaxtyping import Float
from numpy.typing import NDArray

from acid_causal.causal_learn import ACID
from acid_causal.discovery.knowledge import Knowledge
from acid_causal.discovery.mixed_graph import Endpoints
from acid_causal.discovery.search.level_progress import LevelProgress
from acid_causal.discovery.search.orientation import Orientation, Triple, most_questions, orient
from acid_causal.discovery.search.other_tests import ACID_TEST, OtherTester
from acid_causal.discovery.search.question_record import RECORDED, Answers, QuestionRecord
from acid_causal.discovery.search.skeleton import find_skeleton
from acid_causal.errors import InputError, OptionError, check_level, require, unknown, whole_number
from acid_causal.inference.tester import OPTIONS, Tester
from acid_causal.options import defaults
from acid_causal.options.choices import METHODS, ORIENT
from acid_causal.tables.inputs import Question, Table
from acid_causal.weights.checkpoint import TrainedModel
from acid_causal.weights.shared import shared_model

# Catching warnings and redirecting stdout affect all threads, so only one search runs at a time.
_ONE_AT_A_TIME = threading.RLock()


@dataclass(frozen=True)
class GraphSearch:
    """The result of one run.

    Attributes:
        endpoints: the graph, (d, d).
        pvalues: the p-value of each question asked, in the order of the first asking.
        statistics: the statistic of each of these questions.
        warnings: warnings of the test and the algorithm.
        asked: number of questions asked, with repetitions.
        computed: number of questions computed.
        seconds: wall time.
        settings: settings of the tester; see `Tester.settings`.
        conflicts: colliders that gave way to others; see `Orientation`. FCI reports none.
        oriented_by: the rule by which colliders were oriented; "" for FCI.
        least_alpha: smallest level at which the p-values may be used; see `Tester.least_alpha`.
        at_one_level: whether they hold at alpha alone; see `Tester.at_one_level`.
    """

    endpoints: Endpoints
    pvalues: dict[Question, float]
    statistics: dict[Question, float]
    warnings: tuple[str, ...]
    asked: int
    computed: int
    seconds: float
    settings: Mapping[str, Any]
    conflicts: tuple[Triple, ...] = ()
    oriented_by: str = ""
    least_alpha: float = 0.0
    at_one_level: bool = False


def search_graph(
    table: Table,
    *,
    method: str = defaults.METHOD,
    alpha: float = defaults.ALPHA,
    knowledge: Knowledge | None = None,
    max_size: int | None = None,
    orient_by: str = defaults.ORIENT,
    test: str = ACID_TEST,
    threads: int | None = None,
    progress: bool = False,
    **options: Any,
) -> GraphSearch:
    """Runs stable PC (the default of causal-learn's `pc`) or FCI.

    Args:
        table: the data; at least two columns, with distinct names.
        method: "pc" or "fci".
        alpha: level of each test, in (0, 1).
        knowledge: background knowledge about columns of the table.
        max_size: size of the largest conditioning set; None: no limit.
        orient_by: how PC orients colliders that contradict one another; see `orient`.
        test: "acid", or one of causal-learn's tests, such as "fisherz".
        threads: CPU threads of torch during the run; None: unchanged.
        progress: show a bar for each level on standard error; a line a minute if that is no
            terminal.
        **options: options of the tester, such as `model` and `device`.

    Raises:
        OptionError: an invalid value; a name in the knowledge is not a column.
        InputError: fewer than two columns, or two columns with the same name.
    """
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    if orient_by not in ORIENT:
        raise unknown("value of orient:", orient_by, ORIENT)
    alpha = check_level(alpha)
    if max_size is not None:
        max_size = whole_number("max_size", max_size, 0)
    if threads is not None:
        threads = whole_number("threads", threads, 1)
    knowledge = knowledge or Knowledge()
    expected = "a Knowledge of acid_causal.discovery.knowledge"
    require(isinstance(knowledge, Knowledge), "knowledge", knowledge, expected)
    knowledge.check(table.columns)
    _check_columns(table)
    for name in options:
        if name not in OPTIONS:
            raise unknown("option of the search", name, OPTIONS)
    required = knowledge.pairs(knowledge.requires, table.columns)
    apart = knowledge.pairs(knowledge.keeps_apart, table.columns)
    followed = None
    if progress:
        d = len(table.columns)
        later = "hidden causes" if method == "fci" else "directions"
        followed = LevelProgress(d, alpha, required, apart, max_size=max_size, later=later)
    start = time.perf_counter()
    with _ONE_AT_A_TIME, _torch_threads(threads), _caught_warnings() as messages:
        tester: Any  # both have what a search needs
        if test == ACID_TEST:
            tester = Tester(table, alpha=alpha, **options)
        else:
            tester = OtherTester(table, test)
        acid = ACID(
            table.values,
            prefetch_alpha=alpha,
            required=required,
            tester=tester,
            progress=None if followed is None else followed.advance,
        )
        record = QuestionRecord(acid, required, max_size, followed)
        try:
            if method == "pc":
                graph = run_pc(table.columns, record, alpha, max_size, knowledge, orient_by)
            else:
                graph = run_fci(table.columns, table.values, record, alpha, max_size, knowledge)
        finally:
            if followed is not None:
                followed.close()
    return GraphSearch(
        graph.endpoints,
        record.pvalues,
        {question: acid.statistics[question] for question in record.pvalues},
        tuple(dict.fromkeys(messages)),
        asked=acid.n_asked,
        computed=acid.n_computed,
        seconds=time.perf_counter() - start,
        settings=tester.settings,
        conflicts=graph.conflicts,
        oriented_by=graph.rule,
        least_alpha=tester.least_alpha,
        at_one_level=tester.at_one_level,
    )


def load_options(options: dict[str, Any]) -> dict[str, Any]:
    """Returns options of a tester with the model loaded, so that many runs share it.

    Raises:
        OptionError: options of ACID for another test.
    """
    if options.get("test", ACID_TEST) != ACID_TEST:
        given = sorted(set(options) & OPTIONS - {"model", "missing", "alpha"})
        if given:
            raise OptionError(f"{', '.join(given)}: an option of ACID, and the test is another one")
        return {name: value for name, value in options.items() if name != "model"}
    model = options.get("model", defaults.MODEL)
    return {**options, "model": model if isinstance(model, TrainedModel) else shared_model(model)}


def _check_columns(table: Table) -> None:
    columns = table.columns
    if len(columns) < 2:
        raise InputError(f"a graph needs at least two columns, and there is {len(columns)}")
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise InputError(f"two columns are named {twice[0]!r}; rename or leave out one of them")


# ---- the two algorithms ------------------------------------------------------------------------


def run_pc(
    names: Sequence[str],
    record: Answers,
    alpha: float,
    max_size: int | None,
    knowledge: Knowledge,
    orient_by: str,
) -> Orientation:
    """Finds the skeleton of causal-learn's stable `pc`, and orients it by `orient_by`.

    Pairs that knowledge keeps apart are separated whatever their p-values.
    """
    apart = knowledge.pairs(knowledge.keeps_apart, names)
    record.answer_pairs()
    skeleton = find_skeleton(len(names), alpha, record.answer, apart=apart, max_size=max_size)
    # Perhaps no set separates a pair that knowledge keeps apart. causal-learn would assume the
    # empty set, and orient each common neighbour as a collider. With a separating set of all
    # variables none is oriented.
    for i, j in apart:
        if record.pvalues[i, j, ()] <= alpha:
            everything = [tuple(range(len(names)))]
            skeleton.sepsets[i, j] = skeleton.sepsets[j, i] = everything
    return orient(
        skeleton,
        orient_by,
        record.answer,
        dict(record.pvalues),
        forbidden={
            (i, j)
            for i, j in permutations(range(len(names)), 2)
            if knowledge.forbids(names[i], names[j])
        },
        compute=record.compute,
        most=most_questions(len(record.pvalues)),
    )


def run_fci(
    names: Sequence[str],
    values: Float[NDArray[np.float64], "n d"],
    record: Answers,
    alpha: float,
    max_size: int | None,
    knowledge: Knowledge,
) -> Orientation:
    """Runs causal-learn's `fci`; of the values it reads only how many there are."""
    nodes = [_Name(name, k) for k, name in enumerate(names)]
    # It prints how it orients by knowledge.
    with _ONE_AT_A_TIME, contextlib.redirect_stdout(io.StringIO()):
        graph, _ = fci(
            values,
            RECORDED,
            alpha,
            depth=-1 if max_size is None else max_size,
            background_knowledge=knowledge.to_causal_learn(nodes),
            show_progress=False,
            node_names=nodes,
            record=record,
        )
    return Orientation(np.asarray(graph.graph, dtype=np.int8), ())


class _Name(str):
    """A name whose hash is the index of its column.

    FCI iterates over sets of nodes. Python's hashes of strings differ between processes, and so
    could the graph.
    """

    __slots__ = ("_column",)
    _column: int

    def __new__(cls, name: str, column: int) -> "_Name":
        made = super().__new__(cls, name)
        made._column = column
        return made

    def __hash__(self) -> int:
        return self._column


# ---- global state: warnings and threads --------------------------------------------------------


@contextlib.contextmanager
def _caught_warnings() -> Any:
    messages: list[str] = []
    caught: list[warnings.WarningMessage] = []
    done = False
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            yield messages
        done = True
    finally:
        for warning in caught:
            # A search that fails returns nothing that could hold the user's warnings.
            if done and issubclass(warning.category, UserWarning):
                messages.append(str(warning.message))
            else:
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
