"""The lines that make a graph again, for a shell and for Python."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from acid_causal.discovery.discovery import Discovery
from acid_causal.options import defaults
from acid_causal.options.choices import RESAMPLING
from acid_causal.tables.column_types import CATEGORICAL, ORDERED

# Where the file of the table is not known, as it came from Python.
_ANY_TABLE = "TABLE.csv"


def shell_lines(found: Discovery) -> str:
    """Returns the command that was given, or one that does the same as the run in Python.

    It is empty where no command does, since another test than ACID was used.
    """
    made = found.provenance
    if "command" in made:
        return str(made["command"])
    options = dict(_options(found))
    if "test" in options:
        return ""
    words = ["acid-causal", "discover", _ANY_TABLE]
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        words += [flag] if value is True else [flag, str(value)]
    categorical, ordered = _types(found)
    words += [word for name in categorical for word in ("--categorical", name)]
    words += [word for k, v in ordered.items() for word in ("--ordered", f"{k}={','.join(v)}")]
    known = made["knowledge"]
    if known["tiers"]:
        words += ["--knowledge", "KNOWLEDGE.toml"]
    else:
        for flag in ("forbid", "require"):
            words += [word for a, b in known[flag] for word in (f"--{flag}", f"{a},{b}")]
    return shlex.join(words)


def python_lines(found: Discovery) -> str:
    """Returns a program that reads the table, makes the graph again, and checks the table."""
    made = found.provenance
    columns = [variable["name"] for variable in made["data"]["variables"]]
    known = {key: _tuples(value) for key, value in made["knowledge"].items() if value}
    categorical, ordered = _types(found)
    options = {
        **dict(_options(found)),
        **({"categorical": categorical} if categorical else {}),
        **({"ordered": ordered} if ordered else {}),
    }
    arguments = [f"{key}={value!r}" for key, value in options.items()]
    if known:
        arguments.append("knowledge=known")
    of_known = ", ".join(f"{key}={value!r}" for key, value in known.items())
    imported, table = _reading(made)
    lines = [
        *imported,
        "from acid_causal import discover",
        *(["from acid_causal.discovery.knowledge import Knowledge"] if known else []),
        "",
        f"table = {table}[{columns!r}]",
        *([f"known = Knowledge({of_known})"] if known else []),
        f"found = discover(table, {', '.join(arguments)})",
        f"assert found.provenance['data']['sha256'] == {made['data']['sha256']!r}",
        "print(found)",
    ]
    return "\n".join(lines)


def _reading(made: Mapping[str, Any]) -> tuple[list[str], str]:
    """Returns imports, and an expression that reads the table.

    A file is read as the command has read it: what it finds out of one, such as decimal commas,
    pandas does not.
    """
    if "file" not in made:
        return ["import pandas as pd"], f"pd.read_csv({_ANY_TABLE!r})"
    imported = [
        "from pathlib import Path",
        "from acid_causal.tables.table_file import Format, read_table_file",
    ]
    said = ", ".join(f"{key}={value!r}" for key, value in made["file"]["format"].items())
    return imported, f"read_table_file(Path({made['file']['name']!r}), Format.of({said}))"


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _options(found: Discovery) -> Iterator[tuple[str, Any]]:
    """Yields the options of the run that are the same in Python and in a shell."""
    made = found.provenance
    search, model = made["search"], made["model"]
    yield "method", search["method"]
    yield "alpha", search["alpha"]
    if model["sha256"]:
        yield "model", model.get("file", model["name"])
        yield "null", search["null"]
        # A number of draws is None unless the null draws.
        drawn = ((option, search.get(option)) for option in RESAMPLING.values())
        yield from ((option, count) for option, count in drawn if count is not None)
    else:
        yield "test", model["name"]
    if search["max_size"] is not None:
        yield "max_size", search["max_size"]
    if search["orient"] not in (None, defaults.ORIENT):
        yield "orient", search["orient"]
    if made["data"]["missing_values"]:
        yield "missing", "drop"
    if found.markov is not None:
        yield "check", True
    if made["bootstrap"] is not None:
        sampled = made["bootstrap"]
        yield "bootstrap", sampled["samples"]
        yield from ((name, sampled[name]) for name in ("rows", "fraction", "seed"))


def _types(found: Discovery) -> tuple[list[str], dict[str, list[str]]]:
    """Returns the names of the categories, and the levels of each ordered column."""
    variables = found.provenance["data"]["variables"]
    return (
        [one["name"] for one in variables if one["type"] == CATEGORICAL],
        {one["name"]: one["levels"] for one in variables if one["type"] == ORDERED},
    )
