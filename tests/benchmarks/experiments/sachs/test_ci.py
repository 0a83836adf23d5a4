"""`sachs-ci`: the questions, their labels, the bootstrap over pairs, the report."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from acid_causal import Tester
from acid_causal.data.sachs import load_sachs
from acid_causal.tables.inputs import Question
from acid_causal.weights.checkpoint import TrainedModel
from benchmarks.experiments.sachs import ci
from benchmarks.experiments.sachs.ci import (
    ADJACENT,
    ALL,
    CONNECTED,
    SEPARATED,
    Questions,
    all_questions,
    pair_intervals,
    sample,
    scores,
)
from benchmarks.harness.runner import attempt
from benchmarks.harness.store import frame
from benchmarks.methods import weights_sha256


def test_questions_and_labels_are_those_of_the_evaluation_plan() -> None:
    questions = all_questions()
    assert len(set(questions.asked)) == ALL == 4620
    assert np.sum(questions.labels == 0) == SEPARATED == 2160
    assert np.sum(questions.labels == 1) == CONNECTED == 2460
    assert np.sum(questions.adjacent) == ADJACENT == 1428
    assert questions.labels[questions.adjacent].all()
    assert set(np.bincount(questions.pairs)) == {84}
    assert len(np.unique(questions.pairs)) == 55


def test_labels_by_paths() -> None:
    # Another definition of d-separation than networkx uses: in the moral graph of the ancestors no
    # path goes round the conditioning set.
    sachs = load_sachs()
    dag, name = sachs.graph(17), sachs.columns
    questions = sample(200, seed=5)
    for (i, j, cond), label in zip(questions.asked, questions.labels, strict=True):
        members = {name[k] for k in (i, j, *cond)}
        kept = members.union(*(nx.ancestors(dag, member) for member in members))
        moral = nx.moral_graph(dag.subgraph(kept))
        moral.remove_nodes_from([name[k] for k in cond])
        assert nx.has_path(moral, name[i], name[j]) == bool(label)


def test_samples_are_balanced_and_fixed() -> None:
    questions = sample(400, seed=1)
    assert questions.labels.sum() == 200
    assert len(set(questions.asked)) == 400
    assert sample(400, seed=1).asked == questions.asked != sample(400, seed=2).asked
    truth = dict(zip(all_questions().asked, all_questions().labels, strict=True))
    assert [truth[question] for question in questions.asked] == questions.labels.tolist()


def made_up(of_pair: int, pairs: int) -> Questions:
    """Makes questions about pairs of which every second one is connected, every fourth adjacent."""
    numbers = np.repeat(np.arange(pairs), of_pair)
    asked = tuple((0, 1, (2, int(k))) for k in range(len(numbers)))
    return Questions(asked, numbers % 2, numbers % 4 == 1, numbers)


def test_adjacent_pairs_have_an_area_of_their_own() -> None:
    questions = made_up(of_pair=1, pairs=4)  # labels 0, 1, 0, 1; the second one is adjacent
    figures = scores(np.array([0.5, 0.01, 0.2, 0.9]), questions)
    assert figures["auc"] == 0.5
    assert figures["auc_adjacent"] == 1.0


def test_intervals_count_pairs_and_not_questions() -> None:
    # Answers are the same for all questions of a pair, so 20 questions a pair tell no more than
    # one: the intervals are equal, where a bootstrap over questions would narrow by a factor of 4.
    pvalues = np.random.default_rng(0).uniform(size=30)
    one, twenty = made_up(1, 30), made_up(20, 30)
    low, high = pair_intervals(pvalues, one, resamples=30)
    low_20, high_20 = pair_intervals(np.repeat(pvalues, 20), twenty, resamples=30)
    assert high_20["auc"] - low_20["auc"] == pytest.approx(high["auc"] - low["auc"])
    assert high["auc"] - low["auc"] > 0.3
    assert low["type_1"] < scores(pvalues, one)["type_1"] < high["type_1"]


def test_acid_is_asked_by_table(tiny_model: TrainedModel, tmp_path: Path) -> None:
    path = tmp_path / "tiny.safetensors"
    tiny_model.save(path)
    data = np.log(load_sachs().data)[:60]
    asked = sample(6, seed=0).asked
    pvalues = ci.by_table(f"acid:{path}", data, asked)
    tester = Tester(data, model=tiny_model)
    np.testing.assert_allclose(pvalues, [tester.test(*q).pvalue for q in asked], atol=1e-4)


def test_fine_tuned_models_know_the_table_or_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """What each of the two is given, and which weights it starts from."""
    data, asked = np.ones((5, 11)), ((0, 1, (2, 3, 4)),)
    calls: list[tuple[tuple[Any, ...], dict[str, object]]] = []

    def noted(*args: object, **options: object) -> list[float]:
        calls.append((args, options))
        return [0.5]

    monkeypatch.setattr(ci, "adapted_pvalues", noted)
    monkeypatch.setattr(ci, "labelled_pvalues", noted)
    for method in ("acid-adapted:small", "acid-labelled"):
        assert ci.BY_TABLE[method.partition(":")[0]](method, data, asked) == [0.5]
    (adapted, base), (labelled, other) = calls
    assert adapted == (data, asked)
    assert (base, other) == ({"model": "small"}, {"model": "acid-base"})
    labels = labelled[2]
    assert len(labels) == ALL
    assert sum(labels.values()) == CONNECTED
    assert weights_sha256("acid-labelled") == weights_sha256("acid") != ""


def test_other_methods_are_asked_by_columns() -> None:
    data = np.log(load_sachs().data)
    asked = ((0, 1, (2, 3, 4)), (6, 2, (1,)))
    correlation = np.linalg.inv(np.corrcoef(data[:, [0, 1, 2, 3, 4]].T))
    partial = -correlation[0, 1] / np.sqrt(correlation[0, 0] * correlation[1, 1])
    pvalue, _ = ci.one_at_a_time("fisherz", data, asked)
    statistic = np.sqrt(len(data) - 3 - 3) * np.arctanh(abs(partial))
    assert pvalue == pytest.approx(2 * stats.norm.sf(statistic))


def test_jobs() -> None:
    full = ci.SACHS_CI.jobs(ci.METHODS, False)
    asked = {(job.method, job["questions"]) for job in full}
    assert ("acid", 4620) in asked
    assert {method for method, count in asked if count == 400} == set(ci.METHODS)
    assert {m for m, count in asked if count == 4620} == {
        "acid",
        "acid-adapted",
        "acid-labelled",
        "rcit",
        "fisherz",
        "scit",
        "scit-two-sided",
    }


def test_rows_and_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def shared(method: str, data: np.ndarray, asked: Sequence[Question]) -> Sequence[float]:
        return ci.one_at_a_time("fisherz", data, asked)

    # A method that shares work between questions, without the network's weights.
    monkeypatch.setattr(ci, "BY_TABLE", {"acid": shared})
    monkeypatch.setattr(ci, "QUICK_ALL", 60)
    monkeypatch.setattr(ci, "RESAMPLES", 20)
    experiment = ci.SACHS_CI
    rows = [attempt(experiment, job, 1) for job in experiment.jobs(["acid", "fisherz"], True)]
    assert [row["error"] for row in rows] == [""] * 4
    for row in rows:
        assert float(row["auc_low"]) <= float(row["auc"]) <= float(row["auc_high"])
        assert (row["seconds_alone"] != "") == (row["method"] == "acid")
    picture = tmp_path / "sachs-ci.png"
    text = experiment.report(frame(rows, experiment.columns), picture)
    assert "A sample of 60 questions:" in text
    assert "A sample of 40 questions:" in text
    assert picture.stat().st_size > 10_000


def test_fisher_z_is_near_what_was_measured_before() -> None:
    # Measured before: .65 to .67 over all questions, on small samples.
    questions = sample(1500, seed=0)
    data = np.log(load_sachs().data)
    pvalues = np.asarray(ci.one_at_a_time("fisherz", data, questions.asked))
    figures = scores(pvalues, questions)
    assert 0.61 < figures["auc"] < 0.71
    assert figures["auc_adjacent"] > figures["auc"] + 0.03
