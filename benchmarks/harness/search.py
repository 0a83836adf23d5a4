"""Runs of PC and FCI that count the questions."""

import contextlib
import io
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from causallearn.search.ConstraintBased.FCI import fci
from causallearn.search.ConstraintBased.PC import pc
from causallearn.utils.cit import CIT, CIT_Base, register_ci_test
from numpy.typing import NDArray

from acid_causal.tables.inputs import Question
from benchmarks.methods import andrey
from benchmarks.metrics.endpoints import Endpoints

Algorithm = Literal["pc", "fci"]

_ANDREY = (*andrey.TESTS, *andrey.MIXED_TESTS)
# Names in `benchmarks.methods` that differ from causal-learn's, and options that they stand for.
_NAMES = {"kcit": "kci", "acid-checked": "acid", **dict.fromkeys(_ANDREY, "andrey")}
_OPTIONS = {"acid-checked": {"null": "checked"}, **{name: {"test": name} for name in _ANDREY}}
# Tests that must be told which columns are categories.
_TYPED = ("acid", "acid-checked", *andrey.MIXED_TESTS)


@dataclass
class Counter:
    """Counts questions.

    Attributes:
        test: The test that answers.
        asked: Number of calls.
        unique: The distinct questions in the order of asking; X and Y may be exchanged.
    """

    test: CIT_Base | None = None
    asked: int = 0
    unique: dict[Question, None] = field(default_factory=dict)


class CountedTest(CIT_Base):  # type: ignore[misc]
    """Passes each question on to another test of causal-learn and counts it.

    Args:
        data: The table, shape (n, d).
        inner: Name of the test that answers.
        counter: Counts the questions.
        **options: Options of the test that answers.
    """

    def __init__(
        self, data: NDArray[np.float64], *, inner: str, counter: Counter, **options: Any
    ) -> None:
        super().__init__(data)
        self.method = "counted"
        self.counter = counter
        self.inner = counter.test = CIT(data, inner, **options)

    def __call__(self, X: int, Y: int, condition_set: Iterable[int] | None = None) -> float:
        """Counts the question and returns the inner test's p-value."""
        cond = frozenset(int(i) for i in condition_set or ())
        x, y = sorted((int(X), int(Y)))
        self.counter.asked += 1
        self.counter.unique[x, y, tuple(sorted(cond))] = None
        return self.inner(X, Y, tuple(cond))

    def __deepcopy__(self, memo: dict[int, Any]) -> "CountedTest":
        # pc copies its test several times; all copies share counts and caches.
        return self


register_ci_test("counted", CountedTest)


@dataclass(frozen=True)
class Search:
    """The result of one run of an algorithm.

    Attributes:
        endpoints: The graph, shape (d, d), in causal-learn's encoding.
        tests_asked: Number of calls of the test.
        tests_computed: Number of questions computed; the other calls were repetitions.
        seconds: Wall time of the call, without imports; for ACID it includes reading the weights.
        questions: The distinct questions that were asked, in the order of asking.
    """

    endpoints: Endpoints
    tests_asked: int
    tests_computed: int
    seconds: float
    questions: tuple[Question, ...] = ()


def search(
    algorithm: Algorithm,
    method: str,
    data: NDArray[np.float64],
    *,
    alpha: float = 0.05,
    options: Mapping[str, Any] | None = None,
    categorical: Sequence[int] = (),
) -> Search:
    """Runs stable PC (unshielded colliders by sepset, `uc_rule=0`) or FCI.

    Args:
        algorithm: "pc" or "fci".
        method: A test of causal-learn by its name, "kcit", one of `andrey.TESTS` or of
            `andrey.MIXED_TESTS`, "acid", "acid-checked", or either of the last two with ":MODEL".
        data: The table, shape (n, d).
        alpha: Level of each test.
        options: Options of the test.
        categorical: The columns that are categories; tests that take one kind of columns are not
            told.
    """
    warm_up = {name: value for name, value in (options or {}).items() if name != "cache_path"}
    few = [k for k in categorical if k < 3]
    _run(algorithm, method, data[:50, :3], alpha, warm_up, few)  # imports are not timed
    return _run(algorithm, method, data, alpha, options or {}, categorical)


def _run(
    algorithm: Algorithm,
    method: str,
    data: NDArray[np.float64],
    alpha: float,
    given: Mapping[str, Any],
    categorical: Sequence[int],
) -> Search:
    inner, _, model = method.partition(":")
    named: dict[str, Any] = dict(_OPTIONS.get(inner, {}))
    if categorical and inner in _TYPED:
        named["categorical"] = list(categorical)
    inner = _NAMES.get(inner, inner)
    counter = Counter()
    options = {"inner": inner, "counter": counter, "show_progress": False, **named, **given}
    if inner == "acid":
        from acid_causal import acid

        options["inner"] = acid  # registers the test with causal-learn
    if model:
        options["model"] = model
    start = time.perf_counter()
    # fci prints edges of its result.
    with contextlib.redirect_stdout(io.StringIO()):
        if algorithm == "pc":
            graph = pc(data, alpha, "counted", stable=True, uc_rule=0, **options).G
        else:
            graph = fci(data, "counted", alpha, **options)[0]
    seconds = time.perf_counter() - start
    endpoints = np.asarray(graph.graph, dtype=np.int64)
    # ACID has its own count, as prefetching may compute questions that are never asked.
    computed = getattr(counter.test, "n_computed", len(counter.unique))
    if "cache_path" in given:
        counter.test.save()  # type: ignore[union-attr]
    return Search(endpoints, counter.asked, computed, seconds, tuple(counter.unique))
