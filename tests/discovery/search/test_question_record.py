"""What a search asks: written down, within its limit, and with required edges kept."""

import numpy as np
import pytest
from oracle import FisherZTester, linear_data, random_dag

from acid_causal.causal_learn import ACID
from acid_causal.discovery.search.question_record import QuestionRecord, RecordedTest


@pytest.fixture
def data() -> np.ndarray:
    return linear_data(random_dag(5, 2.0, 0), 100, 0)


def test_answers_are_written_down(data: np.ndarray) -> None:
    acid = ACID(data, tester=FisherZTester(data))
    record = QuestionRecord(acid, frozenset(), None, None)
    test = RecordedTest(data, record=record)
    asked = [(3, 1, (4, 2)), (0, 1, ()), (1, 3, [2, 4])]
    answers = [test(*question) for question in asked]
    assert answers[0] == answers[2]
    assert list(record.pvalues) == [(1, 3, (2, 4)), (0, 1, ())]
    assert list(record.pvalues.values()) == answers[:2]
    assert (acid.n_asked, acid.n_computed) == (3, 2)


def test_a_required_pair_is_tested_once_and_never_separated(data: np.ndarray) -> None:
    tester = FisherZTester(data)
    acid = ACID(data, tester=tester, prefetch=False)
    record = QuestionRecord(acid, {(1, 3)}, None, None)
    assert [record.answer(3, 1, cond) for cond in ((), (0,), (0, 2))] == [0.0, 0.0, 0.0]
    assert record.pvalues == {(1, 3, ()): tester.pvalue((1, 3, ()))}
    assert tester.batches == [[(1, 3, ())]]


def test_sets_beyond_the_limit_separate_nothing_and_are_not_tested(data: np.ndarray) -> None:
    acid = ACID(data, tester=FisherZTester(data))
    record = QuestionRecord(acid, frozenset(), 1, None)
    assert record.answer(0, 1, (2, 3)) == 0.0
    assert record.pvalues == {}
    assert record.answer(0, 1, (2,)) == record.pvalues[0, 1, (2,)] > 0.0
