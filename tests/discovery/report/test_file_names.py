"""An earlier run's files are known from others of the same names."""

from pathlib import Path

import pytest
from graph_cases import made_discovery

from acid_causal.discovery.report.file_names import holds_results
from acid_causal.discovery.report.graph_files import write_graph_files


def test_results_of_an_earlier_run(tmp_path: Path) -> None:
    assert not holds_results(tmp_path)
    write_graph_files(made_discovery(["a", "b"], [(0, 1, "-->")]), tmp_path)
    assert holds_results(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"format": "another"}', b"\xff\xfe"])
def test_other_files_of_that_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "graph.json").write_bytes(content)
    assert not holds_results(tmp_path)
