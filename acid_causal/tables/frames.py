"""Data frames for libraries that take only arrays, as causal-learn does."""

from typing import Any

import numpy as np
from jaxtyping import Float, Shaped
from numpy.typing import NDArray

from acid_causal.options import defaults
from acid_causal.tables.column_types import Ordered, Selection
from acid_causal.tables.inputs import read_table


def read_frame(
    data: Any,
    *,
    missing: str = defaults.MISSING,
    categorical: Selection = (),
    ordered: Ordered = (),
) -> tuple[Float[NDArray[np.float64], "n d"] | Shaped[NDArray[np.object_], "n d"], list[str]]:
    """Returns the values and the names of a DataFrame's columns, as `pc` and `fci` take them.

    ```python
    data, names = read_frame(frame)
    pc(data, 0.05, acid, node_names=names)
    ```

    How it works: columns are read as in every other entry, numbers as float64 and texts as
    categories. A category keeps the names of its levels, in an array of objects.

    Limitations: an array of objects serves `acid` only; other tests of causal-learn refuse it. An
    ordered category becomes its ranks, without names.

    Args:
        data: DataFrame or array, samples by variables, (n, d).
        missing: "raise", or "drop" for a test that is given the same option.
        categorical: columns whose values are unordered categories whatever their type; see
            `acid_causal.tables.inputs.read_table`.
        ordered: columns to be ranked; see there.

    Returns:
        A new array, (n, d), and d names; those of an array's columns are X1, X2 and so on. The
        array holds floats. If a column is a category, it holds objects, and in such columns the
        names of levels, by which `acid` recognises categories.

    Raises:
        InputError, InputTypeError, OptionError: see `acid_causal.tables.inputs.read_table`.
    """
    table = read_table(data, missing=missing, categorical=categorical, ordered=ordered)
    if not table.categories:
        return table.values, list(table.columns)
    values = table.values.astype(object)
    for k, levels in table.categories.items():
        names = np.array([*levels, None], dtype=object)
        # A missing value takes the last one.
        values[:, k] = names[np.nan_to_num(table.values[:, k], nan=-1).astype(int)]
    return values, list(table.columns)
