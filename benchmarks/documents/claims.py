"""The paper's claims, each beside our figure, from the committed results.

The paper's test was trained on the six data models alone, as is our `acid-mlp16`; the table shows
the general-purpose `acid-base` beside it. Where the paper uses words ("near 1", "vanishes"), the
claim states the number that we take for them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from acid_causal.errors import InputError
from benchmarks.experiments import EXPERIMENTS
from benchmarks.harness.committed import committed
from benchmarks.harness.folds import summarise
from benchmarks.harness.tables import aligned
from benchmarks.methods import AS_IN_THE_PAPER

ACID = "acid"
BASELINES = ("kcit", "scit", "lcit")  # the paper's own
NEAR_1 = 0.95
VANISHED = 0.05
F1 = ("f1_dependence", "f1_independence")  # the paper does not say which; we use the smaller


@dataclass(frozen=True)
class Verdict:
    """Our figure, and whether the claim holds."""

    figure: str
    holds: bool


Judge = Callable[[pd.DataFrame], Verdict]
Score = Callable[[pd.DataFrame], "pd.Series[float]"]


class NotRunError(Exception):
    """The rows for a claim are missing."""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper.

    Attributes:
        experiment: The experiment whose rows decide.
        says: The claim, with the number that we take for its words.
        judge: Computes our figure and the verdict from the experiment's rows; it raises
            `NotRunError` if rows are missing.
    """

    experiment: str
    says: str
    judge: Judge


def table() -> str:
    """Returns the claims as a table, from the committed rows."""
    rows = {name: _rows(name) for name in dict.fromkeys(claim.experiment for claim in CLAIMS)}
    lines = []
    for claim in CLAIMS:
        theirs, base = _both(rows[claim.experiment])
        figure, verdict = _judged(claim, theirs)
        beside = None if base is None else _judged(claim, base)[0]
        lines.append((claim.experiment, claim.says, figure, verdict, beside))
    header = ("experiment", "the paper", "here", "verdict", "acid-base")
    return "\n".join([aligned(header, lines), NOTES])


NOTES = """\
sample-size, dimensionality: the column "here" is acid-mlp16, with its sized null.
F1: the smaller of two, with dependence and with independence as the positive class.
highest, lowest: among the paper's tests (KCIT, SCIT, LCIT), then among all tests of the table.
sachs-ci: an AUC holds if the 95 % interval over pairs reaches the paper's figure."""


def _both(rows: pd.DataFrame | None) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
    """Returns the rows with `acid-mlp16` as ACID, and those with the default model as ACID.

    Where there are no rows of `acid-mlp16`, the first are those of the default model and the second
    None.
    """
    if rows is None or "method" not in rows:
        return rows, None
    alone = rows["method"] == AS_IN_THE_PAPER
    several_links = "mechanism" in rows and rows["mechanism"].nunique() > 1  # nonlinearity
    if several_links or not alone.any():
        return rows, None
    theirs = rows[rows["method"] != ACID].replace({"method": {AS_IN_THE_PAPER: ACID}})
    return theirs, rows[~alone]


def _rows(experiment: str) -> pd.DataFrame | None:
    """Returns the committed rows of an experiment, or None if there are no complete ones."""
    if experiment not in EXPERIMENTS:
        return None
    try:
        return committed(EXPERIMENTS[experiment])[0]
    except InputError:
        return None


def _judged(claim: Claim, rows: pd.DataFrame | None) -> tuple[str, str]:
    try:
        if rows is None:
            raise NotRunError
        verdict = claim.judge(rows)
    except NotRunError:
        return "–", "not run"
    return verdict.figure, "holds" if verdict.holds else "does not hold"


# ---- pieces of claims ----------------------------------------------------------


def means(rows: pd.DataFrame, *axes: str) -> pd.DataFrame:
    """Averages metrics over folds and rounds them as printed, so that verdict and figure agree.

    Args:
        rows: One row for each fold.
        axes: The columns that tell settings apart.
    """
    return summarise(rows, *axes).round(3)


def _of(rows: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """Picks rows by the values of columns.

    Raises:
        NotRunError: There is none.
    """
    for column, value in wanted.items():
        rows = rows[rows[column] == value]
    if rows.empty:
        raise NotRunError
    return rows


def _auc(cells: pd.DataFrame) -> "pd.Series[float]":
    return cells["auc"]


def _f1(cells: pd.DataFrame) -> "pd.Series[float]":
    return cells[list(F1)].min(axis=1)


def _power(cells: pd.DataFrame) -> "pd.Series[float]":
    return 1 - cells["type_2"]


# ---- sample size ---------------------------------------------------------------


def _least_from_100(score: Score, bound: float) -> Judge:
    """Judges ACID's lowest score over n >= 100."""

    def judge(rows: pd.DataFrame) -> Verdict:
        cells = _of(means(rows, "n"), method=ACID)
        cells = cells[cells["n"] >= 100].set_index("n")
        lowest = score(cells)
        return Verdict(f"{lowest.min():.3f} at n = {lowest.idxmin()}", lowest.min() >= bound)

    return judge


def _acid_at(n: int, metric: str, holds: Callable[[float], bool]) -> Judge:
    def judge(rows: pd.DataFrame) -> Verdict:
        (value,) = _of(means(rows, "n"), method=ACID, n=n)[metric]
        return Verdict(f"{value:.3f}", holds(value))

    return judge


def _baselines_miss(rows: pd.DataFrame) -> Verdict:
    cells = _of(means(rows, "n"), n=100)
    found = {name: float(_of(cells, method=name)["type_2"].iloc[0]) for name in BASELINES}
    figure = ", ".join(f"{name} {value:.3f}" for name, value in found.items())
    return Verdict(figure, min(found.values()) > 0.7)


# ---- dimensionality ------------------------------------------------------------


def _best_at_each_d_z(score: Score) -> Judge:
    """Judges whether ACID has the highest score among the paper's methods at each |Z|."""

    def judge(rows: pd.DataFrame) -> Verdict:
        cells = means(rows, "d_z")
        cells["score"] = score(cells)
        scores = cells.pivot(index="d_z", columns="method", values="score")
        if not {ACID, *BASELINES} <= set(scores):
            raise NotRunError
        best = scores[ACID] >= scores[list(BASELINES)].max(axis=1)
        others = scores.drop(columns=[ACID, *BASELINES])
        of_all = best & ~(others.max(axis=1) > scores[ACID])
        figure = f"{best.sum()} of {len(best)}; of all tests, {of_all.sum()}"
        return Verdict(figure, bool(best.all()))

    return judge


# ---- nonlinearity --------------------------------------------------------------


def _trained_and_tested_on(
    links: str, scores: Mapping[str, Score], holds: Callable[[float], bool]
) -> Judge:
    """Judges a model on the kind of links it was trained on, by means over |Z| of all scores."""

    def judge(rows: pd.DataFrame) -> Verdict:
        cells = means(rows, "d_z", "mechanism")
        cells = _of(cells, mechanism=links, method=f"acid:acid-{links}")
        figures = {name: round(score(cells).mean(), 3) for name, score in scores.items()}
        text = ", ".join(f"{name} {value:.3f}" for name, value in figures.items())
        return Verdict(text, all(holds(value) for value in figures.values()))

    return judge


def _at_step(step: int, column: str, holds: Callable[[float], bool]) -> Judge:
    """Judges the paper's head at a step of its training, by the mean over seeds."""

    def judge(rows: pd.DataFrame) -> Verdict:
        value = round(float(_of(rows, method="paper-head", step=step)[column].mean()), 3)
        return Verdict(f"{value:.3f}", holds(value))

    return judge


# ---- Sachs ---------------------------------------------------------------------


def _auc_reaches(method: str, claimed: float) -> Judge:
    """Judges whether the interval of a method's AUC reaches the claim, on the largest sample."""

    def judge(rows: pd.DataFrame) -> Verdict:
        of_method = _of(rows, method=method)
        row = of_method.loc[of_method["questions"].idxmax()]
        low, high = row["auc_low"], row["auc_high"]
        return Verdict(f"{row['auc']:.3f} [{low:.2f}, {high:.2f}]", bool(high >= claimed))

    return judge


def _seconds(rows: pd.DataFrame, methods: Sequence[str]) -> "pd.Series[float]":
    """Returns the seconds per test on the questions that all methods answered."""
    common = rows[rows["questions"] == rows["questions"].min()]
    return pd.Series(
        {name: float(_of(common, method=name)["seconds_per_test"].iloc[0]) for name in methods}
    )


def _acid_below_a_second(rows: pd.DataFrame) -> Verdict:
    seconds = float(_seconds(rows, [ACID])[ACID])
    return Verdict(f"{seconds:.2g} s", seconds < 1)


def _scit_fastest(rows: pd.DataFrame) -> Verdict:
    seconds = _seconds(rows, [ACID, *BASELINES])
    figure = f"scit {seconds['scit']:.2g} s, fastest {seconds.idxmin()} {seconds.min():.2g} s"
    return Verdict(figure, seconds.idxmin() == "scit")


# ---- the claims ----------------------------------------------------------------

CLAIMS = (
    Claim(
        "sample-size",
        f"AUC near 1 ({NEAR_1} or more) from n = 100 on",
        _least_from_100(_auc, NEAR_1),
    ),
    Claim("sample-size", "F1 of .8 or more from n = 100 on", _least_from_100(_f1, 0.8)),
    Claim(
        "sample-size",
        "Type II error below .2 at n = 100",
        _acid_at(100, "type_2", lambda value: value < 0.2),
    ),
    Claim(
        "sample-size",
        f"Type II error vanishes by n = 500 ({VANISHED} or less)",
        _acid_at(500, "type_2", lambda value: value <= VANISHED),
    ),
    Claim("sample-size", "the baselines' Type II error over .7 at n = 100", _baselines_miss),
    Claim("sample-size", "AUC over .8 at n = 5", _acid_at(5, "auc", lambda value: value > 0.8)),
    Claim(
        "dimensionality",
        "highest AUC at each |Z|",
        _best_at_each_d_z(_auc),
    ),
    Claim("dimensionality", "highest F1 at each |Z|", _best_at_each_d_z(_f1)),
    Claim(
        "dimensionality",
        "lowest Type II error at each |Z|",
        _best_at_each_d_z(_power),
    ),
    Claim(
        "nonlinearity",
        f"MLP-08: AUC near 1 ({NEAR_1} or more)",
        _trained_and_tested_on("mlp08", {"AUC": _auc}, lambda value: value >= NEAR_1),
    ),
    Claim(
        "nonlinearity",
        "MLP-64: AUC and F1 of .9 (.85 or more)",
        _trained_and_tested_on("mlp64", {"AUC": _auc, "F1": _f1}, lambda value: value >= 0.85),
    ),
    Claim(
        "nonlinearity",
        "MLP-64: Type I error of .2 (less than .25)",
        _trained_and_tested_on(
            "mlp64", {"Type I": lambda cells: cells["type_1"]}, lambda value: value < 0.25
        ),
    ),
    Claim(
        "training",
        f"AUC near 1 ({NEAR_1} or more) by 10,000 steps",
        _at_step(10_000, "auc", lambda value: value >= NEAR_1),
    ),
    Claim(
        "training",
        "loss of .1 (less than .15) at 50,000 steps",
        _at_step(50_000, "training_loss", lambda value: value < 0.15),
    ),
    Claim("sachs-ci", "ACID's AUC .78", _auc_reaches(ACID, 0.78)),
    Claim("sachs-ci", "KCIT's AUC .74", _auc_reaches("kcit", 0.74)),
    Claim("sachs-ci", "ACID takes less than 1 s a test", _acid_below_a_second),
    Claim("sachs-ci", "SCIT is the fastest", _scit_fastest),
)
