"""The experiments' jobs and reports, on small stand-ins for the generator."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

import acid_causal.synthetic
from acid_causal import ci_test
from acid_causal.data.sachs import load_sachs
from benchmarks.command_line import run_experiment
from benchmarks.experiments import EXPERIMENTS, calibration, six_models
from benchmarks.experiments.sachs import graph
from benchmarks.harness import folds
from benchmarks.harness.committed import committed
from benchmarks.harness.jobs import Job
from benchmarks.harness.runner import attempt
from benchmarks.harness.store import frame
from benchmarks.methods import AS_IN_THE_PAPER
from benchmarks.metrics.ci_metrics import METRICS
from benchmarks.pictures.style import style_of


def fake_datasets(
    count: int, n: int, d_z: int, *, label: Sequence[int], seed: int
) -> SimpleNamespace:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.tensor(label)
    x = torch.randn(count, n, 1, generator=generator)
    y = torch.randn(count, n, 1, generator=generator) + 0.5 * labels[:, None, None] * x
    return SimpleNamespace(
        x=x,
        y=y,
        z=torch.randn(count, n, d_z, generator=generator),
        label=labels,
        categorical=None,
    )


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> None:
    def six(count: int, n: int, d_z: int, *, mechanism: str, seed: int) -> SimpleNamespace:
        assert mechanism == "mlp16"
        return fake_datasets(count, n, d_z, label=[0, 1] * (count // 2), seed=seed)

    def null(stream: str, count: int, n: int, d_z: int, seed: int) -> SimpleNamespace:
        assert stream in calibration.STREAMS
        return fake_datasets(count, n, d_z, label=[0] * count, seed=seed)

    monkeypatch.setattr(acid_causal.synthetic, "six_models", six, raising=False)
    monkeypatch.setattr(acid_causal.synthetic, "null_datasets", null, raising=False)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_jobs_are_told_apart_by_their_identity(name: str, quick: bool) -> None:
    experiment = EXPERIMENTS[name]
    jobs = experiment.jobs(experiment.methods, quick)
    assert len({tuple(job.identity().values()) for job in jobs}) == len(jobs)
    expected = {"experiment", "method", *experiment.setting_columns, "seed"}
    assert all(set(job.identity()) == expected for job in jobs)


def test_settings_are_those_of_the_evaluation_plan() -> None:
    jobs = six_models.DIMENSIONALITY.jobs(["acid"], False)
    assert {job["d_z"] for job in jobs} == {3, 5, 10, 20, 50, 100}
    assert {job["n"] for job in jobs} == {300}
    assert len(jobs) == 6 * 5
    assert sum(job.number("datasets") for job in jobs[:5]) == 200
    jobs = six_models.SAMPLE_SIZE.jobs(["acid"], False)
    assert min(job.number("n") for job in jobs) == 5
    assert max(job.number("n") for job in jobs) == 500
    jobs = calibration.CALIBRATION.jobs(["acid"], False)
    assert len(jobs) == 11 * 6 * 7
    assert set(calibration.STREAMS) == set(acid_causal.synthetic.NULL_STREAMS)
    papers = calibration.CALIBRATION.jobs([AS_IN_THE_PAPER], False)
    assert {job["stream"] for job in papers} == {"six-models"}
    assert len(papers) == 5 * 7
    mixed = calibration.CALIBRATION.jobs(["degen_gauss", "rcit"], False)
    of_mixed = {job["stream"] for job in mixed if job.method == "degen_gauss"}
    assert of_mixed == {"some-categories", "all-categories"}
    assert not of_mixed & {job["stream"] for job in mixed if job.method == "rcit"}
    counted = calibration.CALIBRATION.jobs(["chisq"], False)
    assert {job["stream"] for job in counted} == {"all-categories"}


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "training"])
def test_every_method_has_a_look_of_its_own(name: str) -> None:
    """(`training` compares heads, in colours of its picture's own.)"""
    rows, _ = committed(EXPERIMENTS[name])
    methods = {*EXPERIMENTS[name].methods, *rows["method"]} - {"empty"}
    styles = [style_of(method) for method in methods]
    assert len({style.label for style in styles}) == len(methods)
    looks = {(style.color, style.dashes, style.marker) for style in styles}
    # There each method has a row or a place of its own, with its label.
    assert len(looks) == len(methods) or name in {"sachs-ci", "nonlinearity"}


def test_methods_share_datasets_and_folds_do_not(generator: None) -> None:
    jobs = six_models.SAMPLE_SIZE.jobs(["rcit", "fisherz"], True)
    assert (jobs[0].method, jobs[1].method) == ("rcit", "fisherz")
    one, other = (folds.datasets_of(job)[0][0][0] for job in (jobs[0], jobs[1]))
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, folds.datasets_of(jobs[2])[0][0][0])


@pytest.mark.parametrize("name", ["sample-size", "dimensionality", "calibration"])
def test_quick_run_makes_rows_table_and_picture(
    name: str,
    generator: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(folds, "QUICK_DATASETS", 2)
    monkeypatch.setattr(calibration, "QUICK_DATASETS", 3)
    monkeypatch.setattr(calibration, "QUICK_DIMENSIONS", (0, 3))
    monkeypatch.setattr(calibration, "STREAMS", ("training", "steps"))
    assert run_experiment(name, "fisherz,rcit", quick=True, out=tmp_path) == 0
    printed = capsys.readouterr().out
    assert "fisherz" in printed
    assert "NOTE" not in printed
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    rows = pd.read_csv(tmp_path / f"{name}.csv")
    assert rows["error"].isna().all()
    # The rows are there now: a second run only reports.
    before = (tmp_path / f"{name}.csv").read_bytes()
    reported: list[int] = []

    def report(rows: pd.DataFrame, picture: Path) -> str:
        reported.append(len(rows))
        return ""

    monkeypatch.setitem(EXPERIMENTS, name, replace(EXPERIMENTS[name], report=report))
    assert run_experiment(name, "fisherz,rcit", quick=True, out=tmp_path) == 0
    assert reported == [len(rows)]
    assert (tmp_path / f"{name}.csv").read_bytes() == before


def test_a_setting_with_a_failed_fold_is_left_out() -> None:
    scores = [
        {"d_z": d_z, "method": "rcit", "fold": fold, "seconds_per_test": 0.1}
        | dict.fromkeys(METRICS, 0.5)
        for d_z in (3, 10)
        for fold in range(5)
    ]
    summary = folds.summarise(pd.DataFrame(scores[:-1]), "d_z")
    assert summary["d_z"].tolist() == [3]
    assert summary["auc"].tolist() == [0.5]


def test_calibration_tells_tests_which_columns_are_categories() -> None:
    setting = (("stream", "some-categories"), ("n", 100), ("d_z", 2), ("datasets", 5))
    results = calibration.run(Job("calibration", "acid", setting, seed=1))
    drawn = acid_causal.synthetic.null_datasets("some-categories", 5, 100, 2, 1)
    assert drawn.categorical is not None
    pvalues = [
        ci_test(x.numpy(), y.numpy(), z.numpy(), categorical=kinds.nonzero()[:, 0].tolist()).pvalue
        for x, y, z, kinds in zip(drawn.x, drawn.y, drawn.z, drawn.categorical, strict=True)
    ]
    assert results["type_1_at_10"] == np.mean(np.array(pvalues) < 0.1)
    stored = [float(quantile) for quantile in str(results["quantiles"]).split()]
    assert stored == pytest.approx(np.quantile(pvalues, calibration.PROBABILITIES), rel=1e-3)


def test_the_checked_null_has_every_stream_of_calibration_at_one_n() -> None:
    jobs = calibration.CALIBRATION.jobs(["acid-checked"], False)
    cells = {(job["stream"], job["n"], job["d_z"]) for job in jobs}
    assert cells == {
        (stream, calibration.CHECKED_N, d_z)
        for stream in calibration.STREAMS
        for d_z in calibration.CHECKED_DIMENSIONS
    }


def test_calibration_of_a_uniform_pvalue(generator: None) -> None:
    setting = (("stream", "training"), ("n", 50), ("d_z", 2), ("datasets", 400))
    results = calibration.run(Job("calibration", "fisherz", setting, seed=1))
    # The stand-in's datasets are Gaussian, where Fisher-z is exact: binomial bounds, 4 sigma.
    assert abs(float(results["type_1_at_05"] or 0) - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 400)
    assert float(results["ks_distance"] or 1) < 1.95 / np.sqrt(400)
    quantiles = [float(quantile) for quantile in str(results["quantiles"]).split()]
    assert len(quantiles) == len(calibration.PROBABILITIES)
    assert quantiles == sorted(quantiles)


# ---- Sachs ---------------------------------------------------------------------


def sachs_row(method: str, algorithm: str, transform: str) -> dict[str, str]:
    jobs = graph.SACHS_GRAPH.jobs([method], False)
    wanted = {"algorithm": algorithm, "transform": transform, "rows": "all", "method": method}
    (job,) = [job for job in jobs if wanted.items() <= job.identity().items()]
    row = attempt(graph.SACHS_GRAPH, job, threads=1)
    assert row["error"] == ""
    return row


@pytest.mark.parametrize(
    ("method", "algorithm", "transform", "edges", "f1", "shd"),
    [
        ("empty", "none", "none", "0", 0.0, "17"),
        # Measured before, with causal-learn alone.
        ("fisherz", "pc", "raw", "8", 0.640, "11"),
        ("fisherz", "pc", "log", "7", 0.583, "12"),
        ("fisherz", "pc", "rank-normal", "7", 0.583, "12"),
        ("rcit", "pc", "log", "10", 0.667, "9"),
    ],
)
def test_sachs_rows_are_those_measured_before(
    method: str, algorithm: str, transform: str, edges: str, f1: float, shd: str
) -> None:
    row = sachs_row(method, algorithm, transform)
    assert row["edges"] == edges
    assert float(row["f1_17"]) == pytest.approx(f1, abs=5e-4)
    assert row["cpdag_shd_17"] == shd
    assert row["pag_shd_17"] == ""


def test_fci_rows_have_the_distance_of_pags() -> None:
    row = sachs_row("fisherz", "fci", "raw")
    assert row["pag_shd_17"] == "11"
    assert row["cpdag_shd_17"] == row["dag_shd_strict_17"] == ""


def test_transforms() -> None:
    data = load_sachs().data
    scores = graph.TRANSFORMS["rank-normal"](data)
    np.testing.assert_array_equal(np.argmax(scores, axis=0), np.argmax(data, axis=0))
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(np.exp(graph.TRANSFORMS["log"](data)), data)


def test_the_picture_of_sachs_leads_with_acid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[list[str]] = []
    monkeypatch.setattr(
        graph, "draw_sachs", lambda rows, *_: drawn.append(list(rows["method"].unique()))
    )
    rows, _ = committed(graph.SACHS_GRAPH)
    assert {"acid-checked", "andrey-rcot"} <= set(rows["method"])
    graph.report(rows, tmp_path / "sachs-graph.png")
    another_model = rows.assign(method=rows["method"].replace("acid", "acid:mine"))
    graph.report(another_model, tmp_path / "sachs-graph.png")
    peers = ["kci", "rcit", "fisherz"]
    assert drawn == [["acid", *peers], ["acid:mine", *peers]]


def test_sachs_jobs_and_report(tmp_path: Path) -> None:
    experiment = graph.SACHS_GRAPH
    full = experiment.jobs(experiment.methods, False)
    assert sum(job["rows"] == "all" for job in full) == 1 + 9 * 2 * 3
    assert sum(job["rows"] == "bootstrap" for job in full) == 20 * 6
    jobs = experiment.jobs(["fisherz"], True)
    rows = [attempt(experiment, job, 1) for job in jobs]
    picture = tmp_path / "sachs-graph.png"
    text = experiment.report(frame(rows, experiment.columns), picture)
    lines = [line.split() for line in text.splitlines()]
    assert ["PC", "fisherz", "raw", "8", "0.640", "1.000", "0.471", "11"] in [
        line[:8] for line in lines
    ]
    assert any(line[:3] == ["fisherz", "bootstrap", "3"] for line in lines)
    assert picture.stat().st_size > 10_000
