"""Background knowledge: required and forbidden edges, and tiers in temporal order.

A knowledge file is TOML or JSON, with any of these three keys:

    forbid  = [["cancer", "smoking"]]                      # no edge cancer -> smoking
    require = [["smoking", "cancer"]]                      # an edge smoking -> cancer
    tiers   = [["age", "sex"], ["smoking"], ["cancer"]]    # no later tier causes an earlier one

To forbid any edge between two variables, forbid both directions. Tetrad's knowledge files, which
begin with /knowledge, are read, too.
"""

import json
import reprlib
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx

from acid_causal.discovery.tetrad import is_tetrad, read_tetrad
from acid_causal.errors import InputError, unknown
from acid_causal.files import read_bytes, user_path

if TYPE_CHECKING:
    from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge

Arrow = tuple[str, str]

# Larger than any knowledge file about thousands of variables.
_MOST_BYTES = 20_000_000


@dataclass(frozen=True)
class Knowledge:
    """Background knowledge about a graph, by the names of its variables.

    Lists, or other collections of names, serve as well as tuples, which they become.

    How it works: a required edge stays in the graph whatever its p-values, and a pair whose edge is
    forbidden in both directions is separated. Directions that are required, or that a forbidden
    edge or the tiers leave over, are set before all others.

    Limitations: it is not tested against the data. It is about edges only: it cannot say that one
    variable is an ancestor of another. Variables of later tiers may be in conditioning sets.

    Attributes:
        forbid: pairs (a, b) without an edge a -> b; there may be an edge b -> a.
        require: pairs (a, b) with an edge a -> b, whatever the data say.
        tiers: ordered groups of variables; a later group never causes an earlier one.

    Raises:
        InputError: a part is no list of what it should hold, or the parts contradict one another.
    """

    forbid: tuple[Arrow, ...] = ()
    require: tuple[Arrow, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        tiers = _members(self.tiers, "tiers", in_order=True)
        parts = {
            "forbid": _arrows(self.forbid, "forbid"),
            "require": _arrows(self.require, "require"),
            "tiers": tuple(_names(tier, "a tier") for tier in tiers),
        }
        for key, part in parts.items():
            object.__setattr__(self, key, part)  # as the class is frozen
        for a, b in (*self.forbid, *self.require):
            if a == b:
                raise InputError(f"knowledge about an edge from {a!r} to itself makes no sense")
        names = [name for tier in self.tiers for name in tier]
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise InputError(f"{sorted(twice)[0]!r} is in more than one place of the tiers")
        for a, b in self.require:
            if (a, b) in self._forbidden:
                raise InputError(f"the edge {a!r} -> {b!r} is required and forbidden at once")
            if self._goes_back(a, b):
                raise InputError(f"the edge {a!r} -> {b!r} is required and goes back in the tiers")
        required = nx.DiGraph(self.require)
        if not nx.is_directed_acyclic_graph(required):
            cycle = [a for a, _ in nx.find_cycle(required)]
            shown = [*cycle, cycle[0]] if len(cycle) <= 10 else [*cycle[:10], "..."]
            raise InputError(f"the required edges make a cycle: {' -> '.join(shown)}")

    def __bool__(self) -> bool:
        return bool(self.forbid or self.require or self.tiers)

    def __or__(self, other: "Knowledge") -> "Knowledge":
        """Joins two pieces of knowledge; at most one of them may have tiers."""
        if self.tiers and other.tiers:
            raise InputError("only one of two pieces of knowledge may have tiers")
        return Knowledge(
            self.forbid + other.forbid, self.require + other.require, self.tiers + other.tiers
        )

    @classmethod
    def read(cls, path: str | Path) -> "Knowledge":
        """Reads a knowledge file: Tetrad's, JSON if the name ends in .json, or TOML.

        Raises:
            InputError: the file cannot be read, or has invalid content.
            OptionError: an unknown key.
        """
        path = user_path(path)
        try:
            text = read_bytes(path, most=_MOST_BYTES).decode("utf-8-sig")
            if is_tetrad(text):
                content: object = read_tetrad(text)
            elif path.suffix.lower() == ".json":
                content = json.loads(text, object_pairs_hook=_each_key_once)
            else:
                content = tomllib.loads(text)
        except RecursionError as error:
            raise InputError(
                f"cannot read the knowledge in {str(path)!r}: lists within lists without end"
            ) from error
        except (OSError, ValueError) as error:  # ValueError: invalid TOML, JSON or UTF-8
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise InputError(f"cannot read the knowledge in {str(path)!r}: {reason}") from error
        return cls.from_dict(content)

    @classmethod
    def from_dict(cls, content: object) -> "Knowledge":
        """Builds knowledge from the output of `to_dict`, or the content of a knowledge file."""
        if not isinstance(content, Mapping):
            raise InputError(f"knowledge must be a table of lists, not {reprlib.repr(content)}")
        known = [field.name for field in fields(cls)]
        for key in content:
            if key not in known:
                raise unknown("key of knowledge", key, known)
        return cls(**content)

    def to_dict(self) -> dict[str, Any]:
        """Returns plain lists, for JSON."""
        return {
            "forbid": [list(arrow) for arrow in self.forbid],
            "require": [list(arrow) for arrow in self.require],
            "tiers": [list(tier) for tier in self.tiers],
        }

    def check(self, columns: Iterable[str]) -> None:
        """Checks that all names are columns of the table.

        Raises:
            OptionError: a name is not a column; the message has the closest names.
        """
        columns = dict.fromkeys(columns)
        named = [*self.forbid, *self.require, *self.tiers]
        for name in dict.fromkeys(name for group in named for name in group):
            if name not in columns:
                raise unknown("column in the knowledge:", name, columns)

    def forbids(self, a: str, b: str) -> bool:
        """Returns whether an edge a -> b is ruled out."""
        return (a, b) in self._forbidden or (b, a) in self._required or self._goes_back(a, b)

    def requires(self, a: str, b: str) -> bool:
        """Returns whether an edge between a and b is required."""
        return (a, b) in self._required or (b, a) in self._required

    def keeps_apart(self, a: str, b: str) -> bool:
        """Returns whether any edge between a and b is ruled out."""
        return self.forbids(a, b) and self.forbids(b, a)

    def pairs(self, are: Callable[[str, str], bool], names: Sequence[str]) -> set[tuple[int, int]]:
        """Lists the pairs of columns that satisfy a predicate.

        Args:
            are: `requires` or `keeps_apart`.
            names: of the columns.
        """
        pairs = combinations(range(len(names)), 2)
        return {(i, j) for i, j in pairs if are(names[i], names[j])}

    def _goes_back(self, a: str, b: str) -> bool:
        tier_of = self._tier_of
        return a in tier_of and b in tier_of and tier_of[a] > tier_of[b]

    # Cached, as a search checks all pairs of columns and a file may have thousands of entries.

    @cached_property
    def _forbidden(self) -> frozenset[Arrow]:
        return frozenset(self.forbid)

    @cached_property
    def _required(self) -> frozenset[Arrow]:
        return frozenset(self.require)

    @cached_property
    def _tier_of(self) -> dict[str, int]:
        return {name: k for k, tier in enumerate(self.tiers) for name in tier}

    def to_causal_learn(self, names: Sequence[str]) -> "BackgroundKnowledge | None":
        """Returns the knowledge in causal-learn's own form; None if there is none.

        Args:
            names: the names of the graph's nodes, as causal-learn is given them.
        """
        if not self:
            return None
        from causallearn.graph.GraphNode import GraphNode
        from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge

        node = {str(name): GraphNode(name) for name in names}
        knowledge = BackgroundKnowledge()
        for a, b in self.forbid:
            knowledge.add_forbidden_by_node(node[a], node[b])
        for a, b in self.require:
            knowledge.add_required_by_node(node[a], node[b])
        for k, tier in enumerate(self.tiers):
            for name in tier:
                knowledge.add_node_to_tier(node[name], k)
        return knowledge


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Builds a JSON object; repeated keys are errors, where Python keeps the last value."""
    for key, count in Counter(key for key, _ in pairs).items():
        if count > 1:
            raise ValueError(f"the key {key!r} is given {count} times")
    return dict(pairs)


def _members(value: object, what: str, *, in_order: bool = False) -> list[object]:
    """Lists the members of a list or another collection.

    Args:
        value: what may be one.
        what: its name in messages.
        in_order: whether the order of its members means something, which those of a set have not.
    """
    refused = (str, bytes, Mapping, *((Set,) if in_order else ()))
    if isinstance(value, refused) or not isinstance(value, Iterable):
        raise InputError(f"{what} must be a list, not {reprlib.repr(value)}")
    # The order of a set changes from run to run.
    return sorted(value, key=repr) if isinstance(value, Set) else list(value)


def _names(value: object, what: str, *, in_order: bool = False) -> tuple[str, ...]:
    names = _members(value, what, in_order=in_order)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"{what} must be a list of names, and {reprlib.repr(name)} is none")
    return tuple(map(str, names))


def _arrows(value: object, key: str) -> tuple[Arrow, ...]:
    arrows = []
    for pair in _members(value, key):
        names = _names(pair, f"each edge of {key}", in_order=True)
        if len(names) != 2:
            raise InputError(
                f"each edge of {key} must be a pair [from, to], not {reprlib.repr(pair)}"
            )
        arrows.append((names[0], names[1]))
    return tuple(arrows)
