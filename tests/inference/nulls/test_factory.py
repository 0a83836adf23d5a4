"""Every kind of null, by its name."""

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from acid_causal.errors import OptionError
from acid_causal.inference.nulls.factory import make_null, takes_level
from acid_causal.inference.tester import Tester
from acid_causal.options.choices import FITTED, NULLS
from acid_causal.weights.checkpoint import TrainedModel


@pytest.mark.parametrize("null", NULLS)
def test_each_kind_answers_and_survives_copies(
    tiny_model: TrainedModel, table: np.ndarray, null: str
) -> None:
    tester = Tester(table, model=tiny_model, null=null, permutations=19)
    expected = tester.test(0, 1, (2,))
    assert 0 < expected.pvalue <= 1
    assert expected.log_pvalue == pytest.approx(np.log(expected.pvalue))
    for same in (copy.deepcopy(tester), pickle.loads(pickle.dumps(tester))):
        assert same.test(0, 1, (2,)).pvalue == expected.pvalue
        assert same.fingerprint == tester.fingerprint


def test_fingerprints_tell_kinds_apart_and_permutations_where_they_matter(
    tiny_model: TrainedModel, table: np.ndarray
) -> None:
    def fingerprint(null: str, permutations: int) -> str:
        return Tester(table, model=tiny_model, null=null, permutations=permutations).fingerprint

    assert len({fingerprint(null, 19) for null in NULLS}) == len(NULLS)
    assert fingerprint("conditional", 19) == fingerprint("conditional", 29)
    assert fingerprint("permutation", 19) != fingerprint("permutation", 29)


def test_least_levels(tiny_model: TrainedModel, table: np.ndarray) -> None:
    """Fitted p-values serve at every level, drawn ones from some level on."""

    def least(null: str, **options: Any) -> float:
        return Tester(table, model=tiny_model, null=null, **options).least_alpha

    assert [least(null) for null in FITTED] == [0.0] * len(FITTED)
    assert least("permutation", permutations=19) == 0.05
    assert least("permutation", permutations=999) == 0.001
    assert least("checked", alpha=0.02) == 0.02


def test_nulls_say_what_callers_ask(tiny_model: TrainedModel, table: np.ndarray) -> None:
    """Which names take a level, whose decisions hold at one level alone, and what each costs."""
    testers = {null: Tester(table, model=tiny_model, null=null, permutations=29) for null in NULLS}
    assert [null for null in NULLS if takes_level(null)] == ["permutation", "checked"]
    assert not takes_level(None)
    assert not takes_level([])
    for null, tester in testers.items():
        assert takes_level(null) == (tester.least_alpha > 0)
        assert tester.at_one_level == (null == "checked")
        assert tester._null.cost == (29 if null == "permutation" else 1)


def test_the_weights_file_says_which_null_is_used(
    tiny_model: TrainedModel, table: np.ndarray
) -> None:
    pooled = replace(tiny_model, default_null="pooled")
    tester = Tester(table, model=pooled)
    assert tester.null == "pooled"
    asked = (0, 2, (1,))
    assert tester.test(*asked) == Tester(table, model=tiny_model, null="pooled").test(*asked)
    assert tester.test(*asked).pvalue != Tester(table, model=tiny_model).test(*asked).pvalue
    assert Tester(table, model=pooled, null="conditional").null == "conditional"


def test_unknown_names(tiny_model: TrainedModel, table: np.ndarray) -> None:
    with pytest.raises(OptionError, match=r"unknown null 'poold'.* 'pooled'"):
        Tester(table, model=tiny_model, null="poold")
    with pytest.raises(OptionError, match="unknown null 'of-tomorrow'"):
        Tester(table, model=replace(tiny_model, default_null="of-tomorrow"))
    options: dict[str, Any] = {
        "permutations": 19,
        "alpha": 0.05,
        "draws": None,
        "batch_entries": 1000,
    }
    with pytest.raises(OptionError, match="unknown null"):
        make_null("poold", tiny_model, tiny_model.network, **options)
