import hashlib

import networkx as nx
import numpy as np
import pytest

from acid_causal.data import sachs as datasets
from acid_causal.data.sachs import load_sachs
from acid_causal.errors import InputError, OptionError


def test_table_is_the_published_one() -> None:
    sachs = load_sachs()
    assert sachs.data.shape == (853, 11)
    assert sachs.data.dtype == np.float64
    assert sachs.columns[:2] == ("Raf", "Mek")
    assert sachs.columns[-1] == "Jnk"
    np.testing.assert_array_equal(sachs.data[0, :4], [26.4, 13.2, 8.82, 18.3])
    assert sachs.data.min() == 1.0


def test_digests_are_those_of_the_reference_copies() -> None:
    # Written out here too: a changed file with an equally changed SHA256 must not pass.
    expected = {"observational": "c6f109d1", "consensus_17": "1164297a", "consensus_20": "403363bc"}
    for name, start in expected.items():
        content = (datasets.DIRECTORY / f"sachs_{name}.csv").read_bytes()
        assert hashlib.sha256(content).hexdigest().startswith(start)
        assert datasets.SHA256[f"sachs_{name}.csv"].startswith(start)


@pytest.mark.parametrize("edges", [17, 20])
def test_consensus_networks_are_acyclic(edges: int) -> None:
    sachs = load_sachs()
    graph = sachs.graph(edges)  # type: ignore[arg-type]
    assert graph.number_of_edges() == edges
    assert tuple(graph.nodes) == sachs.columns
    assert nx.is_directed_acyclic_graph(graph)


def test_consensus_networks_differ_where_the_literature_says() -> None:
    sachs = load_sachs()
    assert ("PIP2", "PKC") in sachs.consensus_20
    assert ("PIP2", "PKC") not in sachs.consensus_17
    assert ("Raf", "Mek") in set(sachs.consensus_17) & set(sachs.consensus_20)


@pytest.mark.usefixtures("wrong_types")
def test_unknown_consensus_network() -> None:
    with pytest.raises(OptionError, match="consensus edges 18"):
        load_sachs().graph(18)  # type: ignore[arg-type]


def test_damage_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(datasets.SHA256, "sachs_consensus_17.csv", "0" * 64)
    with pytest.raises(InputError, match=r"sachs_consensus_17\.csv is damaged.*expected 0000"):
        load_sachs()


def test_loaded_table_is_the_callers_own() -> None:
    load_sachs().data[0, 0] = -1.0
    assert load_sachs().data[0, 0] == 26.4
