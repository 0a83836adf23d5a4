"""From a skeleton to a CPDAG: colliders, then Meek's rules, and the colliders that gave way.

An unshielded triple a - b - c is a collider a -> b <- c if b is in no set that separates a and c.
On real data two colliders may want the same edge in opposite directions. Then the order decides in
which they are oriented: what is oriented stays. The rules differ in that order, but for "joint",
which weighs all triples against one another.

causal-learn's functions give the same graphs by the rules that it has, and a test holds it. These
ones name the colliders that gave way, compute the questions of a rule in one batch, and stay fast
with many variables.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import log
from typing import NamedTuple

import numpy as np

from acid_causal.causal_learn.level import Pair, note_worst
from acid_causal.discovery.mixed_graph import ARROW, NONE, TAIL, Endpoints
from acid_causal.discovery.search.joint_orientation import agreeing_places
from acid_causal.discovery.search.meeks_rules import apply_meeks_rules, point, points
from acid_causal.discovery.search.skeleton import Ask, Skeleton
from acid_causal.tables.inputs import Question

# Rules that ask questions which the search for the skeleton did not ask.
_ASKING = ("strongest", "clearest", "maxp", "joint")
# Those of them that look at all triples, whatever the separating sets say.
_OF_ALL = ("maxp", "joint")
# A triple's evidence is a logarithm of a ratio of p-values. Beyond this it counts no more.
_MOST_EVIDENCE = 5.0
# Bounds of `most_questions`: a multiple of the search's questions, and what is always allowed.
_MOST_A_QUESTION, _FEW = 2, 2000


class Triple(NamedTuple):
    """Columns a - b - c, where a and c are not adjacent; a < c."""

    a: int
    b: int
    c: int


@dataclass(frozen=True)
class Orientation:
    """An oriented graph.

    Attributes:
        endpoints: the CPDAG.
        conflicts: the colliders that the rule finds and the graph does not have, as others have
            more evidence or were oriented first; with the rule "both", those with an edge `<->`.
        rule: the rule that was applied.
    """

    endpoints: Endpoints
    conflicts: tuple[Triple, ...]
    rule: str = ""


def most_questions(searched: int) -> int:
    """Returns how many questions `discover` lets a rule ask beside those of the search.

    Around a variable with many neighbours their number grows fast. On random graphs with two edges
    a variable they have been 1.4 times the search's at most with ACID, and 1.9 with Fisher-z.
    """
    return max(_MOST_A_QUESTION * searched, _FEW)


def orient(
    skeleton: Skeleton,
    rule: str,
    ask: Ask,
    known: Mapping[Question, float],
    *,
    forbidden: Collection[Pair] = frozenset(),
    compute: Callable[[Iterable[Question]], object] | None = None,
    most: int | None = None,
) -> Orientation:
    """Orients a skeleton.

    Args:
        skeleton: adjacencies and separating sets.
        rule: one of these:
            "first": in the order of the columns.
            "both": an edge that two colliders want gets both directions, `<->`.
            "separation": first the pairs a, c that the search separated with the largest p-value.
            "strongest": first the smallest p-value of a and c; it is the largest one over the sets
            with b.
            "clearest": first the largest p-value of a and c over the sets without b.
            "maxp": as "clearest", and a triple is a collider if the p-value of a and c is largest
            without b.
            "joint": the graph that agrees best with all triples together. The evidence for a
            collider is the logarithm of its mean p-value over the sets without b divided by that
            over the sets with b; see `acid_causal.discovery.search.joint_orientation`.
        ask: returns the p-value of a question. The sets are of neighbours of a, or of c, and no
            larger than the largest of the search.
        known: p-values of the search's own questions.
        forbidden: ordered pairs (i, j) without an edge i -> j.
        compute: computes the p-values of many questions that `ask` is called for next.
        most: where a rule would ask more questions that are not known, "separation" is applied in
            its place, which asks none; None: no limit. Around a variable with many neighbours their
            number grows fast.

    References:
        Meek (1995), Causal inference and causal explanation with background knowledge.
        Ramsey (2016), Improving accuracy and scalability of the PC algorithm by maximizing p-value.
    """
    marks = np.where(skeleton.linked, TAIL, NONE).astype(np.int8)
    _orient_by_knowledge(marks, forbidden)
    triples = [
        Triple(a, b, c)
        for b in range(len(marks))
        for a, c in combinations(np.flatnonzero(marks[b]).tolist(), 2)
        if not marks[a, c] and (a, b) not in forbidden and (c, b) not in forbidden
    ]
    by_sets = [t for t in triples if all(t.b not in s for s in skeleton.sepsets[t.a, t.c])]
    if rule in _ASKING:
        ranked = triples if rule in _OF_ALL else by_sets
        wanted = _questions(ranked, skeleton, rule, known, most)
        if wanted is None:
            rule = "separation"
        elif compute is not None:
            compute(sorted(wanted, key=lambda question: (len(question[2]), question)))
    if rule == "joint":
        evidence: dict[tuple[int, int, int], float]
        evidence = {triple: _evidence(triple, skeleton, ask) for triple in triples}
        colliders = sorted((t for t in triples if evidence[t] > 0), key=lambda t: -evidence[t])
        places = agreeing_places(skeleton.linked, evidence, forbidden)
        oriented = [t for t in triples if places[t.a] < places[t.b] > places[t.c]]
    else:
        oriented = colliders = _in_order(triples, by_sets, skeleton, rule, ask, known)
    for triple in oriented:
        _orient_collider(marks, triple, both=rule == "both")
    conflicts = [t for t in colliders if not (points(marks, t.a, t.b) and points(marks, t.c, t.b))]
    apply_meeks_rules(marks, forbidden)
    return Orientation(marks, tuple(conflicts), rule)


def _orient_by_knowledge(marks: Endpoints, forbidden: Collection[Pair]) -> None:
    for i, j in forbidden:
        if marks[i, j] and (j, i) not in forbidden:
            point(marks, j, i)


# ---- colliders -----------------------------------------------------------------------------------


def _questions(
    ranked: list[Triple],
    skeleton: Skeleton,
    rule: str,
    known: Mapping[Question, float],
    most: int | None,
) -> set[Question] | None:
    """Lists what a rule asks; None if more than `most` of it is not known."""
    wanted: set[Question] = set()
    new = 0
    for triple in ranked:
        for s in _sets(triple, skeleton):
            question = (triple.a, triple.c, s)
            if question in wanted or not _is_asked(rule, triple, s):
                continue
            wanted.add(question)
            new += question not in known
            if most is not None and new > most:
                return None
    return wanted


def _is_asked(rule: str, triple: Triple, s: tuple[int, ...]) -> bool:
    return rule in _OF_ALL or (triple.b in s) == (rule == "strongest")


def _in_order(
    triples: list[Triple],
    by_sets: list[Triple],
    skeleton: Skeleton,
    rule: str,
    ask: Ask,
    known: Mapping[Question, float],
) -> list[Triple]:
    """Returns the colliders among the triples, those first that are oriented first."""
    if rule in ("first", "both"):
        return by_sets
    if rule == "separation":
        worst: dict[Pair, float] = {}
        for (i, j, _), pvalue in known.items():
            note_worst(worst, (i, j), pvalue)
        return sorted(by_sets, key=lambda triple: -worst[triple.a, triple.c])

    def largest(triple: Triple, *, with_b: bool) -> float:
        sets = [s for s in _sets(triple, skeleton) if (triple.b in s) == with_b]
        return max((ask(triple.a, triple.c, s) for s in sets), default=0.0)

    if rule == "strongest":
        return sorted(by_sets, key=lambda triple: largest(triple, with_b=True))
    ranked = triples if rule == "maxp" else by_sets
    without = {triple: largest(triple, with_b=False) for triple in ranked}
    if rule == "maxp":
        ranked = [t for t in ranked if without[t] > largest(t, with_b=True)]
    return sorted(ranked, key=lambda triple: -without[triple])


def _evidence(triple: Triple, skeleton: Skeleton, ask: Ask) -> float:
    """Returns the evidence for a collider; negative: against it."""
    pvalues: tuple[list[float], list[float]] = ([], [])
    for s in _sets(triple, skeleton):
        pvalues[triple.b in s].append(ask(triple.a, triple.c, s))
    without, with_b = (log(max(sum(p) / max(len(p), 1), 1e-300)) for p in pvalues)
    return min(max(without - with_b, -_MOST_EVIDENCE), _MOST_EVIDENCE)


def _sets(triple: Triple, skeleton: Skeleton) -> Iterator[tuple[int, ...]]:
    """Yields the conditioning sets for a and c, in causal-learn's order."""
    seen: set[tuple[int, ...]] = set()
    for end in (triple.a, triple.c):
        near = np.flatnonzero(skeleton.linked[end]).tolist()
        for size in range(min(len(near), skeleton.largest) + 1):
            for s in combinations(near, size):
                if s not in seen:
                    seen.add(s)
                    yield s


def _orient_collider(marks: Endpoints, triple: Triple, *, both: bool) -> None:
    a, b, c = triple
    if both:
        for end in (a, c):
            if points(marks, b, end):
                marks[b, end] = ARROW
            elif marks[end, b] == TAIL:
                point(marks, end, b)
    elif not points(marks, b, a) and not points(marks, b, c):
        point(marks, a, b)
        point(marks, c, b)
