"""The separator of the fields of a text, and whether its first row holds names."""

import pytest

from acid_causal.tables.text_table import find_separator, looks_like_data, records


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1;2\n", ";"),
        ("a;b\n1,5;2,5\n", ";"),
        ("income, net;age\n1,5;3\n", ";"),
        ("a\tb\n1\t2\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ("a b c\n1  2 3\n", " "),
        (" a   b\n 1   2\n10  20\n", " "),
        ("a b, c\n1, 2\n", ","),
        ('a,b\n"1,905",2\n', ","),
        ("a,b,\n1,2,\n", ","),
        ("a\n1\n2\n", ","),
        ("a;b\n", ";"),
        ("a,b\nx y,z w\n", ","),
        ("a,b\n1,\n,2\nNA,3\n", ","),
        ("", ","),
        ('"never closed', ","),
    ],
)
def test_separators(text: str, mark: str) -> None:
    assert find_separator(text, ",") == mark
    assert find_separator(text + text[-1:], "\t") in (mark, "\t")


def test_a_sample_is_enough() -> None:
    assert find_separator("a;b\n" + "1,5;2,5\n" * 100_000, ",") == ";"


@pytest.mark.parametrize(
    ("row", "is_data"),
    [
        (["a", "b"], False),
        (["1.5", "2.5"], True),
        (["5.1", "3.5", "1.4", "0.2", "Iris-setosa"], True),
        (["2020", "2021"], False),
        (["0", "1", "2"], False),
        (["3", "1", "2"], True),
        (["1", "1"], True),
        (["400.5", "401"], True),
        (["a", "b", "1.5"], False),
        ([2020, 2021], False),
        ([], False),
    ],
)
def test_first_rows_that_are_data(row: list[object], is_data: bool) -> None:
    assert looks_like_data(row) is is_data


def test_records() -> None:
    assert list(records('a , "b\nc"\n\n1,2\n', ",")) == [["a", "b\nc"], ["1", "2"]]
    assert list(records(" a  b\t c\n\n", " ")) == [["a", "b", "c"]]
