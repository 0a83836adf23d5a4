"""README's table of results, and what the documents say in words of the committed rows."""

import re

import pytest

from benchmarks.documents import comparison
from benchmarks.experiments.graphs import GRAPHS
from benchmarks.experiments.random_dags import RANDOM_DAGS
from benchmarks.harness.committed import committed


def test_one_row_a_test() -> None:
    lines = comparison.table().splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        f"| {name}" for name in comparison.TESTS
    ]
    assert len(lines[2:]) <= 6
    for line in lines[2:]:
        assert len(re.findall(r"\d+(?:\.\d+)?", line.partition("|")[2])) == 7, line


def test_means_are_those_of_the_rows() -> None:
    rows, _ = committed(RANDOM_DAGS)
    cells = rows[(rows["method"] == "acid") & rows["domain"].isin(comparison.ROUGH)]
    (acid,) = [line for line in comparison.table().splitlines() if line.startswith("| ACID |")]
    assert f"| {cells['auc'].mean():.2f} / {cells['type_1'].mean():.2f} |" in acid


def test_every_domain_is_in_the_table_of_domains() -> None:
    rows, _ = committed(RANDOM_DAGS)
    lines = comparison.by_domain().splitlines()[2:]
    assert {line.split()[0] for line in lines} == set(rows["domain"])
    assert len(lines) == len(comparison.TESTS) * rows["domain"].nunique()


def test_fisher_z_is_the_better_test_on_linear_gaussian_data() -> None:
    """README and limits.md say so."""
    rows, _ = committed(RANDOM_DAGS)
    linear = rows[rows["domain"] == "linear-gaussian"].groupby("method")
    assert linear["auc"].mean()["fisherz"] > linear["auc"].mean()["acid"]
    assert linear["type_2"].mean()["fisherz"] < linear["type_2"].mean()["acid"]


@pytest.mark.parametrize(
    ("peer", "f1_as_high", "shd_smaller"),
    [
        ("fisherz", [], []),
        ("rcit", [], []),
        ("andrey-rcot", [], []),
        ("kcit", [("additive-gp", 10, 500)], [("additive-gp", 20, 200)]),
    ],
)
def test_nonlinear_graphs_are_nearer_the_truth(
    peer: str, f1_as_high: list[tuple[str, int, int]], shd_smaller: list[tuple[str, int, int]]
) -> None:
    """results.md says so, and names the cells where the peer is as good."""
    rows, _ = committed(GRAPHS)
    rows = rows[rows["mechanism"] != comparison.LINEAR]
    cells = ["mechanism", "d", "n"]
    means = rows.pivot_table(index=cells, columns="method", values=["f1", "cpdag_shd"])
    f1, shd = means["f1"].dropna(subset=peer), means["cpdag_shd"].dropna(subset=peer)
    assert f1.index[f1["acid"] <= f1[peer]].tolist() == f1_as_high
    assert shd.index[shd["acid"] >= shd[peer]].tolist() == shd_smaller
    assert f1["acid"].mean() > f1[peer].mean()
    assert shd["acid"].mean() < shd[peer].mean()
