"""No file of the project mentions a file that is not in it.

Looked at are documents, and docstrings and comments of code. A mention is a name that ends like a
file of a project: .py, .md, .toml, .csv, .png and so on.
"""

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("acid_causal", "benchmarks", "docs", "examples", "tests")
FILES = [
    path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*"))
    if path.is_file() and "__pycache__" not in path.parts
] + [path for path in sorted(ROOT.iterdir()) if path.is_file()]
NAMES = {path.name for path in FILES}
DOCUMENTS = [path for path in FILES if path.suffix in (".md", ".cff")]
CODE = [path for path in FILES if path.suffix == ".py"]

MENTION = re.compile(
    r"(?<![\w./<-])[\w./-]*\w\.(?:py|md|toml|cfg|cff|yml|yaml|csv|png|css)\b(?!\w)"
)
# Files that a reader has, or that a command writes; and names in capitals stand for any file.
USERS = {
    "data.csv",
    "your-table.csv",
    "known.toml",
    "recipe.toml",
    "graph.png",
    "edges.csv",
    "sepsets.csv",
    "README-index.md",
}


def mentions(text: str) -> set[str]:
    return {
        name
        for name in MENTION.findall(text)
        if name not in USERS and not _is_placeholder(name.rpartition("/")[2])
    }


def _is_placeholder(name: str) -> bool:
    return name.partition(".")[0].isupper() and name not in NAMES


def missing(text: str, folder: Path) -> set[str]:
    """Returns mentioned files that are neither at that place nor, as a bare name, anywhere."""
    found = set()
    for name in mentions(text):
        places = (folder / name, ROOT / name, ROOT / "acid_causal" / name, ROOT / "tests" / name)
        if not (any(place.exists() for place in places) or ("/" not in name and name in NAMES)):
            found.add(name)
    return found


def prose_of(path: Path) -> str:
    """Returns comments and docstrings of a Python file: strings that are statements."""
    parts, at_start = [], True
    with io.StringIO(path.read_text(encoding="utf-8")) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and at_start):
                parts.append(token.string)
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                at_start = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    return "\n".join(parts)


def test_a_missing_file_is_found() -> None:
    text = "See no-such-file.md and `tests/nowhere.py`, README.md, data.csv, OUT/NAME.csv."
    assert missing(text, ROOT) == {"no-such-file.md", "tests/nowhere.py"}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_mention_files_that_are_there(path: Path) -> None:
    assert missing(path.read_text(encoding="utf-8"), path.parent) == set()


def test_code_mentions_files_that_are_there() -> None:
    absent = {
        str(path.relative_to(ROOT)): names
        for path in CODE
        if (names := missing(prose_of(path), path.parent))
    }
    assert absent == {}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?://)([^)#\s]+)", text)
    assert [link for link in links if not (path.parent / link).exists()] == []
