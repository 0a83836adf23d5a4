"""ACID: a learned conditional independence test for causal discovery with PC and FCI.

Importing the package is cheap: torch and causal-learn are loaded when a name that needs them is
first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acid_causal.causal_learn import ACID as ACID
    from acid_causal.causal_learn import acid as acid
    from acid_causal.data.sachs import load_sachs as load_sachs
    from acid_causal.discovery.discovery import discover as discover
    from acid_causal.discovery.knowledge import Knowledge as Knowledge
    from acid_causal.inference.tester import CITestResult as CITestResult
    from acid_causal.inference.tester import Tester as Tester
    from acid_causal.inference.tester import ci_test as ci_test
    from acid_causal.tables.frames import read_frame as read_frame
    from acid_causal.training.finetuning import finetune as finetune
    from acid_causal.weights.checkpoint import load_model as load_model

    __version__: str

_MODULE_OF = {
    "ACID": "causal_learn",
    "CITestResult": "inference.tester",
    "Knowledge": "discovery.knowledge",
    "Tester": "inference.tester",
    "acid": "causal_learn",
    "ci_test": "inference.tester",
    "discover": "discovery.discovery",
    "finetune": "training.finetuning",
    "load_model": "weights.checkpoint",
    "load_sachs": "data.sachs",
    "read_frame": "tables.frames",
}

__all__ = [
    "ACID",
    "CITestResult",
    "Knowledge",
    "Tester",
    "__version__",
    "acid",
    "ci_test",
    "discover",
    "finetune",
    "load_model",
    "load_sachs",
    "read_frame",
]


def __getattr__(name: str) -> object:
    """Loads a public name when it is first used (PEP 562)."""
    value: object
    if name == "__version__":
        value = import_module("importlib.metadata").version("acid-causal")
    elif name in _MODULE_OF:
        value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # from now on found without this function
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
