"""Texts that are amounts or dates are told from names and identifiers."""

import pytest

from acid_causal.tables.text_kinds import kind_of_texts


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["$1,200", "$3.50", "-$7", "$ 8"], "numbers with '$'"),
        (["-1,20 €", "3,50 €"], "numbers with '€'"),
        (["12%", "3.5%", "-1%"], "numbers with '%'"),
        (["12 kg", "3.5kg"], "numbers with 'kg'"),
        (["1 kg", "2 g"], ""),  # two units
        (["$5", "5 €"], ""),
        (["12%", "many"], ""),
        (["2024-01-31", "2024-02-01"], "dates"),
        (["31.1.2024", "1.2.24"], "dates"),
        (["1/31/2024 9:30 PM", "12/1/2024 09:30"], "dates"),
        (["2024-01-31T09:30:00.25+01:00", "2024-02-01"], "dates"),
        (["2024-01-31", "soon"], ""),
        (["1.2.3.4", "1.2.3.5"], ""),  # addresses
        (["1.0.2", "1.1.0"], ""),  # versions
        (["555-12-3456", "123-45-6789"], ""),
        (["1A", "2A"], ""),
        (["1 MB", "2 MB"], "numbers with 'MB'"),
        (["1", "2.5"], ""),  # plain numbers
        (["A1", "A2"], ""),
        (["#1", "#2"], ""),
        (["low", "high"], ""),
        ([], ""),
    ],
)
def test_kinds(texts: list[str], expected: str) -> None:
    assert kind_of_texts(texts) == expected
