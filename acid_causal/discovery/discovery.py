"""`discover`: from a table to a causal graph, with the evidence for it.

It runs PC or FCI with ACID, optionally repeats the search on samples of the rows, and returns one
object with all edges, separations, warnings and the provenance.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from acid_causal import defaults
from acid_causal.discovery.bootstrap import GraphFrequencies, bootstrap_graphs
from acid_causal.discovery.comparison import GraphDifference, compare
from acid_causal.discovery.conversion import to_frame, to_networkx
from acid_causal.discovery.knowledge import Knowledge
from acid_causal.discovery.markov import MarkovCheck, check_markov
from acid_causal.discovery.mixed_graph import Endpoints, links
from acid_causal.discovery.provenance import describe_run
from acid_causal.discovery.search.graph_search import GraphSearch, load_options, search_graph
from acid_causal.discovery.search.other_tests import ACID_TEST
from acid_causal.discovery.stability import ALPHAS, StabilityPath, adjusted_pvalues, stability_path
from acid_causal.discovery.summary import html_summary, text_summary
from acid_causal.errors import check_fraction, check_level, require, warn, whole_number
from acid_causal.inference.processes import check_n_jobs
from acid_causal.tables.column_types import Ordered, Selection
from acid_causal.tables.inputs import Question, Table, as_table
from acid_causal.tables.table_notes import notes_on
from acid_causal.weights.checkpoint import TrainedModel

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

Names = tuple[str, ...]

# Rows that a discovery keeps, for pictures.
SAMPLE_ROWS = 500


@dataclass(frozen=True)
class Edge:
    """An edge of the graph.

    Attributes:
        a, b: the two variables.
        mark: read from a to b, as in `a --> b`; see `acid_causal.discovery.mixed_graph.meaning`.
        pvalue: the largest p-value over all conditioning sets tested for this pair. The edge is
            there because even this one is at most alpha, or because it is required; a required edge
            is tested once, with an empty conditioning set.
        given: the conditioning set with that p-value.
        tests: number of conditioning sets tested.
        required: whether background knowledge keeps the edge, whatever the data say.
        confidence: share of the sampled graphs in which the pair is adjacent; None without samples.
        marks: share of the sampled graphs with each mark from a to b; "" stands for no edge.
        statistic: the test's statistic given that set. It ranks edges whose p-values are equal, as
            the smallest ones of a permutation test are.
        adjusted: the p-value adjusted for the false discovery rate over all pairs; see
            `acid_causal.discovery.stability.adjusted_pvalues`. None if the edge is required.
    """

    a: str
    b: str
    mark: str
    pvalue: float
    given: Names
    tests: int
    required: bool = False
    confidence: float | None = None
    marks: Mapping[str, float] = field(default_factory=dict)
    statistic: float = math.nan
    adjusted: float | None = None

    def __str__(self) -> str:
        return f"{self.a} {self.mark} {self.b}"

    @property
    def mark_confidence(self) -> float | None:
        """Share of the sampled graphs with this very mark; None without samples."""
        return None if self.confidence is None else self.marks.get(self.mark, 0.0)


@dataclass(frozen=True)
class Separation:
    """A pair of variables without an edge.

    Attributes:
        a, b: the two variables.
        pvalue: the largest p-value over all conditioning sets tested.
        given: the conditioning set with that p-value.
        sets: all sets that separate the pair at the level alpha, with their p-values; empty if only
            background knowledge forbids the edge.
        tests: number of conditioning sets tested.
        forbidden: whether background knowledge forbids the edge, whatever the data say.
        confidence: share of the sampled graphs in which the pair is adjacent; None without samples.
    """

    a: str
    b: str
    pvalue: float
    given: Names
    sets: tuple[tuple[Names, float], ...]
    tests: int
    forbidden: bool = False
    confidence: float | None = None


@dataclass(frozen=True)
class Conflict:
    """A collider a --> middle <-- b that gave way, as another one wants one of its edges.

    Attributes:
        a, middle, b: the variables; a and b are not adjacent, and no set that separates them has
            the middle one.
    """

    a: str
    middle: str
    b: str

    def __str__(self) -> str:
        return f"{self.a} --> {self.middle} <-- {self.b}"


@dataclass(frozen=True, repr=False)
class Discovery:
    """A discovered graph with its evidence and provenance.

    Attributes:
        columns: the variables.
        method: "pc" or "fci".
        alpha: level of each test.
        endpoints: the graph as a matrix; see `acid_causal.discovery.mixed_graph`.
        edges: the edges, sorted by confidence, then by p-value, then by statistic.
        separations: all other pairs.
        pvalues: p-value of every question asked, by (column, column, conditioning set).
        warnings: the warnings of the search, the test and the table.
        provenance: versions, model, data, options and counts, as JSON values.
        bootstrap: the sampled graphs; None without samples.
        conflicts: colliders that contradict others and gave way to them; FCI reports none.
        path: the graph at other levels, without those at which the null can reject nothing; None
            for `null="checked"`, whose p-values hold for one.
        markov: the check of the independences that the graph implies; None if it was not asked for.
        sample: the rows from which the report draws pairs of variables, at most `SAMPLE_ROWS`.
    """

    columns: Names
    method: str
    alpha: float
    endpoints: Endpoints
    edges: tuple[Edge, ...]
    separations: tuple[Separation, ...]
    pvalues: Mapping[Question, float]
    warnings: tuple[str, ...]
    provenance: Mapping[str, Any]
    bootstrap: GraphFrequencies | None = None
    conflicts: tuple[Conflict, ...] = ()
    path: StabilityPath | None = None
    markov: MarkovCheck | None = None
    sample: Table | None = None

    @cached_property
    def graph(self) -> "nx.DiGraph":
        """The graph for networkx: an arc a -> b for each edge, whose attribute `mark` counts."""
        return to_networkx(self)

    def edges_frame(self) -> "pd.DataFrame":
        """Returns the edges as a DataFrame, the firmest first."""
        return to_frame(self)

    def compare(self, other: "Discovery") -> GraphDifference:
        """Returns what the graph and another one of the same variables differ in.

        Raises:
            InputError: the graphs have different variables.
        """
        return compare(self, other)

    def save(
        self,
        folder: str | Path,
        *,
        title: str = "Causal graph",
        data: bool = True,
        overwrite: bool = False,
    ) -> list[Path]:
        """Writes what `acid-causal discover` writes: the report, pictures and tables.

        Args:
            folder: created if needed; an earlier run's files are replaced, others stay.
            title: of the report.
            data: draw pairs of variables in the report, from `sample`. Without, no value of a row
                is in any file; names of columns and of levels are.
            overwrite: replace files of these names that no earlier run has written.

        Returns:
            The files; the report comes first.

        Raises:
            OptionError: there are such files, and `overwrite` is false.
            WriteError: the folder cannot be written to.
        """
        # By its name, as reports know graphs, and graphs do not know reports.
        write_results = import_module("acid_causal.report.folder").write_results
        return write_results(self, Path(folder), title=title, data=data, overwrite=overwrite)

    def __str__(self) -> str:
        return "\n".join(map(str, self.edges)) or "no edges"

    def __repr__(self) -> str:
        return text_summary(self)

    def _repr_html_(self) -> str:
        return html_summary(self)


def discover(
    table: Any,
    *,
    method: str = defaults.METHOD,
    alpha: float = defaults.ALPHA,
    model: str | TrainedModel = defaults.MODEL,
    knowledge: Knowledge | None = None,
    max_size: int | None = None,
    orient: str = defaults.ORIENT,
    test: str = ACID_TEST,
    check: bool = False,
    bootstrap: int = 0,
    rows: str = defaults.ROWS,
    fraction: float = defaults.FRACTION,
    seed: int = 0,
    n_jobs: int | None = None,
    missing: str = defaults.MISSING,
    categorical: Selection = (),
    ordered: Ordered = (),
    progress: bool = False,
    **options: Any,
) -> Discovery:
    """Discovers the causal graph of a table.

    Args:
        table: array or DataFrame (n, d), samples by variables. Columns of texts are categories.
        method: "pc" (no hidden common causes) or "fci" (with hidden common causes).
        alpha: level of each test, in (0, 1).
        model: name of a shipped model, path of a weights file, or a loaded model.
        knowledge: edges and tiers known beforehand, by the names of columns.
        max_size: size of the largest conditioning set; None: no limit, which may take long for
            dense graphs, and with FCI grows exponentially with the number of variables.
        orient: how PC orients colliders that contradict one another: "first", "both",
            "separation", "strongest", "clearest", "maxp" or "joint"; see
            `acid_causal.discovery.search.orientation.orient`. FCI has no such conflict: an edge
            that two colliders want is `<->`.
        test: "acid", or one of causal-learn's tests by its name, such as "fisherz", for comparison.
        check: test the independences that the graph implies; see
            `acid_causal.discovery.markov.check_markov`.
        bootstrap: number of samples of the rows on which the search is repeated, for confidences.
        rows: "subsample" or "bootstrap": how a sample is drawn; see `bootstrap_graphs`.
        fraction: fraction of the rows in a subsample.
        seed: seed of the samples.
        n_jobs: number of processes, for the tests of a large graph and for samples; -1: one per
            core; None: one, for samples the value of `joblib.parallel_config`.
        missing: "raise", or "drop" to leave out the rows that are incomplete in a test's columns.
        categorical: columns whose values are unordered categories whatever their type, by names or
            indices; see `acid_causal.tables.inputs.read_table`.
        ordered: columns to be ranked; see there.
        progress: show bars on standard error; a line a minute if that is no terminal.
        **options: of the tester: `device`, `null`, `permutations`, `draws`, `cache_bytes`,
            `batch_entries`.

    Returns:
        The graph, its edges and separations with p-values, warnings and provenance. The warnings
        are issued, too.

    Raises:
        InputError, InputTypeError: the table cannot be used, or has fewer than two columns.
        OptionError: an unknown option or value; a name in the knowledge is not a column.
        ModelError: the weights file is damaged.

    References:
        Spirtes, Glymour, Scheines (2000), Causation, Prediction, and Search: PC and FCI.
        Colombo, Maathuis (2014), Order-Independent Constraint-Based Causal Structure Learning.
    """
    # What the report records must be Python's own numbers.
    bootstrap, seed = whole_number("bootstrap", bootstrap, 0), whole_number("seed", seed, 0)
    if max_size is not None:
        max_size = whole_number("max_size", max_size, 0)
    alpha, fraction = check_level(alpha), check_fraction(fraction)
    n_jobs = check_n_jobs(n_jobs)
    data = as_table(table, missing=missing, categorical=categorical, ordered=ordered)
    knowledge = knowledge or Knowledge()
    search: dict[str, Any] = {
        "method": method,
        "alpha": alpha,
        "knowledge": knowledge,
        "max_size": max_size,
        "orient_by": orient,
        "test": test,
        **load_options({"model": model, "test": test, **options}),
    }
    can_check = method == "pc" and test == ACID_TEST
    require(can_check or not check, "check", check, "False for FCI and for other tests than ACID")
    # Each sample is searched in one process; and only ACID's questions can be divided.
    divided: dict[str, Any] = {"n_jobs": n_jobs} if test == ACID_TEST else {}
    found = search_graph(data, progress=progress, **divided, **search)
    samples: dict[str, Any] = {
        "samples": bootstrap,
        "rows": rows,
        "fraction": fraction,
        "seed": seed,
    }
    frequencies = (
        bootstrap_graphs(data, n_jobs=n_jobs, progress=progress, **samples, **search)
        if bootstrap
        else None
    )
    edges, separations = _collect_evidence(data.columns, found, frequencies, knowledge, alpha)
    messages = (
        *notes_on(data),
        *_notes_on_size(found, max_size),
        *_notes_on_orientation(found, orient),
        *_notes_on_knowledge(knowledge, edges, alpha, method),
        *found.warnings,
        *_notes_on_samples(frequencies, found.warnings),
    )
    for message in messages:
        warn(message)
    path = None
    if found.settings["null"] != "checked":
        path = stability_path(
            found.pvalues,
            data.columns,
            method=method,
            alpha=alpha,
            orient_by=found.oriented_by,
            max_size=max_size,
            knowledge=knowledge,
            alphas=[level for level in ALPHAS if level >= found.least_alpha],
        )
    markov = None
    if check:
        tester_options = {"model": search["model"], **divided, **options}
        markov = check_markov(
            data, found.endpoints, alpha=alpha, known=found.pvalues, seed=seed, **tester_options
        )
    return Discovery(
        data.columns,
        method,
        alpha,
        found.endpoints,
        edges,
        separations,
        found.pvalues,
        messages,
        describe_run(data, found, search, samples if bootstrap else None),
        frequencies,
        tuple(Conflict(*(data.columns[k] for k in triple)) for triple in found.conflicts),
        path,
        markov,
        _sample(data),
    )


def _sample(table: Table) -> Table:
    """Draws some rows without repetition; always the same ones."""
    n = len(table.values)
    if n <= SAMPLE_ROWS:
        return table
    drawn = np.random.default_rng(0).choice(n, SAMPLE_ROWS, replace=False)
    return table.take(np.sort(drawn))


# ---- edges and separations ---------------------------------------------------------------------


def _collect_evidence(
    columns: Names,
    found: GraphSearch,
    frequencies: GraphFrequencies | None,
    knowledge: Knowledge,
    alpha: float,
) -> tuple[tuple[Edge, ...], tuple[Separation, ...]]:
    """Collects the edges and separations of all pairs, each with its tests and confidence."""
    tests: dict[tuple[int, int], list[tuple[float, Names, float]]] = defaultdict(list)
    for question, pvalue in found.pvalues.items():
        i, j, cond = question
        given = tuple(columns[k] for k in cond)
        tests[i, j].append((pvalue, given, found.statistics[question]))
    # Of equal p-values the one with the smallest statistic; of equal statistics the first one,
    # which has the smallest set.
    worst = {
        pair: max(asked, key=lambda test: (test[0], -test[2])) for pair, asked in tests.items()
    }
    shares = None if frequencies is None else frequencies.adjacency()
    linked = {(min(a, b), max(a, b)): (a, b, mark) for a, b, mark in links(found.endpoints)}
    edges, separations = [], []
    pairs = list(combinations(range(len(columns)), 2))
    adjusted = adjusted_pvalues(
        np.array([worst[pair][0] for pair in pairs]),
        np.array([not _is_known(knowledge, *(columns[k] for k in pair)) for pair in pairs]),
    )
    for pair, of_pair in zip(pairs, adjusted.tolist(), strict=True):
        (pvalue, given, statistic), asked = worst[pair], tests[pair]
        share = None if shares is None else float(shares[pair])
        if pair in linked:
            a, b, mark = linked[pair]
            edges.append(
                Edge(
                    columns[a],
                    columns[b],
                    mark,
                    pvalue,
                    given,
                    len(asked),
                    required=knowledge.requires(columns[a], columns[b]),
                    confidence=share,
                    marks={} if frequencies is None else frequencies.marks(a, b),
                    statistic=statistic,
                    adjusted=None if math.isnan(of_pair) else of_pair,
                )
            )
        else:
            a_name, b_name = (columns[k] for k in pair)
            sets = tuple((names, p) for p, names, _ in asked if p > alpha)
            separations.append(
                Separation(
                    a_name,
                    b_name,
                    pvalue,
                    given,
                    sets,
                    len(asked),
                    forbidden=knowledge.keeps_apart(a_name, b_name),
                    confidence=share,
                )
            )
    edges.sort(key=lambda edge: (-(edge.confidence or 0.0), edge.pvalue, -edge.statistic))
    return tuple(edges), tuple(separations)


def _is_known(knowledge: Knowledge, a: str, b: str) -> bool:
    return knowledge.requires(a, b) or knowledge.keeps_apart(a, b)


# ---- notes -------------------------------------------------------------------------------------


def _notes_on_size(found: GraphSearch, max_size: int | None) -> Iterator[str]:
    most = int((found.endpoints != 0).sum(axis=0).max())
    if max_size is not None and most - 1 > max_size:
        yield (
            f"conditioning sets were limited to {max_size} of up to {most - 1} variables: edges "
            "may remain that larger sets would remove, and directions depend on them"
        )


def _notes_on_orientation(found: GraphSearch, orient: str) -> Iterator[str]:
    if found.oriented_by not in ("", orient):
        yield (
            f'orient="{orient}" would take more than twice the tests of the search; directions '
            f'were found by "{found.oriented_by}", which takes none'
        )


def _notes_on_knowledge(
    knowledge: Knowledge, edges: Sequence[Edge], alpha: float, method: str
) -> Iterator[str]:
    for edge in edges:
        if edge.required and edge.pvalue > alpha:
            given = f" given {', '.join(edge.given)}" if edge.given else ""
            yield (
                f"the required edge {edge} is not in the data: {edge.a} and {edge.b} look "
                f"independent{given} (p = {edge.pvalue:.2g}); it is kept because you require it"
            )
    if method == "fci" and (knowledge.forbid or knowledge.tiers):
        yield (
            "FCI takes a forbidden edge A -> B for B -> A if the two are adjacent, and a pair "
            "that is forbidden in both directions as separated by the empty set: it does not allow "
            "for a hidden common cause there"
        )


def _notes_on_samples(frequencies: GraphFrequencies | None, known: Sequence[str]) -> Iterator[str]:
    if frequencies is None:
        return
    for message, count in frequencies.warnings.items():
        if message not in known:
            yield f"in {count} of {len(frequencies.graphs)} samples of the rows: {message}"
