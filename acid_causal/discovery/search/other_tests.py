"""causal-learn's own tests in place of ACID, for comparison."""

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from causallearn.utils.cit import CIT

from acid_causal.errors import OptionError, listed, warn
from acid_causal.tables.inputs import Question, Table

ACID_TEST = "acid"
# Tests of levels alone, to which the codes of categories are levels like others.
_OF_LEVELS = ("chisq", "gsq")


class Answer(NamedTuple):
    """A p-value; causal-learn's tests do not give their statistic."""

    pvalue: float
    statistic: float = math.nan


class OtherTester:
    """One of causal-learn's tests with the methods of `Tester` that a search needs.

    Rows that are incomplete are left out, as most of these tests take no missing values.

    Args:
        table: the data.
        name: causal-learn's name of the test, such as "fisherz", "kci" or "rcit".

    Raises:
        OptionError: causal-learn has no such test, or the test cannot take this table: one of
            numbers takes no categories.
    """

    def __init__(self, table: Table, name: str) -> None:
        values = table.values
        if table.absent is not None:
            whole = len(values)
            values = values[~np.any(table.absent, axis=1)]
            warn(f"{name} takes complete rows alone: {len(values)} of {whole}")
        self.n, self.d = table.values.shape
        self._name, self._table = name, table
        try:
            self._test = CIT(values, name)
        except Exception as error:  # it raises what its author met
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
        """The test, in the places of a model and its null."""
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
        for x, y, cond in questions:
            pvalue = float(self._test(x, y, cond))
            answers.append(Answer(1.0 if np.isnan(pvalue) else min(max(pvalue, 0.0), 1.0)))
            if progress is not None:
                progress(1)
        return answers
