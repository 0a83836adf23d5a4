"""ACID as a test of andrey-core: importing this module registers the name "acid" there.

    import andrey
    import acid_causal.andrey

    found = andrey.pc(frame, indep_test="acid")

andrey-core's `pc`, `fci` and `cdnod` take the name of a test and no options for it. `register`
gives a test with other options a name of its own.
"""

from collections.abc import Iterable
from typing import Any

from acid_causal import causal_learn
from acid_causal.causal_learn.adapter import TEST_NAME, check_options
from acid_causal.errors import InputError, missing_extra

try:
    from andrey.core.ci import SHIPPED_INDEP_TESTS, register_indep_test
except ModuleNotFoundError as error:
    raise missing_extra("andrey", error) from error


class ACID:
    """A test that andrey-core calls with the numbers of columns.

    How it works: the questions of a level of PC are predicted and computed in one batch, as in
    causal-learn.

    Limitations: those of `acid_causal.ACID`.

    Args:
        data: table (n, d), which andrey-core passes.
        **options: of `acid_causal.ACID`: model, device, null, cache_path, ... The level of
            `null="checked"` is that of the search, unless `alpha` is given.

    Attributes:
        test: answers the questions; it has their statistics and counts.

    Raises:
        InputError, InputTypeError, OptionError, ModelError: see `acid_causal.ACID`.
    """

    def __init__(self, data: Any, **options: Any) -> None:
        self.test = causal_learn.ACID(data, **options)

    def __call__(self, x: int, y: int, condition_set: Iterable[int] = ()) -> float:
        """Tests column x against column y given the columns of the set; returns the p-value."""
        # andrey-core asks about a pair from both ends in turn; prediction goes by the first column.
        return self.test(min(x, y), max(x, y), condition_set)

    def __repr__(self) -> str:
        return f"ACID({self.test!r})"


def register(name: str, **options: Any) -> None:
    """Registers ACID with some options under a name, for `indep_test=name`.

    Args:
        name: a new name; "acid" changes the options of that one.
        **options: see `ACID`.

    Raises:
        InputError: andrey-core has a test of this name that is not ours.
        OptionError: there is no such option.
    """
    check_options(options)
    if name in SHIPPED_INDEP_TESTS:
        raise InputError(f"andrey-core has its own test {name!r}; choose another name")

    def make(data: Any, **more: Any) -> ACID:
        return ACID(data, **options | more)

    register_indep_test(name, make)


register(TEST_NAME)
