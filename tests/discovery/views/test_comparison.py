"""Two graphs of the same variables: each differing pair once."""

import pytest
from graph_cases import made_discovery

from acid_causal.errors import InputError


def test_differences() -> None:
    one = made_discovery("abcd", [(0, 1, "-->"), (1, 2, "---"), (2, 3, "-->")])
    other = made_discovery("dcba", [(3, 2, "-->"), (2, 1, "-->"), (3, 1, "---")])
    found = one.compare(other)
    assert [str(edge) for edge in found.only_here] == ["c --> d"]
    assert [str(edge) for edge in found.only_there] == ["c --- a"]
    assert [(str(a), str(b)) for a, b in found.redirected] == [("b --- c", "b --> c")]
    assert (found.same, found.distance) == (1, 3)
    assert str(found).splitlines()[0] == "1 edges are the same, and 3 pairs differ"
    assert one.compare(one).distance == 0
    with pytest.raises(InputError, match="different variables, such as 'd'"):
        one.compare(made_discovery("abc", []))
