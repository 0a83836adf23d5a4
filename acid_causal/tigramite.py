"""ACID as a conditional independence test of tigramite, which finds graphs of time series.

```python
from tigramite.pcmci import PCMCI
from acid_causal.tigramite import ACID

PCMCI(dataframe, ACID()).run_pcmci(tau_max=2, pc_alpha=0.05)
```

The rows of a series are alike, where ACID was trained on independent rows. The tests that decide in
PCMCI have the pasts of both variables in their conditioning sets, and given these, rows are no
longer alike if `tau_max` is large enough. So of "serial rows" nothing is said here.

The value of a link is log(1 + exp(logit of dependence)): 0 for a constant, small where the network
sees independence. tigramite ranks links by absolute values, which would take a logit far below 0,
a clear independence, for a strong dependence. It has no sign and no upper limit; plots of it need
`vmax_edges` and the like, as those of other measures than correlations do.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acid_causal.errors import InputError, Notices, OptionError, missing_extra, require
from acid_causal.inference.nulls.factory import takes_level
from acid_causal.inference.tester import Tester
from acid_causal.options import defaults
from acid_causal.tables.inputs import read_table
from acid_causal.weights.checkpoint import TrainedModel
from acid_causal.weights.shared import shared_model

try:
    from tigramite.independence_tests.independence_tests_base import CondIndTest
except ModuleNotFoundError as error:
    raise missing_extra("tigramite", error) from error


class ACID(CondIndTest):  # type: ignore[misc]
    """A test on arrays that tigramite cuts out of a series.

    How it works: each question is an array of lagged columns, which a new `acid_causal.Tester`
    answers. The value of a link is a function of its statistic, see above; the p-value is that of
    the null.

    Limitations: those of `acid_causal.ci_test`. The arrays of two questions differ, so nothing is
    cached between them: each takes as long as a single question, .1 s with 1,000 rows and five Z.

    Args:
        model: name of a shipped model, path of a weights file, or a loaded model.
        device: "auto", "cpu", "cuda", or any torch device.
        null: where p-values come from; None: the model's own; see `acid_causal.Tester`.
        permutations: draws of the permutation null.
        alpha: level of the checked and the permutation null. None: that of the question, which is
            tigramite's `pc_alpha` or `alpha_level`, and .05 where it gives none. Give the smallest
            level at which you decide where that is another one, as with `fdr_method`; what is
            rejected at a larger level alone is not checked then.
        draws: most draws of the checked null; None: 10 / alpha - 1.
        **options: of tigramite's `CondIndTest`. Its significance is "analytic": that of the null.

    Raises:
        OptionError, ModelError: see `acid_causal.Tester`.
    """

    def __init__(
        self,
        *,
        model: str | TrainedModel = defaults.MODEL,
        device: str = defaults.DEVICE,
        null: str | None = None,
        permutations: int = defaults.PERMUTATIONS,
        alpha: float | None = None,
        draws: int | None = None,
        **options: Any,
    ) -> None:
        self._measure = "acid"
        self.two_sided = self.residual_based = False
        significance = options.setdefault("significance", "analytic")
        require(significance == "analytic", "significance", significance, '"analytic"')
        loaded = shared_model(model) if isinstance(model, str) else model
        self._options: dict[str, Any] = {
            "model": loaded,
            "device": device,
            "null": null,
            "permutations": permutations,
            "draws": draws,
        }
        self._resamples = takes_level(null or loaded.default_null)
        self._given_alpha = alpha
        self._alpha = defaults.ALPHA if alpha is None else alpha
        # One for all questions, so that each kind is warned of once a run.
        self._notices = Notices(given={"serial rows"})
        self._asked: tuple[tuple[int, int], ...] = ()  # variables and lags
        self._answer = (math.nan, 1.0)  # value and p-value
        super().__init__(**options)

    @property
    def measure(self) -> str:
        """What tigramite calls the test."""
        return self._measure

    def get_dependence_measure(
        self, array: NDArray[Any], xyz: NDArray[Any], data_type: NDArray[Any] | None = None
    ) -> float:
        """Returns the value of X and Y given Z, log(1 + exp(logit of dependence)).

        Args:
            array: variables by samples, (dim, T).
            xyz: which of them belong to X (0), to Y (1) and to Z (2), (dim,).
            data_type: 0 for amounts and 1 for unordered categories, (dim, T); a variable is a
                category if all of its samples are. None: there are no categories.
        """
        parts = [np.flatnonzero(xyz == part) for part in range(3)]
        order = np.concatenate(parts)
        kinds = np.zeros(array.shape) if data_type is None else np.asarray(data_type)
        discrete = np.flatnonzero((kinds[order] == 1).all(axis=1))
        table = read_table(
            array[order].T,
            categorical=discrete.tolist(),
            name="the array",
            # Not where somebody asks about arrays.
            columns=self._node_names() if self._asked else None,
        )
        ends = np.cumsum([len(part) for part in parts]).tolist()
        x, y, z = (tuple(range(a, b)) for a, b in zip([0, *ends[:2]], ends, strict=True))
        tester = Tester(table, notices=self._notices, alpha=self._alpha, **self._options)
        result = tester.test_sets(x, y, z)
        value = float(np.logaddexp(0.0, result.statistic))
        self._answer = (value, result.pvalue)
        return value

    def run_test(
        self,
        X: Sequence[tuple[int, int]],
        Y: Sequence[tuple[int, int]],
        Z: Sequence[tuple[int, int]] | None = None,
        tau_max: int = 0,
        cut_off: str = "2xtau_max",
        alpha_or_thres: float | None = None,
    ) -> tuple[Any, ...]:
        """Tests at a level; see tigramite's `CondIndTest.run_test`.

        Args:
            X: variables and lags, as `[(0, -1)]`.
            Y: likewise.
            Z: likewise; None for none.
            tau_max: largest lag of the search.
            cut_off: which samples to leave out at the beginning.
            alpha_or_thres: the level at which tigramite decides.

        Returns:
            The value, the p-value and, if there is a level, whether independence is rejected.

        Raises:
            OptionError: too few permutations or draws for the level; see `acid_causal.Tester`.
        """
        with self._deciding_at(alpha_or_thres):
            return super().run_test(X, Y, Z, tau_max, cut_off, alpha_or_thres)

    def run_test_raw(
        self,
        x: NDArray[Any],
        y: NDArray[Any],
        z: NDArray[Any] | None = None,
        x_type: NDArray[Any] | None = None,
        y_type: NDArray[Any] | None = None,
        z_type: NDArray[Any] | None = None,
        alpha_or_thres: float | None = None,
    ) -> tuple[Any, ...]:
        """Tests arrays at a level; see tigramite's `CondIndTest.run_test_raw`, and `run_test`."""
        with self._deciding_at(alpha_or_thres):
            return super().run_test_raw(x, y, z, x_type, y_type, z_type, alpha_or_thres)

    @contextmanager
    def _deciding_at(self, level: float | None) -> Iterator[None]:
        """Takes the level of a question, unless the user gave one."""
        before = self._alpha
        # Beyond (0, 1) everything or nothing is rejected, whatever the p-value.
        if self._given_alpha is None and level is not None and 0 < level < 1:
            self._alpha = level
        try:
            yield
        finally:
            self._alpha = before

    def _get_array_hash(self, *args: Any) -> tuple[Any, ...]:
        """Returns the key under which tigramite keeps an answer, which may be for one level."""
        key = super()._get_array_hash(*args)
        return (*key, self._alpha) if self._resamples else key

    def get_model_selection_criterion(self, *_: Any, **__: Any) -> float:
        """Refuses to choose tigramite's `pc_alpha`, which takes a likelihood.

        Raises:
            OptionError: always; tigramite asks where `pc_alpha` is None or a list.
        """
        raise OptionError(
            "ACID cannot choose between values of pc_alpha, as linear tests do: give one number, "
            "as in run_pcmci(pc_alpha=0.05)"
        )

    def _get_dependence_measure_recycle(self, X: Any, Y: Any, Z: Any, *args: Any, **kw: Any) -> Any:
        """Learns which variables and lags are asked about, for warnings that name them."""
        self._asked = (*X, *Y, *Z)
        try:
            return super()._get_dependence_measure_recycle(X, Y, Z, *args, **kw)
        finally:
            self._asked = ()

    def _node_names(self) -> tuple[str, ...]:
        """Writes the question's variables and lags, as `temperature(t-2)`."""
        frame = self.dataframe
        # A variable of several components has one name.
        variable = {part[0]: v for v, parts in frame.vector_vars.items() for part in parts}
        return tuple(
            f"{frame.var_names[variable[k]]}(t{f'{lag:+}' if lag else ''})"
            for k, lag in self._asked
        )

    def get_analytic_significance(self, value: float, T: int, dim: int, xyz: NDArray[Any]) -> float:
        """Returns the p-value of the value that was computed last, as tigramite asks for it.

        Raises:
            InputError: it is another value, whose data are not known here.
        """
        last, pvalue = self._answer
        if value != last:
            raise InputError(
                f"the p-value of the statistic {value} was asked for, and {last} is the last "
                "that was computed: ask for both at once, with run_test or run_test_raw"
            )
        return pvalue
