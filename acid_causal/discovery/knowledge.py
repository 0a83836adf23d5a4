"""What is known beforehand: edges that must or must not be there, and an order in time.

A file of knowledge is TOML or JSON, with any of these three keys:

    forbid  = [["cancer", "smoking"]]                      # no edge cancer -> smoking
    require = [["smoking", "cancer"]]                      # an edge smoking -> cancer
    tiers   = [["age", "sex"], ["smoking"], ["cancer"]]    # no later tier causes an earlier one

Two variables are kept apart by forbidding both directions.
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx

from acid_causal.errors import InputError, unknown
from acid_causal.files import user_path

if TYPE_CHECKING:
    from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge

Arrow = tuple[str, str]


@dataclass(frozen=True)
class Knowledge:
    """Background knowledge about a graph, by the names of its variables.

    Attributes:
        forbid: pairs (a, b): there is no edge a -> b. The pair may still be adjacent as b -> a.
        require: pairs (a, b): there is an edge a -> b, whatever the data say.
        tiers: groups of variables in their order: a later group never causes an earlier one.

    Raises:
        InputError: the parts contradict one another.
    """

    forbid: tuple[Arrow, ...] = ()
    require: tuple[Arrow, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        for a, b in (*self.forbid, *self.require):
            if a == b:
                raise InputError(f"knowledge about an edge from {a!r} to itself makes no sense")
        names = [name for tier in self.tiers for name in tier]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise InputError(f"{sorted(twice)[0]!r} is in more than one place of the tiers")
        for a, b in self.require:
            if (a, b) in self.forbid:
                raise InputError(f"the edge {a!r} -> {b!r} is required and forbidden at once")
            if self._goes_back(a, b):
                raise InputError(f"the edge {a!r} -> {b!r} is required and goes back in the tiers")
        required = nx.DiGraph(self.require)
        if not nx.is_directed_acyclic_graph(required):
            cycle = [a for a, _ in nx.find_cycle(required)]
            raise InputError(f"the required edges make a cycle: {' -> '.join([*cycle, cycle[0]])}")

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
        """Reads a file of knowledge: JSON if its name ends so, TOML otherwise.

        Raises:
            InputError: the file cannot be read, or says something else.
            OptionError: a key is none of the three.
        """
        path = user_path(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
            is_json = path.suffix.lower() == ".json"
            content = json.loads(text) if is_json else tomllib.loads(text)
        except (OSError, ValueError) as error:  # ValueError: both parsers, and no UTF-8
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise InputError(f"cannot read the knowledge in {str(path)!r}: {reason}") from error
        return cls.from_dict(content)

    @classmethod
    def from_dict(cls, content: object) -> "Knowledge":
        """Reads what `to_dict` gives, or a file of knowledge holds."""
        if not isinstance(content, Mapping):
            raise InputError(f"knowledge must be a table of lists, not {content!r}")
        known = [field.name for field in fields(cls)]
        for key in content:
            if key not in known:
                raise unknown("key of knowledge", key, known)
        return cls(
            _arrows(content.get("forbid", []), "forbid"),
            _arrows(content.get("require", []), "require"),
            tuple(_names(tier, "a tier") for tier in _list(content.get("tiers", []), "tiers")),
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns plain lists, for JSON."""
        return {
            "forbid": [list(arrow) for arrow in self.forbid],
            "require": [list(arrow) for arrow in self.require],
            "tiers": [list(tier) for tier in self.tiers],
        }

    def check(self, columns: Iterable[str]) -> None:
        """Refuses names that are not columns of the table.

        Raises:
            OptionError: with the closest names.
        """
        columns = list(columns)
        named = [*self.forbid, *self.require, *self.tiers]
        for name in dict.fromkeys(name for group in named for name in group):
            if name not in columns:
                raise unknown("column in the knowledge:", name, columns)

    def forbids(self, a: str, b: str) -> bool:
        """Says whether there can be no edge a -> b."""
        return (a, b) in self.forbid or (b, a) in self.require or self._goes_back(a, b)

    def requires(self, a: str, b: str) -> bool:
        """Says whether there must be an edge between a and b."""
        return (a, b) in self.require or (b, a) in self.require

    def keeps_apart(self, a: str, b: str) -> bool:
        """Says whether there can be no edge between a and b."""
        return self.forbids(a, b) and self.forbids(b, a)

    def pairs(self, are: Callable[[str, str], bool], names: Sequence[str]) -> set[tuple[int, int]]:
        """Lists the pairs of columns of which something is known.

        Args:
            are: `requires` or `keeps_apart`.
            names: of the columns.
        """
        pairs = combinations(range(len(names)), 2)
        return {(i, j) for i, j in pairs if are(names[i], names[j])}

    def _goes_back(self, a: str, b: str) -> bool:
        tier_of = {name: k for k, tier in enumerate(self.tiers) for name in tier}
        return a in tier_of and b in tier_of and tier_of[a] > tier_of[b]

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


def _list(value: object, what: str) -> Sequence[object]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InputError(f"{what} must be a list, not {value!r}")
    return value


def _names(value: object, what: str) -> tuple[str, ...]:
    names = _list(value, what)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"{what} must be a list of names, and {name!r} is none")
    return tuple(map(str, names))


def _arrows(value: object, key: str) -> tuple[Arrow, ...]:
    arrows = []
    for pair in _list(value, key):
        names = _names(pair, f"each edge of {key}")
        if len(names) != 2:
            raise InputError(f"each edge of {key} must be a pair [from, to], not {pair!r}")
        arrows.append((names[0], names[1]))
    return tuple(arrows)
