"""The test as users call it: invariances, degenerate data, caching, batching, concurrency."""

import copy
import gc
import math
import pickle
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from acid_causal.calibration.facts import Facts
from acid_causal.errors import AcidWarning, InputError, InputTypeError, ModelError, OptionError
from acid_causal.inference.tester import Tester, ci_test
from acid_causal.options.choices import FITTED
from acid_causal.tables.inputs import Question
from acid_causal.weights.checkpoint import TrainedModel, load_model

TOLERANCE = 1e-4


def questions(d: int, sizes: tuple[int, ...] = (0, 1, 2)) -> list[Question]:
    return [
        (i, j, cond)
        for i, j in combinations(range(d), 2)
        for size in sizes
        for cond in combinations([k for k in range(d) if k not in (i, j)], size)
    ]


def pvalues(tester: Tester, asked: list[Question]) -> np.ndarray:
    return np.array([result.pvalue for result in tester.test_many(asked)])


def test_ci_test_equals_the_tester(tiny_model: TrainedModel, table: np.ndarray) -> None:
    tester = Tester(table, model=tiny_model)
    for cond in ((), (4,), (1, 4, 5)):
        z = table[:, list(cond)] if cond else None
        one = ci_test(table[:, 0], table[:, [3]], z, model=tiny_model)
        assert one.pvalue == pytest.approx(tester.test(0, 3, cond).pvalue, abs=TOLERANCE)
        assert type(one.pvalue) is float
        assert one.n == 120
        assert one.pvalue == pytest.approx(np.exp(one.log_pvalue))


def test_settings_tell_what_the_columns_are(tiny_model: TrainedModel) -> None:
    frame = pd.DataFrame(
        {"a": np.arange(30.0), "kind": ["x", "y", "z"] * 10, "size": ["S", "L"] * 15}
    )
    tester = Tester(frame, model=tiny_model, ordered={"size": ["S", "L"]}, null="pooled")
    assert tester.settings == {
        "model": {"name": "tiny", "sha256": tiny_model.sha256},
        "null": "pooled",
        "device": str(tester.device),
        "variables": [
            {"name": "a", "type": "numeric", "levels": None},
            {"name": "kind", "type": "categorical", "levels": ["x", "y", "z"]},
            {"name": "size", "type": "ordered", "levels": ["S", "L"]},
        ],
    }


def test_batches_and_caches_move_nothing(tiny_model: TrainedModel, table: np.ndarray) -> None:
    asked = questions(4)
    expected = pvalues(Tester(table, model=tiny_model), asked)
    alone = Tester(table, model=tiny_model, batch_entries=1, cache_bytes=0)
    np.testing.assert_allclose(pvalues(alone, asked), expected, atol=TOLERANCE)
    again = Tester(table, model=tiny_model)
    one_by_one = [again.test(*question).pvalue for question in asked]
    np.testing.assert_allclose(one_by_one, expected, atol=TOLERANCE)
    backwards = pvalues(Tester(table, model=tiny_model), asked[::-1])[::-1]
    np.testing.assert_allclose(backwards, expected, atol=TOLERANCE)


@pytest.mark.filterwarnings("ignore:a deterministic relation")
@settings(max_examples=16, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), d_z=st.integers(0, 4))
def test_invariances(tiny_model: TrainedModel, seed: int, d_z: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 2 + d_z)) @ rng.normal(size=(2 + d_z, 2 + d_z))
    tester = Tester(x, model=tiny_model)
    cond = tuple(range(2, 2 + d_z))
    expected = tester.test(0, 1, cond).pvalue
    columns, rows = rng.permutation(2 + d_z), rng.permutation(60)
    inverse = np.argsort(columns)
    scale = np.exp(rng.normal(scale=5, size=2 + d_z))
    for same in (
        tester.test(1, 0, cond).pvalue,
        tester.test(0, 1, set(cond)).pvalue,
        tester.test(0, 1, [*cond, *cond]).pvalue,
        Tester(x[rows], model=tiny_model).test(0, 1, cond).pvalue,
        Tester(scale * x + scale, model=tiny_model).test(0, 1, cond).pvalue,
        Tester(x[:, columns], model=tiny_model)
        .test(inverse[0], inverse[1], [inverse[k] for k in cond])
        .pvalue,
    ):
        assert same == pytest.approx(expected, abs=TOLERANCE)
        assert 0 <= same <= 1


def test_kinds_of_arrays_make_no_difference(tiny_model: TrainedModel, table: np.ndarray) -> None:
    asked = questions(6, sizes=(1,))
    table = np.round(table, 2)
    before = table.copy()
    expected = pvalues(Tester(table, model=tiny_model), asked)
    for same in (table.astype(np.float32), np.asfortranarray(table), pd.DataFrame(table)):
        np.testing.assert_allclose(
            pvalues(Tester(same, model=tiny_model), asked), expected, atol=TOLERANCE
        )
    np.testing.assert_array_equal(table, before)


def test_several_components(tiny_model: TrainedModel, table: np.ndarray) -> None:
    x, y, z = table[:, :2], table[:, 3:5], table[:, [5]]
    expected = ci_test(x, y, z, model=tiny_model).pvalue
    assert ci_test(y, x, z, model=tiny_model).pvalue == pytest.approx(expected, abs=TOLERANCE)
    swapped = ci_test(x[:, ::-1], y, z, model=tiny_model).pvalue
    assert swapped == pytest.approx(expected, abs=TOLERANCE)


def test_constant_columns(tiny_model: TrainedModel, table: np.ndarray) -> None:
    flat = np.column_stack([table, np.full(120, 3.0)])
    tester = Tester(flat, model=tiny_model)
    with pytest.warns(AcidWarning, match="X7"):
        assert tester.test(0, 6, (1,)).pvalue == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tester.test(6, 2).pvalue == 1.0  # warned of already
    assert tester.test(0, 3, (2, 6)) == tester.test(0, 3, (2,))
    assert tester.test(0, 3, (6,)) == tester.test(0, 3)


def test_deterministic_relations(tiny_model: TrainedModel, table: np.ndarray) -> None:
    copies = np.column_stack([table, 3 * table[:, 2] + 1])
    tester = Tester(copies, model=tiny_model)
    with pytest.warns(AcidWarning, match="deterministic"):
        assert tester.test(6, 0, (2, 4)).pvalue == 1.0


def test_one_determined_component_leaves_the_others(tiny_model: TrainedModel) -> None:
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(size=(3, 150, 1))
    y = b + 0.01 * c
    with pytest.warns(AcidWarning, match="deterministic"):
        both = ci_test(np.hstack([a, b]), y, a, model=tiny_model)
    assert both.pvalue == pytest.approx(ci_test(b, y, a, model=tiny_model).pvalue, abs=TOLERANCE)


def test_the_null_is_asked_with_the_facts_of_the_question(
    tiny_model: TrainedModel, table: np.ndarray
) -> None:
    """The p-value assembled by hand from the network and the null."""
    network, x, y, z = tiny_model.network, table[:, :2], table[:, 2:4], table[:, 4:]
    tables = [network.transform(torch.from_numpy(v)[None]).float() for v in (x, y, z)]
    with torch.no_grad():
        conditioning = network.encode_conditioning(tables[2])
        one, two = (network.encode_targets(t[:, None], conditioning) for t in tables[:2])
        statistic = network.score(one, two).double().numpy()
    facts = Facts(
        n=np.array([120.0]),
        d_z=np.array([2.0]),
        explained_x=one.explained.amax(1).double().numpy(),
        explained_y=two.explained.amax(1).double().numpy(),
        pairs=np.array([4.0]),
        nonlinear_x=np.zeros(1),
        nonlinear_y=np.zeros(1),
        categories=np.zeros(1),
        few_values=np.zeros(1),
        ties_x=np.full(1, 1 / 120),
        ties_y=np.full(1, 1 / 120),
    )
    expected = np.exp(tiny_model.null.fitted("conditional").logsf(statistic, facts))[0]
    got = ci_test(x, y, z, model=tiny_model)
    assert got.statistic == pytest.approx(float(statistic[0]), abs=1e-4)
    assert got.pvalue == pytest.approx(float(expected), abs=TOLERANCE)
    assert got.probability == pytest.approx(1 / (1 + np.exp(-statistic[0])), abs=1e-4)


def test_a_model_is_shared_without_being_moved(tiny_model: TrainedModel, table: np.ndarray) -> None:
    first = Tester(table, model=tiny_model)
    Tester(table, model=tiny_model, device="cpu")
    assert first._network is tiny_model.network
    assert 0 <= first.test(0, 1).pvalue <= 1


@pytest.mark.filterwarnings("ignore:.* holds a column of few different values")
def test_discrete_conditioning_sets_in_any_order(tiny_model: TrainedModel) -> None:
    rng = np.random.default_rng(11)
    x = np.sign(rng.normal(size=(200, 7)))
    x[:, :2] = rng.normal(size=(200, 2)) + x[:, 2:3]
    cond = range(2, 7)
    expected = Tester(x, model=tiny_model).test(0, 1, cond).pvalue
    rows = rng.permutation(200)
    shuffled = Tester(x[rows], model=tiny_model).test(0, 1, cond).pvalue
    turned = Tester(x[:, [0, 1, 6, 5, 4, 3, 2]], model=tiny_model).test(0, 1, cond).pvalue
    assert shuffled == pytest.approx(expected, abs=TOLERANCE)
    assert turned == pytest.approx(expected, abs=TOLERANCE)


def test_collinear_conditioning_sets_are_finite(
    tiny_model: TrainedModel, table: np.ndarray
) -> None:
    near = table[:, 0] + table[:, 1] + 1e-8 * table[:, 4]
    tester = Tester(np.column_stack([table, near, near]), model=tiny_model)
    for cond in ((0, 1, 6), (6, 7), (0, 6, 7)):
        assert np.isfinite(tester.test(2, 3, cond).pvalue)


def test_extreme_scales(tiny_model: TrainedModel, table: np.ndarray) -> None:
    asked = questions(6, sizes=(1,))
    expected = pvalues(Tester(table, model=tiny_model), asked)
    scales = np.array([1e-300, 1e-12, 1.0, 1e12, 1e290, 1.0])
    scaled = pvalues(Tester(table * scales, model=tiny_model), asked)
    np.testing.assert_allclose(scaled, expected, atol=TOLERANCE)
    outlier = table.copy()
    outlier[0] = 1e12
    assert np.isfinite(pvalues(Tester(outlier, model=tiny_model), asked)).all()


def test_dropping_rows_is_dropping_them_by_hand(
    tiny_model: TrainedModel, table: np.ndarray
) -> None:
    holes = table.copy()
    holes[:7, 2] = np.nan
    holes[5:20, 4] = np.nan
    tester = Tester(holes, model=tiny_model, missing="drop")
    for asked, complete in (
        ((0, 1, (3,)), table),
        ((0, 1, (2,)), table[7:]),
        ((0, 4, (2,)), table[20:]),
        ((0, 4, (3,)), np.vstack([table[:5], table[20:]])),
    ):
        expected = Tester(complete, model=tiny_model).test(*asked)
        got = tester.test(*asked)
        assert got.n == len(complete)
        assert got.pvalue == pytest.approx(expected.pvalue, abs=TOLERANCE)
    with pytest.raises(InputError, match="missing"):
        Tester(holes, model=tiny_model)


def test_no_complete_row(tiny_model: TrainedModel, table: np.ndarray) -> None:
    holes = table.copy()
    holes[:60, 0] = np.nan
    holes[58:, 1] = np.nan
    tester = Tester(holes, model=tiny_model, missing="drop")
    with pytest.warns(AcidWarning, match="0 complete rows"):
        assert tester.test(0, 1).pvalue == 1.0
    assert tester.test(0, 2).n == 60


def test_sizes_beyond_training(tiny_model: TrainedModel, table: np.ndarray) -> None:
    with pytest.warns(AcidWarning, match="fewer than the 20"):
        p = Tester(table[:10], model=tiny_model).test(0, 1, (2,)).pvalue
    assert 0 <= p <= 1
    wide = np.random.default_rng(0).normal(size=(50, 42))
    with pytest.warns(AcidWarning, match=r"\|Z\| = 40 is larger than the 5"):
        p = Tester(wide, model=tiny_model).test(0, 1, range(2, 42)).pvalue
    assert 0 <= p <= 1


def test_lengths_must_agree(tiny_model: TrainedModel, table: np.ndarray) -> None:
    with pytest.raises(InputError, match="x has 120, y has 119"):
        ci_test(table[:, 0], table[1:, 1], model=tiny_model)


def test_options_are_checked(tiny_model: TrainedModel, table: np.ndarray) -> None:
    with pytest.raises(OptionError, match="conditional"):
        Tester(table, model=tiny_model, null="conditonal")
    with pytest.raises(OptionError, match="acid-base"):
        Tester(table, model="acid-bse")
    with pytest.raises(OptionError, match="no such device"):
        Tester(table, model=tiny_model, device="gpu")
    of_before = replace(tiny_model, null=replace(tiny_model.null, sized=None))
    with pytest.raises(OptionError, match="no sized null"):
        Tester(table, model=of_before, null="sized")


def test_nulls_differ_and_all_are_p_values(tiny_model: TrainedModel, table: np.ndarray) -> None:
    asked = questions(6, sizes=(1,))
    by_null = [pvalues(Tester(table, model=tiny_model, null=null), asked) for null in FITTED]
    for one, other in combinations(by_null, 2):
        assert ((one >= 0) & (one <= 1)).all()
        assert not np.allclose(one, other, atol=1e-3)


def test_fingerprint_knows_data_weights_and_options(
    tiny_model: TrainedModel, table: np.ndarray
) -> None:
    prints = [Tester(table, model=tiny_model).fingerprint]
    changed = table.copy()
    changed[50, 3] += 1e-9
    prints.append(Tester(changed, model=tiny_model).fingerprint)
    prints.append(Tester(table, model=tiny_model, null="pooled").fingerprint)
    assert len(set(prints)) == 3
    assert Tester(table.copy(), model=tiny_model).fingerprint == prints[0]


def test_threads_copies_and_pickles_answer_alike(
    tiny_model: TrainedModel, table: np.ndarray
) -> None:
    asked = questions(4)
    tester = Tester(table, model=tiny_model, cache_bytes=20_000)
    expected = pvalues(tester, asked)
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda q: tester.test(*q).pvalue, asked))
    np.testing.assert_allclose(got, expected, atol=TOLERANCE)
    for other in (copy.deepcopy(tester), pickle.loads(pickle.dumps(tester))):
        np.testing.assert_allclose(pvalues(other, asked), expected, atol=TOLERANCE)


def test_a_pickle_is_hardly_larger_than_its_table(
    table: np.ndarray, tiny_model: TrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    tester = Tester(table)
    expected = tester.test(0, 3, (1, 2))
    sent = pickle.dumps(tester)
    assert len(sent) < table.nbytes + 2000
    assert pickle.loads(sent).test(0, 3, (1, 2)) == expected
    mine = Tester(table, model=load_model("acid-base"))  # which may be anything
    assert pickle.loads(pickle.dumps(mine)).test(0, 3, (1, 2)) == expected
    monkeypatch.setattr("acid_causal.inference.tester.shared_model", lambda _: tiny_model)
    with pytest.raises(ModelError, match="acid-base has other weights here"):
        pickle.loads(sent)


def test_copies_of_one_process_warn_once(tiny_model: TrainedModel, table: np.ndarray) -> None:
    """A worker is sent the test anew with each task."""
    table = table.copy()
    table[:, 0] = 1.0
    sent = pickle.dumps(Tester(table, model=tiny_model))
    with pytest.warns(AcidWarning, match="constant"):
        pickle.loads(sent).test(0, 1)
    pickle.loads(sent).test(0, 2)  # warnings are errors here
    with pytest.warns(AcidWarning, match="constant"):
        Tester(table, model=tiny_model).test(0, 1)


@pytest.mark.parametrize("null", ["pooled", "permutation", "checked"])
@pytest.mark.parametrize("alpha", [0, 1.0, 5, math.nan, "0.05", None])
@pytest.mark.usefixtures("wrong_types")
def test_a_level_is_checked_whatever_the_null(
    tiny_model: TrainedModel, table: np.ndarray, null: str, alpha: Any
) -> None:
    with pytest.raises(OptionError, match=f"alpha must be between 0 and 1, not {alpha!r}"):
        Tester(table, model=tiny_model, null=null, alpha=alpha)
    with pytest.raises(OptionError, match="alpha must be between 0 and 1"):
        ci_test(table[:, 0], table[:, 1], model=tiny_model, null=null, alpha=alpha)


@pytest.mark.parametrize(
    ("option", "value", "least"),
    [
        ("batch_entries", 1000.5, 1),
        ("batch_entries", 0, 1),
        ("batch_entries", "many", 1),
        ("cache_bytes", 1e6, 0),
        ("cache_bytes", -1, 0),
        ("cache_bytes", None, 0),
    ],
)
@pytest.mark.usefixtures("wrong_types")
def test_bounds_are_whole_numbers(
    tiny_model: TrainedModel, table: np.ndarray, option: str, value: Any, least: int
) -> None:
    message = f"{option} must be a whole number, {least} or more, not {value!r}"
    with pytest.raises(OptionError, match=message):
        Tester(table, model=tiny_model, **{option: value})


def test_options_may_be_numbers_of_numpy(tiny_model: TrainedModel, table: np.ndarray) -> None:
    numbers: dict[str, Any] = {
        "alpha": np.float32(0.05),
        "batch_entries": np.int32(500),
        "cache_bytes": np.int64(0),
    }
    tester = Tester(table, model=tiny_model, **numbers)
    assert type(tester.alpha) is float
    expected = Tester(table, model=tiny_model).test(0, 1, (2,)).pvalue
    assert tester.test(0, 1, (2,)).pvalue == pytest.approx(expected, abs=TOLERANCE)


def test_sets_of_columns(tiny_model: TrainedModel, table: np.ndarray) -> None:
    expected = ci_test(table[:, :2], table[:, 3:5], table[:, 5], model=tiny_model)
    tester = Tester(table, model=tiny_model)
    assert tester.test_sets((0, 1), (3, 4), (5,)) == expected
    assert tester.test_sets([1, 0, 1], np.array([4, 3]), {np.int64(5)}) == expected
    assert tester.test_sets((2,), (0,)) == ci_test(table[:, 2], table[:, 0], model=tiny_model)


@pytest.mark.parametrize(
    ("sets", "error", "message"),
    [
        (((0,), (0,)), InputError, r"against itself \(column 0\)"),
        (((0, 1), (3, 1), (5,)), InputError, r"against itself \(column 1\)"),
        (((0,), (7,)), InputError, "column 7 is out of range: the table has columns 0 to 5"),
        (((0,), (1,), (-1,)), InputError, "column -1 is out of range"),
        (((0, 2), (1,), (3, 2)), InputError, r"column 2 is tested and .* at once; Z = \(2, 3\)"),
        (((0,), (1,), (1,)), InputError, "column 1 is tested and conditioned on at once"),
        (((), (1,)), InputError, "x has no column"),
        (((0,), (), (1,)), InputError, "y has no column"),
        ((0, (1,)), InputTypeError, "x must be a sequence of columns, not 0"),
        (((0,), "1"), InputTypeError, "y must be a sequence of columns, not '1'"),
        (((0,), (1,), 2), InputTypeError, "the conditioning set must be a sequence of columns"),
        (((0.0,), (1,)), InputTypeError, "a column index must be an integer"),
    ],
)
@pytest.mark.usefixtures("wrong_types")
def test_sets_of_columns_are_checked(
    tiny_model: TrainedModel, table: np.ndarray, sets: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Tester(table, model=tiny_model).test_sets(*sets)


def test_a_tester_is_shown_in_a_line(tiny_model: TrainedModel, table: np.ndarray) -> None:
    shown = repr(Tester(table, model=tiny_model, device="cpu"))
    assert shown == ("Tester(120 rows, 6 columns, model='tiny', null='conditional', device='cpu')")


def test_cache_is_bounded(tiny_model: TrainedModel, table: np.ndarray) -> None:
    tester = Tester(table, model=tiny_model, cache_bytes=1_000_000, batch_entries=500)
    tester.test_many(questions(6))
    kept = tester._engine.encodings
    assert 0 < kept.kept_bytes <= 1_000_000
    assert kept.kept_bytes == sum(encoded.targets.nbytes for encoded in kept._kept)
    # What was dropped is not found any more, and what is found is what is kept.
    assert {place.among for place in kept._places.values()} == set(kept._kept)
    assert len(kept._places) == sum(map(len, kept._kept.values()))


def test_what_is_larger_than_the_cache_leaves_the_rest(
    tiny_model: TrainedModel, table: np.ndarray
) -> None:
    tester = Tester(table, model=tiny_model, cache_bytes=100_000)
    tester.test(0, 1, (2,))
    kept = tester._engine.encodings
    before = kept.kept_bytes
    assert 0 < before < 100_000
    tester.test_many([(i, j, (3,)) for i in (0, 1, 2) for j in (4, 5)])
    assert kept.kept_bytes == before


def test_a_component_that_z_determines_is_left_out() -> None:
    rng = np.random.default_rng(0)
    z, e, noise = rng.normal(size=(3, 100))
    x = np.column_stack([2 * z, e])
    with pytest.warns(AcidWarning, match="determines part of a tested variable, which is left out"):
        answer = ci_test(x, e + noise, z)
    assert answer.pvalue < 1e-5
    with pytest.warns(AcidWarning, match=r"independent of everything \(p = 1\)"):
        assert ci_test(2 * z, e, z).pvalue == 1


def test_a_tester_is_freed_with_its_last_reference(
    tiny_model: TrainedModel, table: np.ndarray
) -> None:
    """Not when Python next looks for cycles: each holds up to `cache_bytes` of encodings."""
    tester = Tester(table, model=tiny_model)
    tester.test_many(questions(6, sizes=(0, 1)))
    watched = weakref.ref(tester)
    gc.disable()
    try:
        del tester
        assert watched() is None
    finally:
        gc.enable()


def test_progress_counts_every_question(tiny_model: TrainedModel, table: np.ndarray) -> None:
    counted: list[int] = []
    asked = questions(6)
    Tester(table, model=tiny_model, batch_entries=2000).test_many(asked, progress=counted.append)
    assert sum(counted) == len(asked)
    assert len(counted) > 2
