"""Names and numbers for readers."""

import pytest

from acid_causal.discovery.report.labels import (
    arrow,
    given_text,
    isolated,
    printable,
    printable_names,
    pvalue_text,
)


def test_printable() -> None:
    assert printable("two\nlines \t of \x00 text") == "two lines of text"
    assert printable("名前 ö") == "名前 ö"
    assert printable(" ") == "(no name)"
    assert printable_names(["a", "a\n", " a"]) == {"a": "a", "a\n": "a (2)", " a": "a (3)"}


@pytest.mark.parametrize(
    ("pvalue", "text"),
    [
        (1.0, "1.000"),
        (0.05, "0.050"),
        (0.001, "0.001"),
        (4.2e-4, "4e-4"),
        (3e-12, "3e-12"),
        (0.0, "< 1e-300"),
    ],
)
def test_pvalues(pvalue: float, text: str) -> None:
    assert pvalue_text(pvalue) == text


def test_given_and_arrows() -> None:
    assert given_text(()) == "nothing"
    assert given_text(("a", "b\n")) == "a, b"
    assert (arrow("-->"), arrow("<-o")) == ("→", "←o")


def test_text_from_right_to_left_keeps_to_itself() -> None:
    assert printable("\u202egnp.\u202c\u200f\u2067a\u2069") == "gnp.a"
    assert printable("\u200e") == "(no name)"
    assert isolated("a\u202eb") == "ab"
    assert isolated("שם 1") == "\u2068שם 1\u2069"
    assert given_text(("שם", "b")) == "\u2068שם\u2069, b"
