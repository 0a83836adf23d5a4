"""The figures in public docstrings are those of the committed rows."""

from typing import Any

import pandas as pd
import pytest

import acid_causal.pgmpy
import acid_causal.tigramite
from acid_causal import ACID, Tester, ci_test, discover, finetune, load_sachs
from benchmarks.experiments import EXPERIMENTS
from benchmarks.experiments.sachs.edges import ALPHA, edges
from benchmarks.harness.committed import committed


def rows(experiment: str, **setting: Any) -> pd.DataFrame:
    """Returns the default model's rows of some settings."""
    found, _ = committed(EXPERIMENTS[experiment])
    found = found[found["method"] == "acid"]
    for name, value in setting.items():
        found = found[found[name] == value]
    assert len(found)
    return found


def says(documented: Any, text: str) -> bool:
    return text in " ".join(documented.__doc__.split())


def test_type_1_errors() -> None:
    errors = rows("calibration").query("d_z <= 10")["type_1_at_05"]
    mean, worst = (f"{value:.2f}".removeprefix("0") for value in (errors.mean(), errors.max()))
    assert says(ci_test, f"rejects {mean} of the independent questions at .05, and {worst} in")
    (products,) = rows("consistency", case="products", n=200, d_z=4)["type_1"]
    assert says(ci_test, f"with 200 rows .{100 * products:.0f} are rejected")


def test_costs() -> None:
    (long,) = rows("speed", task="test", n=1_000_000).itertuples()
    assert 60 < long.seconds_per_test < 90
    assert says(Tester, "a minute or more of one core, and 2 GiB")
    assert long.peak_mib < 2048
    (single,) = rows("speed", task="test", n=1000, size=5)["seconds_per_test"]
    assert says(
        acid_causal.tigramite.ACID, f"{single:.1f}".removeprefix("0") + " s with 1,000 rows"
    )
    runs = rows("speed", task="pc", n=1000, size=20).set_index("mode")["search_seconds"]
    ratio = f"{runs['no prefetch'] / runs['default']:.0f}"
    assert says(ACID, f"takes {ratio} times as long")
    assert says(acid_causal.pgmpy.ACID, f"divides the time by {ratio}")


@pytest.mark.parametrize("n", [200, 1000])
def test_graphs(n: int) -> None:
    found = rows("graphs", d=10, n=n).query("mechanism != 'linear'")["f1"].mean()
    assert says(discover, f"{found:.2f}".removeprefix("0") + f" with {n:,}")


@pytest.mark.parametrize("method", ["acid", "acid:acid-ranks"])
def test_finetuning(method: str) -> None:
    found, _ = committed(EXPERIMENTS["finetuning"])
    found = found[(found["method"] == method) & (found["questions"] == "table")]
    before, after = (found[found["steps"] == steps].mean(numeric_only=True) for steps in (0, 500))
    errors = (f"{mean['type_1']:.2f}".removeprefix("0") for mean in (before, after))
    assert says(finetune, "fell from {} to {}".format(*errors))
    assert says(finetune, f"AUC rose by .{1000 * (after['auc'] - before['auc']):03.0f}")
    if method == "acid":
        assert says(finetune, f"took {after['finetuning_seconds'] / 60:.0f} minutes")


def test_edges_without_a_trace() -> None:
    found = edges(committed(EXPERIMENTS["sachs-edges"])[0])
    smallest = found[found["in_network"]].groupby(["x", "y"])["p_marginal"].min()
    unseen = (smallest >= ALPHA).sum()
    assert says(load_sachs, f"{len(smallest)} edges {unseen} leave no trace")
