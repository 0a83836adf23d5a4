"""What a prompt and a notebook show of a discovery: a few lines, whatever its size."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from acid_causal.discovery.discovery import Discovery, discover
from acid_causal.discovery.evidence import Edge
from acid_causal.weights.checkpoint import TrainedModel


@pytest.fixture
def found(table: np.ndarray) -> Discovery:
    return discover(pd.DataFrame(table, columns=["a", "b", "<c>", "d", "e", "f"]))


def test_a_few_lines(found: Discovery) -> None:
    lines = repr(found).splitlines()
    assert lines[0] == f"PC at level 0.05: 6 variables, {len(found.edges)} edges, 0 warnings"
    assert lines[1] == f"  {found.edges[0]}  (p = {found.edges[0].pvalue:.2g})"
    many = replace(found, edges=100 * found.edges, warnings=("odd",))
    lines = repr(many).splitlines()
    assert lines[0].endswith("1 warning")
    assert lines[-1] == f"  and {100 * len(found.edges) - 5} more"
    assert len(lines) == 7
    assert len(repr(many)) < 500


def test_a_table_in_a_notebook(found: Discovery) -> None:
    edge = Edge("<c>", "a", "-->", 0.01234, (), 3, confidence=0.5)
    html = replace(found, edges=(edge,))._repr_html_()
    assert "<td>&lt;c&gt; --&gt; a</td><td>0.012</td><td>0.50</td>" in html
    assert "more" not in html
    assert "<p>and 70 more</p>" in replace(found, edges=100 * (edge,))._repr_html_()
    assert "<table>" not in replace(found, edges=())._repr_html_()


def test_the_whole_is_there_when_printed(found: Discovery) -> None:
    assert str(found).splitlines() == [str(edge) for edge in found.edges]


def test_other_objects_are_shown_in_a_line(table: np.ndarray, tiny_model: TrainedModel) -> None:
    from acid_causal import ACID, load_sachs

    for shown in (load_sachs(), tiny_model, ACID(table, model=tiny_model)):
        assert "\n" not in repr(shown)
        assert 20 < len(repr(shown)) < 200
    assert repr(load_sachs()).startswith("Sachs(853 rows, 11 columns: Raf, ")
    assert "'tiny'" in repr(tiny_model)
    assert "n = 20 to 200, |Z| = 0 to 5" in repr(tiny_model)
