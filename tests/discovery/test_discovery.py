"""Discoveries: every number on an edge is one that the search or the samples gave."""

import json
import warnings
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from graph_cases import make_oracle

from acid_causal.compute.device import resolve_device
from acid_causal.discovery.bootstrap import bootstrap_graphs
from acid_causal.discovery.discovery import Discovery, discover
from acid_causal.discovery.knowledge import Knowledge
from acid_causal.discovery.report.file_names import FILES
from acid_causal.discovery.search import orientation
from acid_causal.errors import AcidWarning, InputTypeError, OptionError
from acid_causal.inference.tester import Tester
from acid_causal.options import defaults
from acid_causal.tables.inputs import Table, read_table
from acid_causal.training import finetuning
from acid_causal.weights.checkpoint import TrainedModel

ALPHA = 0.2


@pytest.fixture(scope="module")
def frame(table: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(table, columns=list("abcdef"))


@pytest.fixture(scope="module")
def found(frame: pd.DataFrame, tiny_model: TrainedModel) -> Discovery:
    return discover(frame, alpha=ALPHA, model=tiny_model, bootstrap=4, seed=3)


def test_all_pairs_are_told_of(found: Discovery) -> None:
    pairs = [{edge.a, edge.b} for edge in found.edges]
    pairs += [{pair.a, pair.b} for pair in found.separations]
    assert sorted(map(sorted, pairs)) == sorted(map(list, combinations("abcdef", 2)))
    assert found.edges
    assert found.separations
    assert str(found).splitlines() == [f"{edge.a} {edge.mark} {edge.b}" for edge in found.edges]


def test_a_mark_that_no_sample_has_is_an_edge_like_others(found: Discovery) -> None:
    edge = replace(found.edges[0], confidence=0.5, marks={"": 0.5, "<->": 0.5})
    unlike = replace(found, edges=(edge,))
    assert edge.mark_confidence == 0
    assert unlike.graph.edges[edge.a, edge.b]["mark_confidence"] == 0
    assert unlike.edges_frame()["mark_confidence"].tolist() == [0]
    assert replace(edge, confidence=None).mark_confidence is None


def test_numbers_of_numpy_are_options(
    frame: pd.DataFrame, tiny_model: TrainedModel, found: Discovery
) -> None:
    options: dict[str, Any] = {
        "alpha": np.float64(ALPHA),
        "bootstrap": np.int64(4),
        "seed": np.int32(3),
        "max_size": np.int64(5),
        "fraction": np.float32(defaults.FRACTION),
    }
    again = discover(frame, model=tiny_model, **options)
    assert again.pvalues == found.pvalues
    json.dumps(again.provenance)
    with pytest.raises(OptionError, match=r"max_size must be a whole number, 0 or more, not 1\.5"):
        discover(frame, model=tiny_model, max_size=1.5)  # type: ignore[arg-type]


def test_edges_have_the_p_value_of_the_most_doubtful_test(
    found: Discovery, frame: pd.DataFrame, tiny_model: TrainedModel
) -> None:
    tester = Tester(frame, model=tiny_model)
    index = {name: k for k, name in enumerate(frame.columns)}
    for edge in found.edges:
        i, j = sorted((index[edge.a], index[edge.b]))
        asked = {cond: p for (x, y, cond), p in found.pvalues.items() if (x, y) == (i, j)}
        assert edge.tests == len(asked)
        assert edge.pvalue == max(asked.values()) <= ALPHA
        answer = tester.test(i, j, [index[name] for name in edge.given])
        assert edge.pvalue == pytest.approx(answer.pvalue, abs=1e-4)


def test_separations_have_their_sets(found: Discovery) -> None:
    index = {name: k for k, name in enumerate(found.columns)}
    for pair in found.separations:
        i, j = sorted((index[pair.a], index[pair.b]))
        for names, pvalue in pair.sets:
            assert found.pvalues[i, j, tuple(sorted(index[name] for name in names))] == pvalue
            assert pvalue > ALPHA
        assert (pair.given, pair.pvalue) == max(pair.sets, key=lambda sepset: sepset[1])


def test_confidences_are_those_of_the_samples(
    found: Discovery, frame: pd.DataFrame, tiny_model: TrainedModel
) -> None:
    frequencies = bootstrap_graphs(frame, samples=4, seed=3, alpha=ALPHA, model=tiny_model)
    index = {name: k for k, name in enumerate(frame.columns)}
    shares = frequencies.adjacency()
    for edge in found.edges:
        assert edge.confidence == shares[index[edge.a], index[edge.b]]
        assert edge.confidence == pytest.approx(1 - edge.marks.get("", 0.0))
    for pair in found.separations:
        assert pair.confidence == shares[index[pair.a], index[pair.b]]
    confidences = [edge.confidence for edge in found.edges if edge.confidence is not None]
    assert len(confidences) == len(found.edges)
    assert confidences == sorted(confidences, reverse=True)


def test_provenance(found: Discovery, frame: pd.DataFrame, tiny_model: TrainedModel) -> None:
    made = json.loads(json.dumps(found.provenance, allow_nan=False))
    assert made["data"]["rows"] == 120
    assert made["model"] == {"name": "tiny", "sha256": tiny_model.sha256}
    assert made["search"]["alpha"] == ALPHA
    assert made["search"]["null"] == tiny_model.default_null
    assert made["search"]["permutations"] is None
    assert made["search"]["device"] == str(resolve_device("auto"))
    assert made["bootstrap"] == {"samples": 4, "rows": "subsample", "fraction": 0.7, "seed": 3}
    assert sum(made["tests"]["by_size"].values()) == made["tests"]["different"]
    other = discover(frame.assign(a=frame.a + 1), model=tiny_model)
    assert other.provenance["data"]["sha256"] != made["data"]["sha256"]
    assert other.provenance["bootstrap"] is None
    assert other.bootstrap is None
    assert {edge.confidence for edge in other.edges} <= {None}


def test_provenance_records_what_was_used(frame: pd.DataFrame, tiny_model: TrainedModel) -> None:
    other = replace(tiny_model, default_null="pooled")
    used = discover(frame, model=other, device=torch.device("cpu")).provenance["search"]
    assert (used["null"], used["permutations"], used["device"]) == ("pooled", None, "cpu")
    used = discover(frame, model=other, null="permutation").provenance["search"]
    assert (used["null"], used["permutations"]) == ("permutation", defaults.PERMUTATIONS)
    drawn = discover(frame, model=other, null="permutation", permutations=19)
    assert drawn.provenance["search"]["permutations"] == 19
    # No graph at a level at which nothing could be rejected.
    assert drawn.path is not None
    assert drawn.path.alphas[0] == 0.05
    used = discover(frame, model=other, null="checked", alpha=0.1).provenance["search"]
    assert (used["null"], used["permutations"], used["draws"]) == ("checked", None, 99)


@pytest.mark.filterwarnings("ignore:conditioning sets were limited")
@pytest.mark.filterwarnings("ignore:few different whole numbers")
@pytest.mark.filterwarnings("ignore:conditioning sets were limited to 0")
def test_saving_writes_what_the_command_writes(found: Discovery, tmp_path: Path) -> None:
    written = found.save(tmp_path / "out", title="mine", data=False)
    assert written == [tmp_path / "out" / name for name in FILES]
    report = written[0].read_text("utf-8")
    assert "<h1>mine</h1>" in report
    assert '"codes"' not in report


def test_a_sample_of_the_rows_is_kept(monkeypatch: pytest.MonkeyPatch, frame: pd.DataFrame) -> None:
    def sample() -> list[list[float]]:
        kept = discover(frame, test="fisherz").sample
        assert kept is not None
        return kept.values.tolist()

    rows = frame.to_numpy().tolist()
    assert sample() == rows
    monkeypatch.setattr("acid_causal.discovery.discovery.SAMPLE_ROWS", 7)
    drawn = sample()
    assert drawn == sample()
    places = [rows.index(row) for row in drawn]
    assert places == sorted(set(places))
    assert len(places) == 7


@pytest.mark.filterwarnings("ignore:few different whole numbers")
@pytest.mark.filterwarnings("ignore:conditioning sets were limited to 0")
def test_equal_pvalues_are_ranked_by_statistic() -> None:
    rng = np.random.default_rng(0)
    cause = rng.integers(0, 4, size=(200, 1))
    table = np.hstack([cause, cause + rng.integers(0, [2, 3, 4], size=(200, 3))]).astype(float)
    found = discover(table, model="acid-base", null="checked", max_size=0)
    assert len({edge.pvalue for edge in found.edges}) == 1
    statistics = [edge.statistic for edge in found.edges]
    assert statistics == sorted(statistics, reverse=True)
    assert len(set(statistics)) == len(statistics) >= 3


def test_a_report_and_a_fine_tuned_model_name_a_table_alike(
    monkeypatch: pytest.MonkeyPatch, frame: pd.DataFrame, tiny_model: TrainedModel
) -> None:
    monkeypatch.setattr(finetuning, "fit_null", lambda *_, **__: tiny_model.null)  # takes long
    gaps = frame.copy()
    gaps.iloc[3, 1] = np.nan
    for data, missing in ((frame, "raise"), (gaps, "drop")):
        adapted = finetuning.finetune(
            data, model=tiny_model, steps=1, missing=missing, progress=False
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AcidWarning)
            found = discover(data, model=tiny_model, missing=missing)
        (stage,) = adapted.history["finetuned"]
        table = read_table(data, missing=missing)
        assert found.provenance["data"]["sha256"] == stage["data_sha256"] == table.sha256


def test_warnings_are_issued_and_kept(frame: pd.DataFrame, tiny_model: TrainedModel) -> None:
    frame = frame.assign(sex=np.arange(120) % 2, same=1.0)
    with pytest.warns(AcidWarning) as issued:
        found = discover(frame, model=tiny_model, bootstrap=2)
    messages = tuple(str(warning.message) for warning in issued)
    assert messages == found.warnings
    assert any("a column of few different values" in message for message in messages)
    # The samples warn of it as well, which is no news.
    assert sum("constant columns" in message for message in messages) == 1
    assert all(warning.filename == __file__ for warning in issued)


def test_a_limit_that_was_reached_is_told(frame: pd.DataFrame, tiny_model: TrainedModel) -> None:
    with pytest.warns(AcidWarning, match=r"limited to 0 of up to \d variables: edges may remain"):
        discover(frame, alpha=ALPHA, model=tiny_model, max_size=0)
    discover(frame, alpha=ALPHA, model=tiny_model, max_size=5)


def test_directions_may_take_twice_the_tests_of_the_search(
    frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond that another rule is applied, and a warning says so."""
    assert [orientation.most_questions(count) for count in (3, 1000, 4000)] == [2000, 2000, 8000]
    monkeypatch.setattr(orientation, "_FEW", 0)
    assert discover(frame, test="fisherz", alpha=0.3).warnings == ()
    monkeypatch.setattr(orientation, "_MOST_A_QUESTION", 0)
    with pytest.warns(AcidWarning, match='more than twice the tests .* found by "separation"'):
        discover(frame, test="fisherz", alpha=0.3)


def test_warnings_of_samples_only(frame: pd.DataFrame, tiny_model: TrainedModel) -> None:
    rows = tiny_model.recipe.stream.n[0] + 2
    with pytest.warns(AcidWarning, match=r"in 2 of 2 samples of the rows: \d+ samples are fewer"):
        discover(frame[:rows], model=tiny_model, bootstrap=2)


def test_knowledge(monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_oracle(monkeypatch, nx.DiGraph([(0, 1), (2, 3)]))
    known = Knowledge(require=(("d", "a"),), forbid=(("a", "b"), ("b", "a")))
    with pytest.warns(AcidWarning, match=r"the required edge d --> a is not in the data.*p = 1"):
        found = discover(table, knowledge=known)
    required = [edge for edge in found.edges if edge.required]
    assert [str(edge) for edge in required] == ["d --> a"]
    assert required[0].pvalue == 1.0
    forbidden = [pair for pair in found.separations if pair.forbidden]
    assert [(pair.a, pair.b, pair.sets, pair.pvalue) for pair in forbidden] == [("a", "b", (), 0.0)]
    assert found.provenance["knowledge"]["require"] == [["d", "a"]]


def test_fci_with_forbidden_edges_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_oracle(monkeypatch, nx.DiGraph([(0, 1), (1, 2)]))
    with pytest.warns(AcidWarning, match="FCI takes a forbidden edge"):
        discover(table, method="fci", knowledge=Knowledge(tiers=(("a",), ("b",))))


def test_fci_has_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_oracle(monkeypatch, nx.DiGraph([(0, 2), (1, 2), (2, 3)]))
    path = discover(table, method="fci").path
    assert path is not None
    assert set(path.marks(0, 2)) == {"o->"}
    assert set(path.marks(2, 3)) == {"-->"}
    assert set(path.marks(0, 3)) == {""}


@pytest.mark.usefixtures("wrong_types")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bootstrap": -1}, "bootstrap must be"),
        ({"bootstrap": True}, "bootstrap must be"),
        ({"bootstrap": 2.5}, "bootstrap must be"),
        ({"alpha": "x"}, "alpha must be between 0 and 1, not 'x'"),
        ({"fraction": "x"}, "fraction must be above 0 and at most 1, not 'x'"),
        ({"seed": -1}, "seed must be a whole number, 0 or more, not -1"),
        ({"devise": "cpu"}, "unknown option of the search 'devise'. Did you mean 'device'"),
        ({"method": "pcc"}, "Did you mean 'pc'"),
        ({"model": "acid-bse"}, "Did you mean 'acid-base'"),
        ({"knowledge": Knowledge(require=(("a", "bb"),))}, "'bb'"),
    ],
)
def test_mistakes(
    frame: pd.DataFrame, tiny_model: TrainedModel, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        discover(frame, **{"model": tiny_model, **options})


def test_tables(frame: pd.DataFrame, tiny_model: TrainedModel) -> None:
    with pytest.raises(InputTypeError, match="'kind'"):
        discover(frame.assign(kind=1j), model=tiny_model)
    gaps = frame.copy()
    gaps.loc[3, "b"] = np.nan
    with pytest.warns(AcidWarning, match="missing values in b"):
        found = discover(gaps, model=tiny_model, missing="drop")
    assert found.provenance["data"]["missing_values"] == 1
    array = discover(frame.to_numpy(), model=tiny_model)
    assert array.columns == ("X1", "X2", "X3", "X4", "X5", "X6")
    read = discover(Table(frame.to_numpy(), array.columns, None), model=tiny_model)
    assert str(read) == str(array)
