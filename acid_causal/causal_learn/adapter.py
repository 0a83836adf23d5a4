"""ACID as a test of causal-learn: `pc(data, 0.05, indep_test=acid)`.

Importing this module registers the test under the name "acid", through causal-learn's own
registry.
"""

import math
import os
import sys
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from numbers import Real
from types import FrameType
from typing import Any, Protocol, SupportsIndex, runtime_checkable

import numpy as np
from causallearn.search.ConstraintBased.PC import mvpc_alg
from causallearn.utils.cit import CIT_Base, register_ci_test

from acid_causal.causal_learn.level import Pair
from acid_causal.causal_learn.prefetch import BATCH_LIMIT, LevelPrefetch
from acid_causal.causal_learn.pvalue_file import PValueFile
from acid_causal.errors import (
    CacheError,
    InputError,
    InputTypeError,
    ModelError,
    OptionError,
    check_level,
    unknown,
    warn,
)
from acid_causal.inference.nulls.factory import takes_level
from acid_causal.inference.tester import OPTIONS, Tester
from acid_causal.options import defaults
from acid_causal.tables.inputs import Question, normalise_question

TEST_NAME = "acid"
# How the names of modules with searches begin; the second is another package's.
_SEARCHES = "causallearn.search."
_ALL_SEARCHES = (_SEARCHES, "andrey.")
OWN_OPTIONS = frozenset({"cache_path", "prefetch", "prefetch_alpha", "tester"})


@runtime_checkable
class TableTester(Protocol):
    """The part of `Tester` that `ACID` uses; tests may pass another object with it."""

    n: int
    d: int

    @property
    def least_alpha(self) -> float:
        """Smallest level at which its p-values may be used; 0 if they may at every level."""

    @property
    def fingerprint(self) -> str:
        """A hash of everything that determines the p-values."""

    def test_many(
        self, questions: Sequence[Question], progress: Callable[[int], object] | None = None
    ) -> Sequence[Any]:
        """Answers questions; each result has the attribute `pvalue`."""


class ACID(CIT_Base):  # type: ignore[misc]  # causal-learn has no types
    """The learned conditional independence test, with the interface of causal-learn's tests.

    causal-learn creates it for `indep_test=acid` and passes it the extra keywords of `pc`, `fci` or
    `cdnod`. It can also be created and called directly.

    How it works: causal-learn asks one question at a time. At the first question of a level of PC
    the test predicts, from the p-values so far, what else PC will ask there, and computes all of it
    in one batch. Answers are kept by (x, y, conditioning set), and with `cache_path` in a file.

    Limitations: those of `acid_causal.ci_test`. Only PC and the first stage of FCI ask level by
    level; other questions are computed one by one, which on 20 variables and 1,000 rows takes 3
    times as long.

    Args:
        data: Table `(n, d)`, an array or a pandas DataFrame. Columns of texts are categories.
        cache_path: JSON file that keeps p-values between runs, for any alpha; those of
            `null="checked"` are for one alpha.
        prefetch: Predict the questions of a whole level of PC and compute them in one batch.
        prefetch_alpha: The alpha of the search; None: that of the search that creates the test. A
            wrong value costs time and changes no p-value.
        required: Pairs of columns that the search keeps adjacent whatever their p-values. It asks
            about them only with an empty conditioning set. This only affects prefetching.
        tester: A tester of this table. It knows the names of columns, and several searches can
            share its encodings. Default: a new one.
        progress: Called with the number of questions computed since its last call.
        **options: Options of `Tester`: `model`, `device`, `missing`, `categorical` and so on. The
            level of `null="checked"` is that of the search that creates the test, unless `alpha` is
            given.

    Attributes:
        statistics: The statistic of each question computed by this object. It ranks questions whose
            p-values are equal, as the smallest ones of a permutation test are.
        n_asked: Calls so far.
        n_computed: Questions computed so far; the other calls were answered from the cache.
        n_batches: Batches in which they were computed.

    Raises:
        InputError: The table cannot be used, or is not the table of the tester.
        InputTypeError: Columns that are not numbers; or a search of causal-learn's was given a
            DataFrame, which takes arrays alone.
        OptionError: An unknown option or value, an option of the tester beside `tester`, or a
            tester whose p-values are not for the level of the search.
        CacheError: The cache file is damaged, or belongs to other data, weights or options.
    """

    def __init__(
        self,
        data: Any,
        cache_path: str | bytes | os.PathLike[str] | None = None,
        *,
        prefetch: bool = True,
        prefetch_alpha: float | None = None,
        required: Collection[Pair] = frozenset(),
        tester: TableTester | None = None,
        progress: Callable[[int], object] | None = None,
        **options: Any,
    ) -> None:
        check_options(options)
        _check_prefetch_options(prefetch, prefetch_alpha)
        _check_search(data)
        alpha = alpha_of_search()
        if tester is None:
            if takes_level(options.get("null")) and alpha is not None:
                options = {"alpha": alpha} | options
            tester = Tester(data, **options)
        else:
            _check_tester(tester, data, options, alpha)
        self._tester, self._progress = tester, progress
        # Not passed on: causal-learn's own cache file would mix p-values of other tests and tables.
        super().__init__(np.asarray(data), cache_path=None)
        self.method = TEST_NAME
        self.data_hash = self._tester.fingerprint
        self._file = None if cache_path is None else PValueFile.open(cache_path, self.data_hash)
        self.cache_path = None if self._file is None else str(self._file.path)
        self.pvalue_cache = {} if self._file is None else self._file.pvalues
        self.statistics: dict[Question, float] = {}
        self._prefetch: LevelPrefetch | None = None
        if prefetch:
            assumed = prefetch_alpha or alpha or defaults.ALPHA
            self._prefetch = LevelPrefetch(self._tester.d, assumed, required)
        self.n_asked = self.n_computed = self.n_batches = 0
        self._lock = threading.RLock()
        if self._file is not None:  # called when the object is freed, or at exit
            weakref.finalize(self, self._file.save_at_end)

    def __call__(
        self,
        X: SupportsIndex,
        Y: SupportsIndex,
        condition_set: Iterable[SupportsIndex] | None = None,
        *args: object,
    ) -> float:
        """Tests column X against column Y given the columns of the conditioning set.

        Args:
            X: Column index, in `0..d-1`.
            Y: Column index, another one.
            condition_set: Column indices, in any order, any iterable.
            *args: Ignored; causal-learn passes further arguments to some tests.

        Returns:
            The p-value, in [0, 1].

        Raises:
            InputError: An index is out of range, or X, Y and the conditioning set overlap.
        """
        question = normalise_question(X, Y, condition_set, self._tester.d)
        # One question at a time: a thread that asks the same question waits for its p-value.
        with self._lock:
            self.n_asked += 1
            if self._prefetch is not None:
                batch = self._prefetch.batch(question, row=int(X), known=self.pvalue_cache)
            else:
                batch = [] if question in self.pvalue_cache else [question]
            if batch:
                self._compute(batch)
            pvalue: float = self.pvalue_cache[question]
            if self._prefetch is not None:
                self._prefetch.record(question, pvalue)
            return pvalue

    def compute(self, questions: Iterable[Question]) -> None:
        """Computes questions that will be asked, unless their p-values are known.

        Args:
            questions: In canonical form; see `normalise_question`.
        """
        with self._lock:
            missing = [question for question in questions if question not in self.pvalue_cache]
            for start in range(0, len(missing), BATCH_LIMIT):
                self._compute(missing[start : start + BATCH_LIMIT])

    def _compute(self, batch: list[Question]) -> None:
        results = self._tester.test_many(batch, self._progress)
        for question, result in zip(batch, results, strict=True):
            pvalue = float(result.pvalue)
            if not 0.0 <= pvalue <= 1.0:  # a NaN would silently count as dependence
                raise ModelError(f"the model gave the p-value {pvalue} for the question {question}")
            self.pvalue_cache[question] = pvalue
            self.statistics[question] = float(getattr(result, "statistic", math.nan))
        self.n_computed += len(batch)
        self.n_batches += 1
        self.save_to_local_cache()

    # ---- the cache file --------------------------------------------------------------------------

    def save(self) -> None:
        """Writes the p-values to `cache_path` now; otherwise this happens now and then.

        Raises:
            CacheError: There is no `cache_path`, or the file cannot be written.
        """
        if self._file is None:
            raise CacheError("this test has no file to save to: give ACID a cache_path.")
        with self._lock:
            self._file.save()

    def save_to_local_cache(self) -> None:
        """Writes the p-values if the last time is long ago; the name is causal-learn's."""
        if self._file is not None:
            self._file.save_if_due()

    def __repr__(self) -> str:
        return f"ACID({self._tester!r}, {len(self.pvalue_cache)} p-values kept)"

    # ---- copies ----------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, object]) -> "ACID":
        """Returns the object itself, as causal-learn copies graphs with their test at each step."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = self.__dict__ | {"pvalue_cache": dict(self.pvalue_cache)}
        # A copy in a worker process must not write the file.
        return state | {"_lock": None, "_file": None, "cache_path": None, "_progress": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


def _check_search(data: Any) -> None:
    """Checks the search that creates the test, which only the call stack shows.

    Raises:
        InputTypeError: causal-learn was given a DataFrame. It would refuse it next, in an
            AssertionError without a message.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if type(data) is not np.ndarray and _is_search(frame):
            raise InputTypeError(
                f"causal-learn takes arrays alone, not {type(data).__name__}: "
                "data, names = acid_causal.read_frame(frame) gives the array, and names for "
                "node_names=names"
            )
        if frame.f_code is mvpc_alg.__code__:
            warn(
                "causal-learn's mvpc corrects the graph for missing values with Fisher-z, whatever "
                'the test: it may delete edges that are not linear. Without mvpc, missing="drop" '
                "leaves out the rows that are incomplete in the columns of a test"
            )
        frame = frame.f_back


def _is_search(frame: FrameType, modules: str | tuple[str, ...] = _SEARCHES) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(modules)


def alpha_of_search() -> float | None:
    """Returns the level of the search that creates the test; None if none does.

    Searches do not pass it on: only the call stack shows it.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        alpha = frame.f_locals.get("alpha") if _is_search(frame, _ALL_SEARCHES) else None
        if isinstance(alpha, Real):
            return float(alpha)
        frame = frame.f_back
    return None


def _check_tester(
    tester: TableTester, data: Any, options: Collection[str], alpha: float | None
) -> None:
    if alpha is not None and alpha < tester.least_alpha:
        raise OptionError(
            f"the tester's p-values are for levels from {tester.least_alpha:g} on, and the search "
            f"has the level {alpha:g}: make the tester with alpha={alpha:g}, and with permutations "
            "enough for it"
        )
    if options:
        raise OptionError(f"{', '.join(sorted(options))}: give this to the tester when it is made")
    if np.shape(data) != (tester.n, tester.d):
        raise InputError(
            f"the tester is about another table, of {tester.n} rows and {tester.d} columns; "
            f"this one has the shape {np.shape(data)}"
        )


def check_options(names: Iterable[str]) -> None:
    """Checks the names of options of `ACID`.

    Raises:
        OptionError: there is no such option.
    """
    for name in names:
        if name not in OPTIONS | OWN_OPTIONS:
            raise unknown("option of acid", name, OPTIONS | OWN_OPTIONS)


def _check_prefetch_options(prefetch: object, prefetch_alpha: object) -> None:
    if not isinstance(prefetch, bool | np.bool_):
        raise OptionError(f"prefetch must be True or False, not {prefetch!r}.")
    if prefetch_alpha is not None:
        check_level(prefetch_alpha, "prefetch_alpha", ", the alpha that pc or fci is given")


register_ci_test(TEST_NAME, ACID)


class _RegisteredName(str):
    """The string "acid"; unpickling it in another process registers the test there."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _registered_name, ()


def _registered_name() -> str:
    return acid


acid: str = _RegisteredName(TEST_NAME)
