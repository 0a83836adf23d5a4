"""causal-learn's own tests in place of ACID, for comparison."""

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from causallearn.utils.cit import CIT
from jaxtyping import Float

from acid_causal.errors import InputError, Notices, OptionError, listed, warn
from acid_causal.inference.batching import Task, named
from acid_causal.tables.column_types import MOST_LEVELS
from acid_causal.tables.columns import Array
from acid_causal.tables.inputs import MIN_SAMPLES, Question, Table, are_too_few

ACID_TEST = "acid"
# Tests for discrete data, which take codes of categories as they are.
_OF_LEVELS = ("chisq", "gsq")
# Tests of partial correlations.
_OF_CORRELATIONS = ("fisherz", "mv_fisherz")


class Answer(NamedTuple):
    """A p-value; causal-learn's tests do not give their statistic."""

    pvalue: float
    statistic: float = math.nan


class OtherTester:
    """One of causal-learn's tests with the methods of `Tester` that a search needs.

    Rows that are incomplete are left out, as most of these tests take no missing values. Where
    fewer than four are left, p is 1, as with ACID.

    Args:
        table: the data.
        name: causal-learn's name of the test, such as "fisherz", "kci" or "rcit".

    Raises:
        OptionError: causal-learn has no such test, or the test cannot take this table: one of
            numbers takes no categories.
        InputError: a test of levels, and a column of more than 50 values.
    """

    least_alpha = 0.0
    at_one_level = False

    def __init__(self, table: Table, name: str) -> None:
        values = table.values
        if table.absent is not None:
            whole = len(values)
            values = values[~np.any(table.absent, axis=1)]
            warn(f"{name} uses only complete rows: {len(values)} of {whole}")
        self.n, self.d = table.values.shape
        self._name, self._table = name, table
        self._rows, self._notices = len(values), Notices()
        if name in _OF_LEVELS:
            _check_levels(values, table.columns, name)
        try:
            # With too few rows CIT fails; random rows stand in, so that an unknown name is still
            # refused.
            self._test = CIT(values if self._rows >= MIN_SAMPLES else _any_rows(self.d), name)
        except Exception as error:  # CIT raises errors of any type
            raise OptionError(f"causal-learn's test {name!r}: {error}") from error
        if table.categories and name not in _OF_LEVELS:
            shown = listed([repr(table.columns[k]) for k in sorted(table.categories)])
            raise OptionError(
                f"causal-learn's test {name!r} takes numbers, and these columns are unordered "
                f"categories: {shown}. Leave them out; {' and '.join(map(repr, _OF_LEVELS))} take "
                "tables of categories"
            )

    @property
    def fingerprint(self) -> str:
        """A hash of the table and the test."""
        return hashlib.sha256(f"{self._name} {self._table.sha256}".encode()).hexdigest()

    @property
    def settings(self) -> dict[str, Any]:
        """The test's name, in the fields of the model and the null."""
        return {
            "model": {"name": self._name, "sha256": ""},
            "null": "the test's own",
            "device": "cpu",
        }

    def test_many(
        self, questions: Sequence[Question], progress: Callable[[int], object] | None = None
    ) -> list[Answer]:
        """Answers questions one by one. A p-value that is not a number counts as independence."""
        answers = []
        for question in questions:
            answers.append(Answer(self._pvalue(question)))
            if progress is not None:
                progress(1)
        return answers

    def _pvalue(self, question: Question) -> float:
        x, y, cond = question
        n = self._rows
        if n < MIN_SAMPLES:
            self._notices.warn("rows", f"only {n} complete rows for {self._named(question)}: p = 1")
            return 1.0
        if self._name in _OF_CORRELATIONS and are_too_few(n, len(cond)):
            self._notices.warn("full", f"{n} rows are too few for {self._named(question)}: p = 1")
            return 1.0
        pvalue = float(self._test(x, y, cond))
        return 1.0 if np.isnan(pvalue) else min(max(pvalue, 0.0), 1.0)

    def _named(self, question: Question) -> str:
        x, y, cond = question
        return named(self._table.columns, Task(0, (x,), (y,), cond))


def _check_levels(values: Float[Array, "n d"], names: Sequence[str], test: str) -> None:
    """Refuses columns of so many values that a test of levels could find nothing."""
    counts = [len(np.unique(column)) for column in values.T]
    shown = [
        f"{name!r} ({count})"
        for name, count in zip(names, counts, strict=True)
        if count > MOST_LEVELS
    ]
    if shown:
        raise InputError(
            f"causal-learn's test {test!r} takes each value for a level, and these columns have "
            f"more than {MOST_LEVELS}: {listed(shown)}. Group their values, leave them out, or use "
            "a test of numbers, such as 'fisherz'"
        )


def _any_rows(d: int) -> Float[Array, "n d"]:
    return np.random.default_rng(0).normal(size=(MIN_SAMPLES, d))
