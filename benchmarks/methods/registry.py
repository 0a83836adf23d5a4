"""All methods by name.

`acid` is the default model of `acid_causal`. `acid:NAME` is another one, by its name or the path of
its weights file.
"""

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path

from acid_causal.errors import unknown
from acid_causal.options import defaults
from acid_causal.weights.shipped import available_models
from benchmarks.methods import andrey, causal_learn, causalts_kci, gcm, lcit, learned, scit
from benchmarks.methods.method import Method

DEFAULT_MODEL = defaults.MODEL
# Trained as the paper's model: on the six data models alone, with links MLP-16.
AS_IN_THE_PAPER = "acid:acid-mlp16"
FAST = "acid:acid-fast"
PERMUTATION, CHECKED = "acid-permutation", "acid-checked"

_SIZED_NULL = 'trained on the six data models alone; null="sized", given n and d_z.'

_CLASSICAL = {
    method.name: method
    for module in (causal_learn, scit, lcit, gcm, causalts_kci, andrey)
    for method in module.METHODS
}


def get_method(name: str) -> Method:
    """Finds a method by the name that `--methods` takes.

    Raises:
        OptionError: There is no such method.
    """
    base, _, model = name.partition(":")
    if base == "acid":
        model = model or DEFAULT_MODEL
        return Method(
            name,
            partial(learned.one_by_one, model=model),
            note=_SIZED_NULL if learned.load(model).default_null == "sized" else "",
            in_batches=partial(learned.in_batches, model=model),
        )
    if base == PERMUTATION:
        return Method(
            name,
            partial(learned.one_by_one, model=model or DEFAULT_MODEL, null="permutation"),
            note=f'null="permutation", with {defaults.PERMUTATIONS} permutations of each table.',
        )
    if base == CHECKED:
        return Method(
            name,
            partial(learned.one_by_one, model=model or DEFAULT_MODEL, null="checked"),
            note='null="checked": rejections at .05 are checked by permutations of the table.',
        )
    if name not in _CLASSICAL:
        raise unknown("method", name, (*_CLASSICAL, "acid", PERMUTATION, CHECKED))
    return _CLASSICAL[name]


def pick(requested: Iterable[str], offered: Sequence[str]) -> list[str]:
    """Checks requested names against those that an experiment offers.

    Raises:
        OptionError: The experiment has no such method.
    """
    names = list(dict.fromkeys(requested))
    for name in names:
        if name.partition(":")[0] not in offered:
            raise unknown("method", name, offered)
    return names


def weights_sha256(name: str) -> str:
    """Returns the SHA-256 of a method's weights file; "" if it has none or the file is missing.

    For a model that a benchmark fine-tunes it is the file before fine-tuning.
    """
    base, _, model = name.partition(":")
    if base.partition("-")[0] != "acid":
        return ""
    name = model or DEFAULT_MODEL
    path = available_models().get(name, Path(name))
    return _sha256(path) if path.is_file() else ""


@cache
def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
