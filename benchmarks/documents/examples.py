"""Runs the examples in documents, and writes below them what they print.

A block of Python may be followed by a block of text with its output. The blocks of a document run
one after another in one namespace, as a reader would type them, in a folder that holds only
`data.csv`.
"""

import contextlib
import io
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from acid_causal.errors import OptionError

_EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


def with_outputs(text: str, folder: Path) -> str:
    """Runs the examples of a document and returns it with their present output.

    Args:
        text: The document.
        folder: An empty folder, in which the examples run.

    Raises:
        OptionError: An example prints something, and no block of text follows it.
    """
    namespace: dict[str, object] = {}

    def run(match: re.Match[str]) -> str:
        code, shown = match[1], match[2]
        printed = _run(code, namespace)
        if shown is None and printed:
            raise OptionError(
                f"an example prints {printed!r}, and no block of text follows it:\n{code}"
            )
        output = "" if shown is None else f"\n```text\n{printed}```\n"
        return f"```python\n{code}```\n{output}"

    if not _EXAMPLE.search(text):
        return text
    with contextlib.chdir(folder):
        write_data(folder / "data.csv")
        return _EXAMPLE.sub(run, text)


def _run(code: str, namespace: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "<example>", "exec"), namespace)
    return printed.getvalue()


def write_data(path: Path) -> None:
    """Writes the table that the documents call `data.csv`: 200 rows of the columns id, X, Y, A, B.

    A and B cause X, and X causes Y.
    """
    rng = np.random.default_rng(0)
    a, b, *noise = rng.normal(size=(4, 200))
    x = np.sin(a) + b + 0.5 * noise[0]
    y = x**2 + 0.5 * noise[1]
    frame = pd.DataFrame({"id": np.arange(200), "X": x, "Y": y, "A": a, "B": b})
    frame.to_csv(path, index=False)
