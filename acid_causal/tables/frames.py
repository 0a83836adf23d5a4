"""Data frames for libraries that take arrays alone, as causal-learn does."""

from typing import Any

from acid_causal import defaults
from acid_causal.tables.inputs import Array, read_table


def read_frame(data: Any, *, missing: str = defaults.MISSING) -> tuple[Array, list[str]]:
    """Returns the values and the names of a DataFrame's columns, as `pc` and `fci` take them.

    ```python
    data, names = read_frame(frame)
    pc(data, 0.05, acid, node_names=names)
    ```

    Args:
        data: DataFrame or array of numbers, samples by variables, (n, d).
        missing: "raise", or "drop" for a test that is given the same option.

    Returns:
        A new array, (n, d), and d names; those of an array's columns are X1, X2 and so on.

    Raises:
        InputError, InputTypeError, OptionError: see `acid_causal.tables.inputs.read_table`.
    """
    table = read_table(data, missing=missing)
    return table.values, list(table.columns)
