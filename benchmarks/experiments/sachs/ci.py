"""`sachs-ci`: all 4620 questions about two Sachs proteins given three others.

The reference is d-separation in the 17-edge consensus network. The table is the logarithm of the
853 observational rows, as for PC; this makes no difference to ACID, which uses ranks. Fast tests
answer all questions. All tests answer a fixed sample of 200 separated and 200 connected questions,
so that any two tests can be compared on the same questions.

Two more methods are fine-tuned models. `acid-adapted` is fine-tuned on the table without labels.
`acid-labelled` is fine-tuned on labels of the consensus network; a question about a pair is
answered by a model that has seen labels of other pairs only.

Questions about one pair of proteins are not independent of each other, so intervals come from a
bootstrap over the 55 pairs.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from acid_causal.data.sachs import load_sachs
from acid_causal.inference.tester import Tester
from acid_causal.tables.inputs import Question
from benchmarks.harness.jobs import Experiment, Job, Results
from benchmarks.harness.tables import aligned
from benchmarks.harness.timing import seconds_text
from benchmarks.methods import DEFAULT_MODEL, get_method
from benchmarks.methods.finetuned import adapted_pvalues, labelled_pvalues
from benchmarks.metrics.ci_metrics import METRICS, metrics_of
from benchmarks.pictures.sachs.ci import draw_sachs_ci

Array = NDArray[np.float64]

D_Z = 3
SEPARATED, CONNECTED, ADJACENT = 2160, 2460, 1428  # of the questions, by the consensus network
ALL = SEPARATED + CONNECTED
SAMPLE = 400
QUICK_ALL, QUICK_SAMPLE = 400, 40
SEED = 9_000_000
RESAMPLES = 500
ALONE = 20  # questions that are asked one at a time, where answers share work otherwise

METHODS = (
    "acid",
    "acid-adapted",
    "acid-labelled",
    "kcit",
    "scit",
    "scit-two-sided",
    "lcit",
    "gcm",
    "rcit",
    "fisherz",
)
QUICK_METHODS = ("acid", "kcit", "scit", "rcit", "fisherz")
SLOW_METHODS = ("kcit", "lcit", "gcm", "causalts")  # half a second a question, or more

# `auc_adjacent` compares adjacent with separated pairs. Connected pairs that are not adjacent are
# left out: the longer the path between them, the weaker is their dependence.
FIGURES = (*METRICS, "auc_adjacent")
RESULT_COLUMNS = (
    *(f"{name}{suffix}" for name in FIGURES for suffix in ("", "_low", "_high")),
    "seconds_per_test",
    "seconds_alone",
)


@dataclass(frozen=True)
class Questions:
    """Questions with the answers of the consensus network.

    Attributes:
        asked: The questions, by columns of the Sachs table.
        labels: 1 where the pair is d-connected, shape (questions,).
        adjacent: Whether an edge joins the pair, shape (questions,).
        pairs: Index of the pair, shape (questions,).
    """

    asked: tuple[Question, ...]
    labels: NDArray[np.int64]
    adjacent: NDArray[np.bool_]
    pairs: NDArray[np.int64]

    def at(self, index: NDArray[np.int64]) -> "Questions":
        """Selects questions by their indices."""
        asked = tuple(self.asked[i] for i in index)
        return Questions(asked, self.labels[index], self.adjacent[index], self.pairs[index])


@cache
def all_questions() -> Questions:
    """Lists the questions with three conditioning variables."""
    sachs = load_sachs()
    dag = sachs.graph(17)
    name = sachs.columns
    asked, labels, adjacent, pairs = [], [], [], []
    for number, (i, j) in enumerate(combinations(range(len(name)), 2)):
        for cond in combinations(sorted(set(range(len(name))) - {i, j}), D_Z):
            given = {name[k] for k in cond}
            asked.append((i, j, cond))
            labels.append(not nx.is_d_separator(dag, name[i], name[j], given))
            adjacent.append(dag.has_edge(name[i], name[j]) or dag.has_edge(name[j], name[i]))
            pairs.append(number)
    questions = Questions(
        tuple(asked), np.array(labels, dtype=np.int64), np.array(adjacent), np.array(pairs)
    )
    counts = [len(labels) - sum(labels), sum(labels), sum(adjacent)]
    assert counts == [SEPARATED, CONNECTED, ADJACENT], counts
    return questions


def sample(count: int, seed: int) -> Questions:
    """Samples questions, half separated and half connected; with `ALL`, returns every question."""
    questions = all_questions()
    if count == ALL:
        return questions
    generator = np.random.default_rng(seed)
    chosen = [
        generator.choice(np.flatnonzero(questions.labels == label), count // 2, replace=False)
        for label in (0, 1)
    ]
    return questions.at(np.sort(np.concatenate(chosen)))


# ---- methods -------------------------------------------------------------------

# From (name of the method, table, questions) to p-values.
Answer = Callable[[str, Array, Sequence[Question]], Sequence[float]]


def one_at_a_time(method: str, data: Array, asked: Sequence[Question]) -> Sequence[float]:
    """Asks a method that takes each question as three arrays."""
    return get_method(method).pvalues(
        [(data[:, [i]], data[:, [j]], data[:, list(cond)]) for i, j, cond in asked]
    )


def by_table(method: str, data: Array, asked: Sequence[Question]) -> Sequence[float]:
    """Asks ACID all questions together, so that they share encodings as in PC."""
    tester = Tester(data, model=_model(method))
    return [result.pvalue for result in tester.test_many(asked)]


def by_adapted(method: str, data: Array, asked: Sequence[Question]) -> Sequence[float]:
    """Asks a model that was fine-tuned on the table without labels."""
    return adapted_pvalues(data, asked, model=_model(method))


def by_labelled(method: str, data: Array, asked: Sequence[Question]) -> Sequence[float]:
    """Asks models that were fine-tuned on labels of other pairs in the consensus network."""
    questions = all_questions()
    labels = dict(zip(questions.asked, questions.labels.tolist(), strict=True))
    return labelled_pvalues(data, asked, labels, model=_model(method))


def _model(method: str) -> str:
    return method.partition(":")[2] or DEFAULT_MODEL


# Methods that share work between questions about one table.
BY_TABLE: Mapping[str, Answer] = {
    "acid": by_table,
    "acid-adapted": by_adapted,
    "acid-labelled": by_labelled,
}


def make_jobs(methods: Sequence[str], quick: bool) -> list[Job]:
    """Lists all questions for the fast methods, and the sample for every method."""
    everything, part = (QUICK_ALL, QUICK_SAMPLE) if quick else (ALL, SAMPLE)
    jobs = []
    for count in (everything, part):
        for method in methods:
            if count == part or method not in SLOW_METHODS:
                setting = (("input", "log"), ("d_z", D_Z), ("questions", count))
                jobs.append(Job("sachs-ci", method, setting, SEED))
    return jobs


def run(job: Job) -> Results:
    """Asks a method its questions and scores the answers."""
    data = np.log(load_sachs().data)
    questions = sample(job.number("questions"), job.seed)
    answer = BY_TABLE.get(job.method.partition(":")[0], one_at_a_time)
    answer(job.method, data, questions.asked[:1])  # imports and weights are not timed
    start = time.perf_counter()
    pvalues = np.asarray(answer(job.method, data, questions.asked))
    seconds = (time.perf_counter() - start) / len(pvalues)
    figures = scores(pvalues, questions)
    low, high = pair_intervals(pvalues, questions, RESAMPLES)
    results: Results = {}
    for name, value in figures.items():
        results |= {name: value, f"{name}_low": low[name], f"{name}_high": high[name]}
    alone = _seconds_alone(job.method, data, questions) if answer is not one_at_a_time else None
    return {**results, "seconds_per_test": seconds, "seconds_alone": alone}


def _seconds_alone(method: str, data: Array, questions: Questions) -> float:
    asked = questions.asked[:: max(1, len(questions.asked) // ALONE)]
    answer = BY_TABLE[method.partition(":")[0]]
    start = time.perf_counter()
    for question in asked:
        answer(method, data, [question])
    return (time.perf_counter() - start) / len(asked)


# ---- scores --------------------------------------------------------------------


def scores(pvalues: Array, questions: Questions) -> dict[str, float]:
    """Scores answers, one figure for each name in `FIGURES`."""
    clear = (questions.labels == 0) | questions.adjacent
    adjacent = float(roc_auc_score(questions.labels[clear], -pvalues[clear]))
    return {**metrics_of(pvalues, questions.labels), "auc_adjacent": adjacent}


def pair_intervals(
    pvalues: Array, questions: Questions, resamples: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Returns the lower and upper ends of 95 % intervals, by a bootstrap over pairs.

    A pair that is drawn twice brings all of its questions twice.
    """
    generator = np.random.default_rng(SEED)
    of_pair = [np.flatnonzero(questions.pairs == pair) for pair in np.unique(questions.pairs)]
    drawn = []
    for _ in range(resamples):
        again = generator.integers(len(of_pair), size=len(of_pair))
        index = np.concatenate([of_pair[pair] for pair in again])
        drawn.append(scores(pvalues[index], questions.at(index)))
    ends = pd.DataFrame(drawn).quantile([0.025, 0.975])
    return ends.iloc[0].to_dict(), ends.iloc[1].to_dict()


# ---- report --------------------------------------------------------------------


def report(rows: pd.DataFrame, picture: Path) -> str:
    """Prints a table for each set of questions, and draws the bars."""
    draw_sachs_ci(rows, picture)
    parts = [CAPTION]
    for count, group in rows.groupby("questions", sort=False):
        which = "All" if count == ALL else "A sample of"
        parts += ["", f"{which} {count} questions:", "", _table(group)]
    return "\n".join([*parts, *(NOTES[name] for name in rows["method"].unique() if name in NOTES)])


CAPTION = """Sachs et al. 2005, 853 cells, log input, |Z| = 3: d-separation in the 17-edge network.
[95 % interval by a bootstrap over pairs of proteins]; level .05. AUC adjacent: pairs with an edge
against separated ones. F1 with dependence, then independence, as the positive class.
s/test: all questions of the line together; alone: one question at a time, where that differs."""
NOTES = {
    "acid-adapted": "acid-adapted: fine-tuned on the table, 500 steps, without any label.",
    "acid-labelled": "acid-labelled: fine-tuned on labels, 500 steps on subsamples of 50 rows; "
    "five models, each for pairs of which it has seen no label.",
    "scit": "scit: one-sided as published, so it misses negative dependence.",
}


def _table(rows: pd.DataFrame) -> str:
    names = {
        "auc": "AUC",
        "auc_adjacent": "AUC adjacent",
        "f1_dependence": "F1 dep.",
        "f1_independence": "F1 indep.",
        "type_1": "Type I",
        "type_2": "Type II",
    }
    cells = []
    for row in rows.to_dict("records"):
        figures = (
            f"{row[name]:.3f} [{row[f'{name}_low']:.2f}, {row[f'{name}_high']:.2f}]"
            for name in names
        )
        alone = row["seconds_alone"]
        alone = None if alone is None or pd.isna(alone) else seconds_text(alone)
        cells.append((row["method"], *figures, seconds_text(row["seconds_per_test"]), alone))
    return aligned(("method", *names.values(), "s/test", "alone"), cells)


SACHS_CI = Experiment(
    name="sachs-ci",
    methods=METHODS,
    quick_methods=QUICK_METHODS,
    setting_columns=("input", "d_z", "questions"),
    result_columns=RESULT_COLUMNS,
    jobs=make_jobs,
    run=run,
    report=report,
)
