"""Tetrad's knowledge files.

    /knowledge
    addtemporal
    1 age sex
    2* smoking tar       * : no edges within this tier
    3- cancer            - : edges only to the next tier
    forbiddirect
    cancer smoking
    requiredirect
    smoking tar

References:
    The Tetrad project's manual, "Knowledge Box".
"""

from itertools import permutations
from typing import Any

_FIRST = "/knowledge"
# Largest tier marked *; all its pairs are written out as forbidden edges.
_LARGEST_TIER = 2000
_GROUPS = ("forbiddengroup", "requiredgroup")


def is_tetrad(text: str) -> bool:
    """Returns whether a text is a knowledge file of Tetrad's."""
    return text.lstrip().startswith(_FIRST)


def read_tetrad(text: str) -> dict[str, Any]:
    """Reads a knowledge file of Tetrad's.

    Returns:
        The input of `Knowledge.from_dict`: "forbid", "require" and "tiers".

    Raises:
        ValueError: an invalid line.
    """
    forbid: list[list[str]] = []
    require: list[list[str]] = []
    tiers: dict[int, list[str]] = {}
    only_next: set[int] = set()
    section = ""
    for line in text.split(_FIRST, 1)[1].splitlines():
        words = line.split()
        if not words:
            continue
        if len(words) == 1 and words[0] in ("addtemporal", "forbiddirect", "requiredirect"):
            section = words[0]
        elif words[0] in _GROUPS:
            raise ValueError(f"Tetrad's {words[0]} is not read; write its edges out")
        elif section == "addtemporal":
            number = words[0].rstrip("*-")
            if not number.isdecimal():
                raise ValueError(f"a tier begins with its number, not {words[0]!r}")
            tiers.setdefault(int(number), []).extend(words[1:])
            if "*" in words[0]:
                if len(words) > _LARGEST_TIER:
                    raise ValueError(f"a tier marked * may hold {_LARGEST_TIER} names at most")
                forbid += map(list, permutations(words[1:], 2))
            if "-" in words[0]:
                only_next.add(int(number))
        elif section and len(words) == 2:
            (forbid if section == "forbiddirect" else require).append(words)
        else:
            raise ValueError(f"{line[:60]!r} is not a valid line in this section")
    ordered = [tiers[number] for number in sorted(tiers)]
    for k, tier_number in enumerate(sorted(tiers)):
        later = ordered[k + 2 :] if tier_number in only_next else []
        forbid += [[a, b] for a in ordered[k] for tier in later for b in tier]
    return {"forbid": forbid, "require": require, "tiers": ordered}
