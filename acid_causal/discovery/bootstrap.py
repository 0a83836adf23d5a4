"""Stability of a graph: the same search on many samples of the rows.

The searches run through joblib, on processes or on a Dask or Ray cluster:

    with joblib.parallel_config(backend="dask"):
        frequencies = bootstrap_graphs(table, samples=200)
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from acid_causal.discovery.mixed_graph import Endpoints, mark_between
from acid_causal.discovery.search.graph_search import load_options, search_graph
from acid_causal.errors import InputError, check_fraction, unknown, whole_number
from acid_causal.inference.processes import check_n_jobs, end_with
from acid_causal.options import defaults
from acid_causal.options.choices import ROWS
from acid_causal.progress import progress_bar
from acid_causal.tables.column_types import Ordered, Selection
from acid_causal.tables.inputs import MIN_SAMPLES, Table, as_table


@dataclass(frozen=True)
class GraphFrequencies:
    """The graphs of many samples of the rows.

    Attributes:
        columns: names of the d columns.
        graphs: endpoints of each sample's graph, (samples, d, d); see
            `acid_causal.discovery.mixed_graph`.
        warnings: each warning that a search gave, with the number of searches that gave it.
    """

    columns: tuple[str, ...]
    graphs: Int[NDArray[np.int8], "samples d d"]
    warnings: dict[str, int]

    def adjacency(self) -> Float[NDArray[np.float64], "d d"]:
        """Returns the share of graphs in which each pair is adjacent."""
        return (self.graphs != 0).mean(axis=0)

    def marks(self, a: int, b: int) -> dict[str, float]:
        """Returns how often each mark, read from column a to column b, was found.

        Returns:
            Shares of the graphs, the most frequent mark first; "" stands for no edge.
        """
        counts = Counter(mark_between(graph, a, b) for graph in self.graphs)
        return {mark: count / len(self.graphs) for mark, count in counts.most_common()}


def bootstrap_graphs(
    data: Any,
    *,
    samples: int = 100,
    rows: str = defaults.ROWS,
    fraction: float = defaults.FRACTION,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
    missing: str = defaults.MISSING,
    categorical: Selection = (),
    ordered: Ordered = (),
    **search: Any,
) -> GraphFrequencies:
    """Searches for the graph on many samples of the rows.

    A frequency tells how stable an edge is when the rows vary. It is not a probability that the
    edge is true. In samples with fewer rows than the table weak edges are found less often.

    Args:
        data: array or DataFrame (n, d), or a `Table`.
        samples: number of samples.
        rows: "subsample" draws `fraction` of the rows without repetition; "bootstrap" draws n rows
            with repetition. The latter is for comparison: a row that is in the sample twice
            predicts itself, and the test's leave-one-out residuals become too small.
        fraction: fraction of the rows in a subsample.
        seed: seed of the samples. The result does not depend on `n_jobs` or on joblib's backend.
        n_jobs: number of processes, as in joblib: -1 for one per core; None for one, or for the
            value of `joblib.parallel_config`. Each process uses one thread.
        progress: show a bar on standard error, if that is a terminal.
        missing: "raise" or "drop"; see `Tester`.
        categorical: columns of unordered categories; see `Tester`.
        ordered: columns to be ranked; see `Tester`.
        **search: options of each search, as `search_graph` takes them: `method`, `alpha`,
            `knowledge`, `max_size` and options of the tester, such as `model` and `device`.

    Raises:
        OptionError: an invalid value.
        InputError, InputTypeError: the table cannot be used, or has too few rows.

    References:
        Meinshausen, Buehlmann (2010), Stability Selection.
        Friedman, Goldszmidt, Wyner (1999), Data Analysis with Bayesian Networks: A Bootstrap
        Approach.
    """
    import joblib

    if rows not in ROWS:
        raise unknown("value of rows:", rows, ROWS)
    fraction = check_fraction(fraction)
    samples, seed = whole_number("samples", samples, 1), whole_number("seed", seed, 0)
    n_jobs = check_n_jobs(n_jobs)
    table = as_table(data, missing=missing, categorical=categorical, ordered=ordered)
    n = len(table.values)
    size = n if rows == "bootstrap" else round(fraction * n)
    if size < MIN_SAMPLES:
        raise InputError(f"{size} of {n} rows are too few for a search; raise the fraction")
    # One thread each, as the sums of several threads round differently, whatever `n_jobs` is.
    options = load_options(search) | {"threads": 1}
    draws = _draws(n, size, samples, seed, repeat=rows == "bootstrap")
    searches = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
        joblib.delayed(_search_rows)(table, drawn, options, os.getpid()) for drawn in draws
    )
    graphs, warned = [], Counter[str]()
    for graph, warnings in progress_bar(searches, total=samples, label="samples", show=progress):
        graphs.append(graph)
        warned.update(warnings)
    return GraphFrequencies(table.columns, np.stack(graphs), dict(warned))


def _draws(n: int, size: int, samples: int, seed: int, repeat: bool) -> Iterator[NDArray[np.int64]]:
    """Draws the rows of each sample, in the order of the table."""
    for k in range(samples):
        rng = np.random.default_rng([seed, k])
        yield np.sort(rng.choice(n, size, replace=repeat))


def _search_rows(
    table: Table, rows: NDArray[np.int64], options: dict[str, Any], parent: int
) -> tuple[Endpoints, tuple[str, ...]]:
    """Runs the search on some of the rows, in a worker."""
    end_with(parent)
    found = search_graph(table.take(rows), **options)
    return found.endpoints, found.warnings
