"""Examples of documents are run, and what they print is written below them."""

import os
from pathlib import Path

import pytest

from acid_causal.errors import OptionError
from benchmarks.documents.examples import with_outputs


def test_outputs_are_written_anew(tmp_path: Path) -> None:
    text = "A\n```python\nx = 2\n```\nB\n```python\nprint(x)\n```\n\n```text\nstale\n```\nC\n"
    assert with_outputs(text, tmp_path) == text.replace("stale", "2")


def test_other_text_is_left_alone(tmp_path: Path) -> None:
    text = "```text\n1\n```\n\n```bash\nls\n```\n"
    assert with_outputs(text, tmp_path) == text


def test_an_output_that_is_not_shown_is_told(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="prints 'hello\\\\n', and no block of text follows"):
        with_outputs("```python\nprint('hello')\n```\n", tmp_path)


def test_examples_run_in_the_folder_and_find_the_table(tmp_path: Path) -> None:
    here = os.getcwd()
    text = "```python\nprint(open('data.csv').readline())\n```\n\n```text\n```\n"
    assert "id,X,Y,A,B" in with_outputs(text, tmp_path)
    assert os.getcwd() == here
