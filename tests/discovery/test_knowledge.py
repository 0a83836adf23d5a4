"""Background knowledge: how it is written, what contradicts itself, what causal-learn is told."""

import json
import os
import time
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from causallearn.graph.GraphNode import GraphNode

from acid_causal.discovery.knowledge import Knowledge
from acid_causal.errors import InputError, OptionError

KNOWN = Knowledge(
    forbid=(("cancer", "smoking"),),
    require=(("smoking", "tar"),),
    tiers=(("age", "sex"), ("smoking",), ("cancer",)),
)
TOML = """
forbid = [["cancer", "smoking"]]  # no edge cancer -> smoking
require = [["smoking", "tar"]]
tiers = [["age", "sex"], ["smoking"], ["cancer"]]
"""
COLUMNS = ["age", "cancer", "sex", "smoking", "tar"]


def test_files(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(TOML)
    (tmp_path / "known.JSON").write_text(json.dumps(KNOWN.to_dict()))
    assert Knowledge.read(tmp_path / "known.toml") == KNOWN
    assert Knowledge.read(str(tmp_path / "known.JSON")) == KNOWN
    (tmp_path / "nothing").write_text("")
    assert not Knowledge.read(tmp_path / "nothing")
    assert KNOWN


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "forbid = [", "cannot read the knowledge in .*a.toml"),
        ("a.json", "{", "cannot read the knowledge in .*a.json"),
        ("a.toml", "forbidden = []", "unknown key of knowledge 'forbidden'. Did you mean 'forbid'"),
        ("a.toml", "forbid = 'a,b'", "forbid must be a list"),
        ("a.toml", "forbid = ['ab']", "each edge of forbid must be a list"),
        ("a.toml", "forbid = [['a']]", "must be a pair"),
        ("a.toml", "tiers = [[1, 2]]", "1 is none"),
        ("a.json", "[]", "must be a table"),
    ],
)
def test_files_with_mistakes(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises((InputError, OptionError), match=message):
        Knowledge.read(tmp_path / name)
    with pytest.raises(InputError, match="No such file"):
        Knowledge.read(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"forbid": (("a", "a"),)}, "to itself"),
        ({"require": (("a", "b"),), "forbid": (("a", "b"),)}, "required and forbidden at once"),
        ({"require": (("b", "a"),), "tiers": (("a",), ("b",))}, "goes back in the tiers"),
        ({"require": (("a", "b"), ("b", "c"), ("c", "a"))}, "make a cycle: a -> b -> c -> a"),
        ({"require": (("a", "b"), ("b", "a"))}, "make a cycle"),
        ({"tiers": (("a",), ("b", "a"))}, "'a' is in more than one place"),
    ],
)
def test_contradictions(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Knowledge(**parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"require": ("a", "b")}, "each edge of require must be a list, not 'a'"),
        ({"forbid": [("a", "b", "c")]}, r"each edge of forbid must be a pair \[from, to\]"),
        ({"forbid": [{"a", "b"}]}, "each edge of forbid must be a list, not {"),
        ({"forbid": [("a", 1)]}, "each edge of forbid must be a list of names, and 1 is none"),
        ({"tiers": ["age", "smoking"]}, "a tier must be a list, not 'age'"),
        ({"tiers": "age"}, "tiers must be a list, not 'age'"),
        ({"tiers": {("a",), ("b",)}}, "tiers must be a list, not {"),
        ({"tiers": {"age": 1}}, "tiers must be a list, not {'age': 1}"),
        ({"forbid": None}, "forbid must be a list, not None"),
    ],
)
def test_what_is_built_in_python_is_checked(parts: dict[str, Any], message: str) -> None:
    for build in (Knowledge, lambda **given: Knowledge.from_dict(given)):
        with pytest.raises(InputError, match=message):
            build(**parts)


@pytest.mark.parametrize(
    "parts",
    [
        KNOWN.to_dict(),
        {
            "forbid": {("cancer", "smoking")},
            "require": np.array([["smoking", "tar"]]),
            "tiers": [pd.Index(["age", "sex"]), {"smoking"}, ["cancer"]],
        },
        {
            "forbid": (pair for pair in KNOWN.forbid),
            "require": [["smoking", "tar"]],
            "tiers": [{"sex", "age"}, ("smoking",), dict.fromkeys(["cancer"]).keys()],
        },
    ],
)
def test_any_collections_become_tuples_of_texts(parts: dict[str, Any]) -> None:
    built = Knowledge(**parts)
    assert built == KNOWN
    assert hash(built) == hash(KNOWN)
    assert {type(name) for tier in built.tiers for name in tier} == {str}
    assert built.forbids("cancer", "smoking")
    assert built.requires("tar", "smoking")
    assert (built | Knowledge(forbid=(("x", "y"),))).forbid[-1] == ("x", "y")


def test_names_are_checked() -> None:
    KNOWN.check(COLUMNS)
    with pytest.raises(OptionError, match=r"'smoking'.*Did you mean 'smokes'"):
        KNOWN.check(["age", "sex", "cancer", "tar", "smokes"])


def test_joining() -> None:
    more = Knowledge(forbid=(("a", "b"),))
    assert (KNOWN | more).forbid == (("cancer", "smoking"), ("a", "b"))
    with pytest.raises(InputError, match="only one"):
        _ = KNOWN | KNOWN
    with pytest.raises(InputError, match="at once"):
        _ = more | Knowledge(require=(("a", "b"),))


def test_what_it_says() -> None:
    assert KNOWN.forbids("cancer", "age")
    assert not KNOWN.forbids("age", "cancer")
    assert KNOWN.forbids("tar", "smoking")  # as the other direction is required
    assert KNOWN.requires("tar", "smoking")
    assert not KNOWN.keeps_apart("age", "sex")
    both = Knowledge(forbid=(("a", "b"), ("b", "a")))
    assert both.keeps_apart("a", "b")
    assert Knowledge(forbid=(("b", "c"),), tiers=(("b",), ("c",))).keeps_apart("c", "b")


def test_causal_learn_is_told_the_same() -> None:
    told = KNOWN.to_causal_learn(COLUMNS)
    assert told is not None
    nodes = {name: GraphNode(name) for name in COLUMNS}
    for a, b in permutations(COLUMNS, 2):
        required = told.is_required(nodes[a], nodes[b])
        assert required == ((a, b) in KNOWN.require)
        assert told.is_forbidden(nodes[a], nodes[b]) == (
            KNOWN.forbids(a, b) and (b, a) not in KNOWN.require
        )
    assert Knowledge().to_causal_learn(COLUMNS) is None


# ---- files that someone else made --------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("k.json", '{"forbid": [["a", "b"]], "forbid": []}', "the key 'forbid' is given 2 times"),
        ("k.toml", "forbid = []\nforbid = []", "Cannot overwrite a value"),
        ("k.json", "[" * 100_000, "lists within lists without end"),
        ("k.json", '{"tiers": [[' + "[" * 500 + "]" * 500 + "]]}", "must be a list of names"),
        ("k.json", '{"tiers": "' + "a" * 100_000 + '"}', "tiers must be a list, not 'aaa"),
        ("k.toml", "/knowledge\nforbiddirect\na", "'a' is not a valid line in this section"),
        ("k.toml", "/knowledge\nrequiredgroup\na b", "Tetrad's requiredgroup is not read"),
        ("k.toml", "/knowledge\naddtemporal\nx y", "a tier begins with its number, not 'x'"),
    ],
)
def test_files_that_are_no_knowledge(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        Knowledge.read(tmp_path / name)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def test_pipes_never_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "k.toml")
    with pytest.raises(InputError, match=r"k\.toml': it is a pipe or a device"):
        Knowledge.read(tmp_path / "k.toml")


def test_many_names_take_no_time(tmp_path: Path) -> None:
    names = [f"x{k}" for k in range(10_000)]
    arrows = [[a, b] for a, b in pairwise(names)]
    (tmp_path / "k.json").write_text(json.dumps({"require": arrows, "tiers": [[n] for n in names]}))
    start = time.process_time()
    known = Knowledge.read(tmp_path / "k.json")
    with pytest.raises(OptionError, match="unknown column in the knowledge: 'x0'"):
        known.check(["a", "b"])
    assert known.requires("x1", "x2")
    assert known.forbids("x2", "x0")
    assert time.process_time() - start < 10


def test_a_file_of_tetrad(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    path.write_text(
        "/knowledge\n\naddtemporal\n1* age sex\n2- tar\n3 smoking\n4 cancer\n\n"
        "forbiddirect\nage cancer\n\nrequiredirect\nsmoking  cancer\n"
    )
    assert Knowledge.read(path) == Knowledge(
        forbid=(("age", "sex"), ("sex", "age"), ("age", "cancer"), ("tar", "cancer")),
        require=(("smoking", "cancer"),),
        tiers=(("age", "sex"), ("tar",), ("smoking",), ("cancer",)),
    )
