"""ACID as a conditional independence test of tigramite, which finds graphs of time series.

```python
from tigramite.pcmci import PCMCI
from acid_causal.tigramite import ACID

PCMCI(dataframe, ACID()).run_pcmci(tau_max=2, pc_alpha=0.05)
```

The rows of a series are alike, where ACID was trained on independent rows: it warns of "serial
rows" unless the lags in the conditioning set take the likeness away.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tigramite.independence_tests.independence_tests_base import CondIndTest

from acid_causal import defaults
from acid_causal.errors import require
from acid_causal.inference.tester import ci_test
from acid_causal.weights.checkpoint import TrainedModel, load_model


class ACID(CondIndTest):  # type: ignore[misc]
    """A test on arrays that tigramite cuts out of a series.

    Args:
        model: name of a shipped model, path of a weights file, or a loaded model.
        device: "auto", "cpu", "cuda", or any torch device.
        null: where p-values come from; None: the model's own; see `acid_causal.Tester`.
        permutations: draws of the permutation null.
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
        **options: Any,
    ) -> None:
        self._measure = "acid"
        self.two_sided = self.residual_based = False
        significance = options.setdefault("significance", "analytic")
        require(significance == "analytic", "significance", significance, '"analytic"')
        loaded = load_model(model) if isinstance(model, str) else model
        self._options: dict[str, Any] = {
            "model": loaded, "device": device, "null": null, "permutations": permutations,
        }  # fmt: skip
        self._pvalue = 1.0
        super().__init__(**options)

    @property
    def measure(self) -> str:
        """What tigramite calls the test."""
        return self._measure

    def get_dependence_measure(
        self, array: NDArray[Any], xyz: NDArray[Any], data_type: NDArray[Any] | None = None
    ) -> float:
        """Returns the statistic, the logit of dependence, of X and Y given Z.

        Args:
            array: variables by samples, (dim, T).
            xyz: which of them belong to X (0), to Y (1) and to Z (2), (dim,).
            data_type: not used: ranks serve all ordered data.
        """
        x, y, z = (np.ascontiguousarray(array[xyz == part].T, dtype=float) for part in range(3))
        result = ci_test(x, y, z if z.shape[1] else None, **self._options)
        self._pvalue = result.pvalue
        return result.statistic

    def get_analytic_significance(self, value: float, T: int, dim: int, xyz: NDArray[Any]) -> float:
        """Returns the p-value of the statistic that was computed last, as tigramite asks for it."""
        return self._pvalue
