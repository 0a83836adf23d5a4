"""`discover`: from a table to a causal graph, with the evidence for it.

It runs PC or FCI with ACID, optionally repeats the search on samples of the rows, and returns one
object with all edges, separations, warnings and the provenance.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from acid_causal.discovery.bootstrap import GraphFrequencies, bootstrap_graphs
from acid_causal.discovery.evidence import Conflict, Edge, Names, Separation, collect_evidence
from acid_causal.discovery.knowledge import Knowledge
from acid_causal.discovery.markov import MarkovCheck, check_markov
from acid_causal.discovery.mixed_graph import Endpoints
from acid_causal.discovery.provenance import describe_run
from acid_causal.discovery.search.graph_search import GraphSearch, load_options, search_graph
from acid_causal.discovery.search.other_tests import ACID_TEST
from acid_causal.discovery.stability import ALPHAS, StabilityPath, stability_path
from acid_causal.discovery.views.comparison import GraphDifference, compare
from acid_causal.discovery.views.conversion import to_frame, to_networkx
from acid_causal.discovery.views.summary import html_summary, text_summary
from acid_causal.errors import check_fraction, check_level, require, warn, whole_number
from acid_causal.inference.processes import check_n_jobs
from acid_causal.options import defaults
from acid_causal.tables.column_types import Ordered, Selection
from acid_causal.tables.inputs import Question, Table, as_table
from acid_causal.tables.table_notes import notes_on
from acid_causal.weights.checkpoint import TrainedModel

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

# Rows that a discovery keeps, for pictures.
SAMPLE_ROWS = 500


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
        # Imported here, as the report takes a `Discovery`, and only a call needs it.
        from acid_causal.discovery.report.folder import write_results

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

    How it works: PC and FCI remove the edge of two variables when a test does not reject their
    independence given some set of their neighbours. The p-value of an edge is the largest among
    its tests. PC then directs edges so that they agree best with the evidence on all colliders
    together (`orient="joint"`), and by Meek's rules.

    Limitations: those of `acid_causal.ci_test`. With few rows weak edges are missed: on random
    nonlinear graphs of 10 variables the F1 of edges is .76 with 200 rows and .92 with 1,000.
    Directions are less reliable than edges. The confidence of an edge is the share of the samples
    that have it, not the probability that it is true.

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
    edges, separations = collect_evidence(data.columns, found, frequencies, knowledge, alpha)
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
        _path(data, found, search),
        markov,
        _sample(data),
    )


def _path(table: Table, found: GraphSearch, search: Mapping[str, Any]) -> StabilityPath | None:
    """Returns the graph at other levels; None where p-values hold for the level of the search."""
    if found.at_one_level:
        return None
    return stability_path(
        found.pvalues,
        table.columns,
        method=search["method"],
        alpha=search["alpha"],
        orient_by=found.oriented_by,
        max_size=search["max_size"],
        knowledge=search["knowledge"],
        alphas=[level for level in ALPHAS if level >= found.least_alpha],
    )


def _sample(table: Table) -> Table:
    """Draws some rows without repetition; always the same ones."""
    n = len(table.values)
    if n <= SAMPLE_ROWS:
        return table
    drawn = np.random.default_rng(0).choice(n, SAMPLE_ROWS, replace=False)
    return table.take(np.sort(drawn))


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
