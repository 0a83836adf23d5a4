"""README's examples run, and print what README says they print."""

import contextlib
import io
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from acid_causal.cli import app

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)
COMMANDS = sorted(set(re.findall(r"acid-causal ([a-z]+)", README)))


def test_there_are_examples():
    assert len(EXAMPLES) >= 2
    assert {"train", "calibrate", "test", "models"} <= set(COMMANDS)


def test_examples_print_what_readme_says():
    """In one namespace, as a reader would type them one after another."""
    namespace: dict[str, object] = {}
    for code, expected in EXAMPLES:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        assert printed.getvalue() == expected


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_exist(command):
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0, result.output
