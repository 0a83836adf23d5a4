"""Models trained on one kind of links and tested on another: jobs, rows and heat maps."""

from pathlib import Path

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from acid_causal.weights.checkpoint import TrainedModel
from benchmarks.command_line import run_experiment
from benchmarks.experiments import nonlinearity
from benchmarks.harness import folds
from benchmarks.metrics.ci_metrics import METRICS
from benchmarks.pictures import heat_maps


def test_every_model_is_tested_on_every_mechanism() -> None:
    jobs = nonlinearity.NONLINEARITY.jobs(nonlinearity.METHODS, False)
    assert len(jobs) == 7 * 4 * 3 * 5
    for model in nonlinearity.MODELS:
        tested = {(j["mechanism"], j["d_z"]) for j in jobs if j.method == model}
        assert tested == {(f"mlp{k:02d}", d) for k in (8, 16, 32, 64) for d in (5, 10, 20)}
    assert {j["n"] for j in jobs} == {200}
    quick = nonlinearity.NONLINEARITY.jobs(nonlinearity.METHODS, True)
    assert {j["d_z"] for j in quick} == {10}


def test_datasets_differ_between_mechanisms_and_not_between_methods() -> None:
    jobs = nonlinearity.NONLINEARITY.jobs(["acid", "fisherz"], True)
    drawn = {
        (j.method, j["mechanism"]): folds.datasets_of(j)[0][0][0].tobytes()
        for j in jobs
        if j["fold"] == 0
    }
    assert drawn["acid", "mlp08"] == drawn["fisherz", "mlp08"]
    assert len({drawn["acid", mechanism] for mechanism in nonlinearity.MECHANISMS}) == 4


def test_quick_run_of_two_models(
    tiny_model: TrainedModel,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(folds, "QUICK_DATASETS", 2)
    monkeypatch.setattr(nonlinearity, "MAIN_DIMENSION", 3)  # within the range of the tiny model
    monkeypatch.setattr(nonlinearity, "MECHANISMS", ("mlp08", "mlp64"))
    monkeypatch.setattr(nonlinearity, "N", 60)
    paths = [tmp_path / f"acid-{mechanism}.safetensors" for mechanism in ("mlp08", "mlp64")]
    for path in paths:
        tiny_model.save(path)
    methods = ",".join([*(f"acid:{path}" for path in paths), "fisherz"])
    assert run_experiment("nonlinearity", methods, quick=True, out=tmp_path) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    tested = [line[1] for line in lines if line[:1] == ["fisherz"]]
    assert tested == ["mlp08", "mlp64"]
    rows = pd.read_csv(tmp_path / "nonlinearity.csv")
    assert rows["error"].isna().all()
    assert rows.loc[rows["method"] != "fisherz", "weights_sha256"].str.len().eq(64).all()
    assert (tmp_path / "nonlinearity.png").stat().st_size > 10_000


def summary(methods: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"method": method, "mechanism": mechanism, **dict.fromkeys(METRICS, value)}
            for method in methods
            for mechanism, value in (("mlp08", 0.97), ("mlp16", 0.21))
        ]
    )


def test_heat_maps_frame_a_model_on_its_own_mechanism(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panels: list[Axes] = []
    draw = heat_maps._draw_panel

    def watched(panel: Axes, table: pd.DataFrame, metric: str) -> None:
        draw(panel, table, metric)
        panels.append(panel)

    monkeypatch.setattr(heat_maps, "_draw_panel", watched)
    tables = summary(["acid:acid-mlp16", "kcit"])
    heat_maps.draw_heat_maps(tables, "d_z = 10", tmp_path / "maps.png")
    for panel in panels:
        (frame,) = panel.patches
        assert isinstance(frame, Rectangle)
        assert frame.get_xy() == (0.54, -0.46)  # column mlp16, row acid-mlp16
        assert sorted(text.get_text() for text in panel.texts) == ["0.21", "0.21", "0.97", "0.97"]
        labels = [label.get_text() for label in panel.get_yticklabels()]
        assert labels in ([], ["ACID (acid-mlp16)", "KCI"])
    assert len(panels) == 4
    assert [bool(panel.get_yticklabels()) for panel in panels] == [True, False] * 2


def test_report_gives_other_dimensions_by_auc(tmp_path: Path) -> None:
    folds = [
        {"d_z": d_z, "mechanism": mechanism, "method": method, "fold": k, "datasets": 40}
        | {"seconds_per_test": 0.1}
        | dict.fromkeys(METRICS, 0.5 + d_z / 100)
        for method in ("kcit", "fisherz")
        for d_z in (5, 10)
        for mechanism in nonlinearity.MECHANISMS
        for k in range(5)
    ]
    text = nonlinearity.report(pd.DataFrame(folds), tmp_path / "nonlinearity.png")
    lines = [line.split() for line in text.splitlines()]
    assert ["5", "kcit", *["0.550"] * 4] in lines
    assert ["10", "fisherz", *["0.600"] * 4] in lines
    assert sum(line[:1] == ["kcit"] for line in lines) == 4  # only d_z = 10 in full
