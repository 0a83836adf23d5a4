"""The paper's claims, judged on made-up rows, and what our cards say of the committed ones."""

import pandas as pd
import pytest

from acid_causal.errors import InputError
from benchmarks.documents import claims
from benchmarks.documents.claims import BASELINES, CLAIMS, Claim, NotRunError, Verdict
from benchmarks.experiments import EXPERIMENTS
from benchmarks.harness.committed import committed
from benchmarks.harness.jobs import Experiment
from benchmarks.methods import AS_IN_THE_PAPER

GOOD = {"auc": 0.97, "f1_dependence": 0.9, "f1_independence": 0.85, "type_1": 0.05, "type_2": 0.1}


def folds(method: str, **setting: object) -> list[dict[str, object]]:
    """Makes five folds of one cell; a setting may also change a metric."""
    row = {"method": method, "seconds_per_test": 0.1, **GOOD, **setting}
    return [{**row, "fold": fold} for fold in range(5)]


def verdict(says: str, rows: list[dict[str, object]]) -> Verdict:
    (claim,) = [claim for claim in CLAIMS if claim.says.startswith(says)]
    return claim.judge(pd.DataFrame(rows))


def test_every_claim_is_about_an_experiment() -> None:
    assert {claim.experiment for claim in CLAIMS} <= set(EXPERIMENTS)
    assert len({(claim.experiment, claim.says) for claim in CLAIMS}) == len(CLAIMS)


def test_the_worst_n_from_100_on_decides() -> None:
    rows = folds("acid", n=50, auc=0.5) + folds("acid", n=100, auc=0.96) + folds("acid", n=500)
    assert verdict("AUC near 1 (0.95 or more) from", rows) == Verdict("0.960 at n = 100", True)
    rows += folds("acid", n=200, auc=0.9)
    assert verdict("AUC near 1 (0.95 or more) from", rows) == Verdict("0.900 at n = 200", False)


def test_the_smaller_f1_counts() -> None:
    assert verdict("F1 of .8", folds("acid", n=100)) == Verdict("0.850 at n = 100", True)
    rows = folds("acid", n=100, f1_independence=0.7)
    assert verdict("F1 of .8", rows) == Verdict("0.700 at n = 100", False)


@pytest.mark.parametrize(("type_2", "holds"), [(0.199, True), (0.2, False)])
def test_type_2_at_100(type_2: float, holds: bool) -> None:
    assert verdict("Type II error below .2", folds("acid", n=100, type_2=type_2)).holds == holds


def test_a_verdict_is_about_the_figure_as_printed() -> None:
    rows = folds("acid", n=500, type_2=0.050000001)
    assert verdict("Type II error vanishes", rows) == Verdict("0.050", True)
    rows = folds("acid", n=500, type_2=0.051)
    assert verdict("Type II error vanishes", rows) == Verdict("0.051", False)


def test_all_baselines_must_miss() -> None:
    rows = [row for name in BASELINES for row in folds(name, n=100, type_2=0.8)]
    assert verdict("the baselines' Type II", rows) == Verdict(
        "kcit 0.800, scit 0.800, lcit 0.800", True
    )
    rows = folds("kcit", n=100, type_2=0.65) + rows[5:]
    assert not verdict("the baselines' Type II", rows).holds
    with pytest.raises(NotRunError):
        verdict("the baselines' Type II", rows[:-5])


def test_five_samples() -> None:
    assert not verdict("AUC over .8 at n = 5", folds("acid", n=5, auc=0.562)).holds
    assert verdict("AUC over .8 at n = 5", folds("acid", n=5, auc=0.801)).holds


def dimensionality(**acid: float) -> list[dict[str, object]]:
    baseline = {"auc": 0.8, "f1_dependence": 0.6, "type_2": 0.4}
    rows = [row for d_z in (5, 10) for row in folds("acid", d_z=d_z)]
    rows += [
        row for d_z in (5, 10) for name in BASELINES for row in folds(name, d_z=d_z, **baseline)
    ]
    return rows + folds("acid", d_z=100, **acid) + folds("kcit", d_z=100, **baseline)


@pytest.mark.parametrize(
    ("says", "metric", "worse"),
    [
        ("highest AUC", "auc", 0.79),
        ("highest F1", "f1_independence", 0.59),
        ("lowest Type II", "type_2", 0.41),
    ],
)
def test_best_at_each_dimension(says: str, metric: str, worse: float) -> None:
    rows = dimensionality()
    assert verdict(says, rows) == Verdict("3 of 3; of all tests, 3", True)
    assert verdict(says, dimensionality(**{metric: worse})) == Verdict(
        "2 of 3; of all tests, 2", False
    )
    # Another test that is better somewhere changes the second count alone.
    perfect = {"auc": 1.0, "f1_dependence": 1.0, "f1_independence": 1.0, "type_2": 0.0}
    rows += folds("rcit", d_z=10, **perfect)
    assert verdict(says, rows) == Verdict("3 of 3; of all tests, 2", True)


def test_nonlinearity_is_about_models_tested_on_their_own_links() -> None:
    own, other = "acid:acid-mlp64", "acid:acid-mlp08"
    rows = [
        *folds(own, d_z=5, mechanism="mlp64", auc=0.9, type_1=0.3),
        *folds(own, d_z=10, mechanism="mlp64", auc=0.82, type_1=0.18),
        *folds(other, d_z=5, mechanism="mlp64", auc=0.1),
        *folds(own, d_z=5, mechanism="mlp08", auc=0.1),
    ]
    assert verdict("MLP-64: AUC", rows) == Verdict("AUC 0.860, F1 0.850", True)
    assert verdict("MLP-64: Type I", rows) == Verdict("Type I 0.240", True)
    with pytest.raises(NotRunError):
        verdict("MLP-08", rows)


def test_training_is_judged_at_its_steps() -> None:
    curve = [
        {"method": "paper-head", "step": 10_000, "auc": 0.9, "training_loss": 0.4},
        {"method": "paper-head", "step": 50_000, "auc": 0.97, "training_loss": 0.149},
        {"method": "our-head", "step": 10_000, "auc": 0.99, "training_loss": 0.1},
    ]
    assert verdict("AUC near 1 (0.95 or more) by", curve) == Verdict("0.900", False)
    assert verdict("loss of .1", curve) == Verdict("0.149", True)


def sachs(method: str, questions: int, seconds: float, **auc: float) -> dict[str, object]:
    return {"method": method, "questions": questions, "seconds_per_test": seconds, **auc}


def test_sachs_intervals_and_seconds() -> None:
    rows = [
        sachs("acid", 4620, 0.02, auc=0.7, auc_low=0.6, auc_high=0.8),
        sachs("acid", 400, 0.05, auc=0.9, auc_low=0.8, auc_high=1.0),
        sachs("kcit", 400, 0.6, auc=0.6, auc_low=0.5, auc_high=0.7),
        sachs("scit", 400, 0.01, auc=0.5, auc_low=0.4, auc_high=0.6),
    ]
    assert verdict("ACID's AUC .78", rows) == Verdict("0.700 [0.60, 0.80]", True)
    assert verdict("KCIT's AUC .74", rows) == Verdict("0.600 [0.50, 0.70]", False)
    assert verdict("ACID takes less", rows) == Verdict("0.05 s", True)
    with pytest.raises(NotRunError):
        verdict("SCIT is the fastest", rows)
    rows.append(sachs("lcit", 400, 0.1))
    assert verdict("SCIT is the fastest", rows).holds
    rows[3]["seconds_per_test"] = 0.06
    assert verdict("SCIT is the fastest", rows) == Verdict(
        "scit 0.06 s, fastest acid 0.05 s", False
    )


def test_table_says_what_was_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(experiment: Experiment) -> tuple[pd.DataFrame, list[str]]:
        if experiment.name == "sample-size":
            return pd.DataFrame({"score": [0.25]}), []
        raise InputError("rows are missing")

    def judge(rows: pd.DataFrame) -> Verdict:
        return Verdict("a figure", bool(rows["score"].iloc[0] > 0.5))

    def absent(rows: pd.DataFrame) -> Verdict:
        raise NotRunError

    made_up = (
        Claim("sample-size", "a bold claim", judge),
        Claim("sample-size", "about a method that is not there", absent),
        Claim("graphs", "a claim about rows that are missing", judge),
        Claim("no-such-experiment", "another", judge),
    )
    monkeypatch.setattr(claims, "CLAIMS", made_up)
    monkeypatch.setattr(claims, "committed", missing)
    lines = [" ".join(line.split()) for line in claims.table().splitlines()]
    assert lines[2:6] == [
        "sample-size a bold claim a figure does not hold –",
        "sample-size about a method that is not there – not run –",
        "graphs a claim about rows that are missing – not run –",
        "no-such-experiment another – not run –",
    ]


def test_both_models_stand_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    (claim,) = [claim for claim in CLAIMS if claim.says.startswith("AUC over .8 at n = 5")]
    rows = pd.DataFrame(folds("acid", n=5, auc=0.6) + folds("acid:acid-mlp16", n=5, auc=0.9))
    monkeypatch.setattr(claims, "CLAIMS", (claim,))
    monkeypatch.setattr(claims, "committed", lambda experiment: (rows, []))
    assert claims.table().splitlines()[2].split()[-3:] == ["0.900", "holds", "0.600"]


@pytest.mark.parametrize(
    ("experiment", "axis", "first"), [("sample-size", "n", 50), ("dimensionality", "d_z", 3)]
)
def test_what_the_card_of_the_papers_model_says_of_the_committed_rows(
    experiment: str, axis: str, first: int
) -> None:
    """It ranks best, its level holds, and no test whose level holds misses less."""
    rows, _ = committed(EXPERIMENTS[experiment])
    cells = claims.means(rows[rows[axis] >= first], axis).set_index([axis, "method"])
    own = cells.xs(AS_IN_THE_PAPER, level="method")
    auc = cells["auc"].unstack()
    assert (own["auc"] == auc.max(axis=1)).all()
    assert own["type_1"].between(0.02, 0.08).all()
    general = cells.drop(index=["acid"], level="method")
    holds = general[general["type_1"] <= 0.1]
    assert (own["type_2"] == holds["type_2"].unstack().min(axis=1)).all()
