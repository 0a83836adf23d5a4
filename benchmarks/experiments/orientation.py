"""`orientation`: one skeleton on the tables of `graphs`, oriented by every rule.

The p-values of a search are shared by the rules, so a row costs one search. Stable PC, alpha .05,
and all cells of `graphs`, with fewer graphs than there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import SupportsIndex

import numpy as np
import pandas as pd
from causallearn.search.ConstraintBased.PC import pc
from causallearn.utils.cit import CIT

from acid_causal import ACID, acid
from acid_causal.discovery.search.orientation import most_questions, orient
from acid_causal.discovery.search.question_record import RECORDED
from acid_causal.discovery.search.skeleton import Ask, find_skeleton
from acid_causal.options.choices import ORIENT
from acid_causal.tables.inputs import Question, normalise_question
from benchmarks.data.random_sems import MECHANISMS, random_table
from benchmarks.experiments.graphs import ALPHA, FIRST_SEED
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.tables import aligned
from benchmarks.metrics import graph_metrics
from benchmarks.pictures.orientation import draw_orientation

# causal-learn's (uc_rule, uc_priority).
CAUSAL_LEARN_RULES = {
    "0-2": (0, 2),
    "0-0": (0, 0),
    "0-1": (0, 1),
    "0-3": (0, 3),
    "0-4": (0, 4),
    "1-2": (1, 2),
    "1-3": (1, 3),
    "1-4": (1, 4),
    "2-3": (2, 3),
    "2-4": (2, 4),
}
DEFAULT_RULE = "0-2"
RULES = ORIENT
METHODS = ("acid", "rcit", "fisherz")
# (variables, rows) and the number of graphs.
CELLS = {
    (10, 200): 8,
    (10, 500): 5,
    (10, 1000): 3,
    (20, 200): 4,
    (20, 500): 3,
    (20, 1000): 3,
    (30, 200): 3,
    (30, 500): 3,
    (30, 1000): 3,
}
QUICK_CELLS = {(10, 200): 3}


class Remembered:
    """Asks another test once for each question, however many searches share the answers.

    Args:
        d: Number of variables.
        inner: Answers a question that is not known.
        pvalues: Those known so far; it grows.
    """

    def __init__(self, d: int, inner: Ask, pvalues: dict[Question, float]) -> None:
        self.pvalues = pvalues
        self._d, self._inner = d, inner

    def answer(
        self, x: SupportsIndex, y: SupportsIndex, cond: Iterable[SupportsIndex] | None
    ) -> float:
        """Returns the p-value."""
        question = normalise_question(x, y, cond, self._d)
        if question not in self.pvalues:
            self.pvalues[question] = float(self._inner(*question))
        return self.pvalues[question]


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists one job for each (mechanism, d, n, graph, method)."""
    cells = QUICK_CELLS if quick else CELLS
    return [
        Job("orientation", method, (("mechanism", mechanism), ("d", d), ("n", n)), FIRST_SEED + k)
        for k in range(max(cells.values()))
        for (d, n), graphs in cells.items()
        for mechanism in MECHANISMS
        for method in methods
        if k < graphs
    ]


def run(job: Job) -> Results:
    """Orients one skeleton by every rule, and scores the graphs.

    The rules share the p-values of the search. Those of `discover` ask as many questions as it lets
    them, with sets no larger than the search's; causal-learn's ask with all subsets of the
    neighbours.
    """
    table = random_table(job.number("d"), job.number("n"), str(job["mechanism"]), job.seed)
    name, _, model = job.method.partition(":")
    inner = acid if name == "acid" else name
    test = CIT(table.data, inner, **({"model": model} if model else {}))
    d = table.data.shape[1]
    asked = Remembered(d, test, {})
    skeleton = find_skeleton(d, ALPHA, asked.answer, apart=(), max_size=None)
    searched = dict(asked.pvalues)
    if isinstance(test, ACID):  # all that the rules will ask, in batches
        no_limit = replace(skeleton, largest=d)
        orient(no_limit, "maxp", asked.answer, searched, compute=test.compute)
    results: Results = {
        "tests": len(searched),
        "skeleton_shd": graph_metrics.skeleton_shd(skeleton.linked, table.dag),
    }
    for rule in RULES:
        own = Remembered(d, asked.answer, dict(searched))
        most = most_questions(len(searched))
        oriented = orient(skeleton, rule, own.answer, searched, most=most)
        endpoints = oriented.endpoints.astype(np.int64)
        results[f"shd_{rule}"] = graph_metrics.cpdag_shd(endpoints, table.dag)
        results[f"more_{rule}"] = len(own.pvalues) - len(searched)
    for rule, (uc_rule, uc_priority) in CAUSAL_LEARN_RULES.items():
        own = Remembered(d, asked.answer, dict(searched))
        found = pc(
            table.data,
            ALPHA,
            RECORDED,
            uc_rule=uc_rule,
            uc_priority=uc_priority,
            show_progress=False,
            record=own,
        )
        endpoints = np.asarray(found.G.graph, dtype=np.int64)
        results[f"shd_{rule}"] = graph_metrics.cpdag_shd(endpoints, table.dag)
        results[f"more_{rule}"] = len(own.pvalues) - len(searched)
    return results


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints and draws the mean SHD of each rule."""
    names = [*CAUSAL_LEARN_RULES, *RULES]
    shd, more = ([f"{what}_{name}" for name in names] for what in ("shd", "more"))
    cells = rows.groupby(["method", "mechanism", "d", "n"], sort=False)
    cells = cells[["tests", "skeleton_shd", *shd, *more]].mean()
    mechanism = cells.index.get_level_values("mechanism")
    kind = pd.Index(np.where(mechanism == "linear", "linear", "nonlinear"), name="relations")
    by_kind = ["method", kind]
    # Graphs of many variables have larger SHDs; a share of each cell's weighs all cells alike.
    default = cells[f"shd_{DEFAULT_RULE}"]
    less = 100 * (1 - cells[[*shd, "skeleton_shd"]].div(default, axis=0))
    means = cells.groupby(by_kind, sort=False)[[*shd, "skeleton_shd"]].mean()
    draw_orientation(means.rename(columns=lambda name: name.removeprefix("shd_")), picture)
    return "\n\n".join(
        [
            CAPTION,
            "CPDAG-SHD:",
            _lines(cells[["tests", "skeleton_shd", *shd]], digits=1),
            "Tests beside those of the search:",
            _lines(cells[["tests", "skeleton_shd", *more]], digits=1),
            "CPDAG-SHD, mean over cells:",
            _lines(means, digits=2),
            f"Per cent below {DEFAULT_RULE}, mean over cells:",
            _lines(less.groupby(by_kind, sort=False).mean().round() + 0.0, digits=0),  # no -0
        ]
    )


def _lines(table: pd.DataFrame, digits: int) -> str:
    names = [name.removeprefix("shd_").removeprefix("more_") for name in table.columns]
    header = [*table.index.names, *(name.removesuffix("_shd") for name in names)]
    lines = [(*where, *line) for where, line in zip(table.index, table.to_numpy(), strict=True)]
    return aligned(header, lines, digits=digits)


CAPTION = f"""PC at alpha = {ALPHA} on the tables of `graphs`: one skeleton, oriented by
each of causal-learn's rules (uc_rule-uc_priority; {DEFAULT_RULE} is its default) and of
`discover`'s. 2-3 and 2-4 are conservative.
"skeleton": wrong adjacencies, which no rule can mend."""


ORIENTATION = Experiment(
    name="orientation",
    methods=METHODS,
    quick_methods=METHODS,
    setting_columns=("mechanism", "d", "n"),
    result_columns=(
        "tests",
        "skeleton_shd",
        *(f"{what}_{rule}" for rule in RULES for what in ("shd", "more")),
        *(f"{what}_{rule}" for rule in CAUSAL_LEARN_RULES for what in ("shd", "more")),
    ),
    jobs=make_jobs,
    run=run,
    report=report,
    unit=("mechanism", "d", "n"),
)
