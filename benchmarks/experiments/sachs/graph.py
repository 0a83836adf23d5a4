"""`sachs-graph`: PC and FCI on the 853 observational cells of Sachs et al. (2005).

Stable PC with `uc_rule=0`, and FCI; alpha was fixed at .05 beforehand. Each test runs on the raw
intensities, on their logarithms and on their normal scores. The fast tests also run on resampled
rows: 20 bootstrap samples and 20 subsamples of 600 rows. A third of the rows of a bootstrap sample
are copies. Tests take these for dependence, so its graphs are denser than that of the table. The
reference is the 17-edge consensus network, and in further columns the 20-edge one.
"""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from acid_causal.data.sachs import Sachs, load_sachs
from acid_causal.errors import AcidWarning
from benchmarks.harness import search
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.tables import aligned
from benchmarks.methods import FAST
from benchmarks.methods.andrey import TESTS
from benchmarks.metrics import graph_metrics
from benchmarks.metrics.endpoints import Endpoints, to_text
from benchmarks.pictures.sachs.graph import draw_sachs

ALPHA = 0.05
QUICK_METHODS = ("acid", "acid-checked", "kci", "rcit", "fisherz")
METHODS = (*QUICK_METHODS, FAST, *TESTS)
# Other versions of tests that are drawn; with a panel for each the picture could not be read.
NOT_DRAWN = ("acid-checked", FAST, *TESTS)
# Resampled; KCI would take most of an hour.
FAST_METHODS = ("acid", "acid-checked", "rcit", "fisherz", "andrey-rcot")
ALGORITHMS: tuple[search.Algorithm, ...] = ("pc", "fci")
TRUTHS: tuple[Literal[17, 20], ...] = (17, 20)
RESAMPLES, QUICK_RESAMPLES = 20, 3
RESAMPLED_TRANSFORM = "log"
SUBSAMPLE = 600

Table = NDArray[np.float64]


def _normal_scores(data: Table) -> Table:
    return np.asarray(stats.norm.ppf((stats.rankdata(data, axis=0) - 0.5) / len(data)))


TRANSFORMS: dict[str, Callable[[Table], Table]] = {
    "raw": lambda data: data,
    "log": np.log,
    "rank-normal": _normal_scores,
}

SCORES = ("precision", "recall", "f1", "cpdag_shd", "pag_shd", "dag_shd_strict", "dag_shd_lenient")
RESULT_COLUMNS = (
    "edges",
    *(f"{score}_{truth}" for truth in TRUTHS for score in SCORES),
    "tests_asked",
    "tests_computed",
    "search_seconds",
    "graph",
)


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists the empty graph, each (method, algorithm, transform), then the resamples."""
    jobs = [_job("empty", "none", "none")]
    for method in methods:
        jobs += [_job(method, "pc", transform) for transform in _transforms(method, quick)]
        if not quick or _is_fast(method):
            jobs += [_job(method, "fci", transform) for transform in TRANSFORMS]
    for method in filter(_is_fast, methods):
        for rows in ("bootstrap", "subsample"):
            numbers = range(1, 1 + (QUICK_RESAMPLES if quick else RESAMPLES))
            jobs += [_job(method, "pc", RESAMPLED_TRANSFORM, rows, number) for number in numbers]
    return jobs


def _transforms(method: str, quick: bool) -> Sequence[str]:
    # KCI takes minutes, so a quick run has it on one input only.
    return ("log",) if quick and not _is_fast(method) else tuple(TRANSFORMS)


def _is_fast(method: str) -> bool:
    return method.partition(":")[0] in FAST_METHODS


def _job(method: str, algorithm: str, transform: str, rows: str = "all", resample: int = 0) -> Job:
    setting = (
        ("algorithm", algorithm),
        ("transform", transform),
        ("rows", rows),
        ("resample", resample),
    )
    return Job("sachs-graph", method, setting, seed=resample)


def run(job: Job) -> Results:
    """Recovers one graph and scores it."""
    sachs = load_sachs()
    is_pag = job["algorithm"] == "fci"
    if job.method == "empty":
        nothing = np.zeros((len(sachs.columns), len(sachs.columns)), dtype=np.int64)
        found = search.Search(nothing, tests_asked=0, tests_computed=0, seconds=0.0)
    else:
        data = TRANSFORMS[str(job["transform"])](sachs.data[_rows(job, len(sachs.data))])
        with warnings.catch_warnings():
            if job["rows"] == "bootstrap":  # a bootstrap sample always repeats rows
                warnings.filterwarnings("ignore", ".* repeat others", AcidWarning)
            found = search.search("fci" if is_pag else "pc", job.method, data, alpha=ALPHA)
    results: Results = {"edges": graph_metrics.number_of_edges(found.endpoints)}
    for truth in TRUTHS:
        scores = score(found.endpoints, sachs, truth, is_pag=is_pag)
        results.update({f"{name}_{truth}": value for name, value in scores.items()})
    return {
        **results,
        "tests_asked": found.tests_asked,
        "tests_computed": found.tests_computed,
        "search_seconds": found.seconds,
        "graph": to_text(found.endpoints, sachs.columns),
    }


def _rows(job: Job, n: int) -> NDArray[np.int64]:
    generator = np.random.default_rng(job.seed)
    if job["rows"] == "bootstrap":
        return generator.integers(n, size=n)
    if job["rows"] == "subsample":
        return generator.choice(n, size=SUBSAMPLE, replace=False)
    return np.arange(n)


def score(endpoints: Endpoints, sachs: Sachs, truth: Literal[17, 20], *, is_pag: bool) -> Results:
    """Scores a graph against a consensus network; what does not apply to a PAG is None."""
    dag = sachs.graph(truth)
    skeleton = graph_metrics.skeleton_scores(endpoints, dag)
    return {
        "precision": skeleton.precision,
        "recall": skeleton.recall,
        "f1": skeleton.f1,
        "cpdag_shd": None if is_pag else graph_metrics.cpdag_shd(endpoints, dag),
        "pag_shd": graph_metrics.pag_shd(endpoints, dag) if is_pag else None,
        "dag_shd_strict": None if is_pag else graph_metrics.dag_shd(endpoints, dag, "wrong"),
        "dag_shd_lenient": None if is_pag else graph_metrics.dag_shd(endpoints, dag, "right"),
    }


# ---- report --------------------------------------------------------------------


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints the SHD table and the resamples, and draws the graphs."""
    whole = rows[rows["rows"] == "all"]
    by_pc = whole[whole["algorithm"] == "pc"]
    if len(by_pc):
        drawn = by_pc[~by_pc["method"].isin(NOT_DRAWN)]
        draw_sachs(drawn if len(drawn) else by_pc, load_sachs(), picture)
    parts = [CAPTION, "", _graph_table(whole)]
    resampled = rows[rows["rows"] != "all"]
    if len(resampled):
        parts += ["", RESAMPLED_CAPTION, "", _resampled_table(resampled)]
    return "\n".join(parts)


CAPTION = f"""Sachs et al. 2005: 853 cells, 11 proteins, alpha = {ALPHA}.
Truth: 17-edge consensus network, whose CPDAG is all undirected; the last two columns: 20-edge one.
F1, precision, recall: of the skeleton.
SHD: PC against the true CPDAG; FCI against the true PAG without latents, by its arrowheads.
DAG-SHD: against the DAG itself, undirected edges counted as wrong / as right."""

RESAMPLED_CAPTION = f"""PC, {RESAMPLED_TRANSFORM} input, resampled rows: mean [95 % of the
resamples]. A bootstrap repeats rows; acid uses them once, the others take them for new ones.
A subsample is {SUBSAMPLE} rows without repetition."""


def _graph_table(rows: pd.DataFrame) -> str:
    header = (
        *("algorithm", "test", "input", "edges", "F1", "precision", "recall", "SHD", "DAG-SHD"),
        *("asked", "computed", "seconds", "F1 (20)", "SHD (20)"),
    )
    cells = []
    for row in rows.to_dict("records"):
        shd = {
            truth: _either(row[f"cpdag_shd_{truth}"], row[f"pag_shd_{truth}"]) for truth in TRUTHS
        }
        strict, lenient = row["dag_shd_strict_17"], row["dag_shd_lenient_17"]
        cells.append(
            (
                *(row["algorithm"].upper(), row["method"], row["transform"], row["edges"]),
                *(row["f1_17"], row["precision_17"], row["recall_17"], shd[17]),
                None if pd.isna(strict) else f"{strict:.0f} / {lenient:.0f}",
                *(row["tests_asked"], row["tests_computed"], f"{row['search_seconds']:.2f}"),
                *(row["f1_20"], shd[20]),
            )
        )
    return aligned(header, cells)


def _either(cpdag_shd: float, pag_shd: float) -> int:
    return int(pag_shd if pd.isna(cpdag_shd) else cpdag_shd)


def _resampled_table(rows: pd.DataFrame) -> str:
    columns = {"edges": "edges", "f1_17": "F1", "cpdag_shd_17": "SHD", "cpdag_shd_20": "SHD (20)"}
    cells = []
    for (method, kind), group in rows.groupby(["method", "rows"], sort=False):
        cells.append((method, kind, len(group), *(_spread(group[name]) for name in columns)))
    return aligned(("test", "rows", "resamples", *columns.values()), cells)


def _spread(values: pd.Series) -> str:
    low, high = np.percentile(values, (2.5, 97.5))
    return f"{values.mean():.2f} [{low:.2f}, {high:.2f}]"


SACHS_GRAPH = Experiment(
    name="sachs-graph",
    methods=METHODS,
    quick_methods=QUICK_METHODS,
    setting_columns=("algorithm", "transform", "rows", "resample"),
    result_columns=RESULT_COLUMNS,
    jobs=make_jobs,
    run=run,
    report=report,
)
