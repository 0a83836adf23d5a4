"""`sachs-edges`: which pairs are shown, in which order, and what is said of them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from acid_causal.data.sachs import load_sachs
from benchmarks.experiments.sachs import edges
from benchmarks.harness.committed import committed
from benchmarks.harness.jobs import Job


def of_pair(method: str, x: str, y: str) -> Job:
    return Job("sachs-edges", method, (("x", x), ("y", y)), seed=0)


def rows_of(
    pvalues: dict[tuple[str, str], tuple[float, float]], method: str
) -> list[dict[str, object]]:
    return [
        {
            **dict(job.setting),
            "method": method,
            "given": "Akt",
            **dict(
                zip(
                    ("p_marginal", "p_given_one"),
                    pvalues.get((str(job["x"]), str(job["y"])), (0.6, 0.7)),
                    strict=True,
                )
            ),
        }
        for job in edges.make_jobs([method], quick=False)
    ]


def test_each_pair_is_asked_once() -> None:
    jobs = edges.make_jobs(["acid", "fisherz"], quick=True)
    assert len(jobs) == 2 * 55
    assert len({(job["x"], job["y"]) for job in jobs}) == 55


def test_p_values_are_those_of_the_questions() -> None:
    """Fisher-z by hand: the marginal correlation, and the partial ones given each third protein."""
    sachs = load_sachs()
    found = edges.run(of_pair("fisherz", "Raf", "PKC"))
    correlation = np.corrcoef(np.log(sachs.data).T)
    i, j = sachs.columns.index("Raf"), sachs.columns.index("PKC")

    def pvalue(r: float, d_z: int) -> float:
        return float(2 * norm.sf(abs(np.arctanh(r)) * np.sqrt(len(sachs.data) - d_z - 3)))

    given = {
        name: pvalue(
            (correlation[i, j] - correlation[i, k] * correlation[j, k])
            / np.sqrt((1 - correlation[i, k] ** 2) * (1 - correlation[j, k] ** 2)),
            1,
        )
        for k, name in enumerate(sachs.columns)
        if k not in (i, j)
    }
    assert found["p_marginal"] == pytest.approx(pvalue(correlation[i, j], 0))
    assert found["p_given_one"] == pytest.approx(max(given.values()))
    assert found["given"] == max(given, key=lambda name: given[name])


def test_shown_are_the_network_and_what_some_test_keeps(tmp_path: Path) -> None:
    """acid keeps two edges and a pair outside; Fisher-z one edge, and loses one given a protein."""
    low = (1e-9, 1e-9)
    acid = {("Raf", "Mek"): low, ("Erk", "Akt"): low, ("P38", "Jnk"): low}
    fisherz = {("Erk", "Akt"): low, ("PIP2", "PIP3"): (1e-9, 0.4)}
    rows = pd.DataFrame(rows_of(acid, "acid") + rows_of(fisherz, "fisherz"))
    shown = edges.edges(rows)
    pairs = list(dict.fromkeys(zip(shown["x"], shown["y"], strict=True)))
    assert pairs[:2] == [("Erk", "Akt"), ("Raf", "Mek")]
    assert pairs[-1] == ("P38", "Jnk")
    assert len(pairs) == 18
    assert len(shown) == 36
    text = edges.report(rows, tmp_path / "edges.png")
    assert (tmp_path / "edges.png").stat().st_size > 10_000
    assert "without any conditioning set: 14 of 17 edges (p >= 0.6): Raf - PKA" in text
    assert "acid: keeps 2 of 17 edges, and 1 besides: F1 0.200" in text
    assert "fisherz: keeps 1 of 17 edges, and 0 besides: F1 0.111" in text


def test_a_failed_row_is_a_dash(tmp_path: Path) -> None:
    rows = pd.DataFrame(rows_of({}, "acid") + rows_of({}, "fisherz"))
    failed = (rows["method"] == "fisherz") & (rows["x"] == "Raf") & (rows["y"] == "Mek")
    text = edges.report(rows[~failed], tmp_path / "edges.png")
    (line,) = [line for line in text.splitlines() if line.startswith("Raf - Mek")]
    assert line.split()[-4:] == ["0.6", "–", "0.7", "–"]


def test_some_edges_are_out_of_reach_of_every_test() -> None:
    """The document of results says that without a conditioning set no test sees them."""
    rows, absent = committed(edges.SACHS_EDGES)
    assert not absent
    shown = edges.edges(rows)
    network = shown[shown["in_network"]]
    smallest = network.groupby(["x", "y"])["p_marginal"].min()
    assert (smallest >= 0.05).sum() == 8
    kept = network.groupby("method")["kept"].sum().to_dict()
    del kept["acid"]  # the other tests' figures do not change with the weights
    assert kept == {"kcit": 9, "rcit": 9, "fisherz": 7}
    extra = shown[(shown["x"] == "P38") & (shown["y"] == "Jnk")].set_index("method")["kept"]
    assert extra.to_dict().items() >= {"kcit": True, "rcit": True, "fisherz": False}.items()
