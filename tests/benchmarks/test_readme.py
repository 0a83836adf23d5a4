"""README's numbers are the committed results', byte for byte."""

import pytest

from benchmarks.readme import DOCUMENTS, fill


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_tables_are_those_of_the_committed_results(document, tmp_path):
    text = document.read_text(encoding="utf-8")
    assert fill(text, tmp_path) == text


def test_readme_has_tables():
    assert DOCUMENTS[0].read_text(encoding="utf-8").count("<!-- results: ") >= 2
