"""The null drawn from the user's own data: its formula, its level, and what must not move it."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from causallearn.search.ConstraintBased.PC import pc
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom
from torch import nn

from acid_causal import acid
from acid_causal.errors import OptionError
from acid_causal.inference.nulls.neighbourhoods import neighbourhoods, permutations
from acid_causal.inference.rows.hashes import read_content
from acid_causal.inference.rows.rows import Rows
from acid_causal.inference.tester import Tester, ci_test
from acid_causal.model.acid import Conditioning, TargetEncoding
from acid_causal.weights.checkpoint import TrainedModel


def trained_on_levels(model: TrainedModel) -> TrainedModel:
    """The same model, which has nothing to say about ties."""
    stream = replace(model.recipe.stream, discrete=0.2)
    return replace(model, recipe=replace(model.recipe, stream=stream))


def test_p_value_by_its_formula(tiny_model: TrainedModel, table: np.ndarray) -> None:
    """Each permuted table is tested as a table of its own, and the larger statistics counted."""
    x = table[:50]
    rows = Rows(Tester(x, model=tiny_model).table, (), tiny_model.network)
    for i, j, cond in ((0, 1, ()), (0, 2, (1,)), (3, 4, (2, 5))):
        content = read_content(rows.ranks((i,)), rows.ranks((j,)), rows.ranks(cond))
        drawn = permutations(
            content.keys,
            neighbourhoods(content.z, np.hstack([content.x, content.y])),
            range(19),
        )
        moves = i if content.swapped else j
        observed = Tester(x, model=tiny_model).test(i, j, cond).statistic
        statistics = []
        for taken in drawn:
            copy = x.copy()
            copy[:, moves] = x[taken, moves]
            statistics.append(Tester(copy, model=tiny_model).test(i, j, cond).statistic)
        got = Tester(x, model=tiny_model, null="permutation", permutations=19).test(i, j, cond)
        assert got.pvalue == (1 + sum(t >= observed for t in statistics)) / 20
        assert got.statistic == pytest.approx(observed, abs=1e-4)
        assert got.log_pvalue == pytest.approx(np.log(got.pvalue))


@pytest.mark.parametrize("kind", ["nothing", "two values"])
def test_the_level_is_exact_where_neighbours_are_exchangeable(
    tiny_model: TrainedModel, kind: str
) -> None:
    """With no Z, or one of two values, even a network without training gives exact p-values."""
    rng = np.random.default_rng(0)
    tests, level = 40, 0.2
    rejected = 0
    for _ in range(tests):
        z = rng.integers(0, 2, size=(30, 1)) if kind == "two values" else np.zeros((30, 1))
        x, y = 2 * z + rng.exponential(size=(2, 30, 1))
        data = np.hstack([x, y, z])
        cond = (2,) if z.any() else ()
        model = trained_on_levels(tiny_model)
        tester = Tester(data, model=model, null="permutation", permutations=19)
        rejected += tester.test(0, 1, cond).pvalue <= level
    low, high = binom.ppf([0.0005, 0.9995], tests, level)
    assert low <= rejected <= high


class FirstStatistics(nn.Module):
    """In place of a trained classifier: the sum of the heads' studentised covariances."""

    def forward(self, statistics: torch.Tensor) -> torch.Tensor:
        return statistics[:, :4].sum(dim=1, keepdim=True)


def test_dependence_is_found(tiny_model: TrainedModel) -> None:
    network = copy.deepcopy(tiny_model.network)
    network.classifier = nn.Sequential(FirstStatistics())
    model = replace(tiny_model, network=network)
    rng = np.random.default_rng(1)
    z = rng.normal(size=(80, 2))
    x = z[:, 0] + rng.normal(size=80)
    noise = rng.normal(size=80)

    def pvalue(y: np.ndarray) -> float:
        return ci_test(x, y, z, model=model, null="permutation", permutations=39).pvalue

    assert pvalue(z[:, 0] + x + 0.1 * noise) == 1 / 40
    assert pvalue(z[:, 0] + noise) > 0.1


def test_tables_of_few_values_are_shuffled_well(tiny_model: TrainedModel) -> None:
    """Of two binary variables all counts of (1, 1) are drawn as often as chance has them."""
    rng = np.random.default_rng(0)
    x = np.repeat([0, 1], 20)
    y = np.where(rng.random(40) < 0.9, x, 1 - x)
    ranked = (2 * x[:, None], 2 * y[:, None], np.empty((40, 0), dtype=np.int64))
    content = read_content(*ranked)
    drawn = permutations(content.keys, np.zeros(40, dtype=np.int64), range(2000))
    counts = (content.x[:, 0] * content.y[drawn][..., 0] // 4).sum(axis=1)
    share = hypergeom(40, int(y.sum()), 20).pmf(np.arange(21))
    observed = np.bincount(counts, minlength=21) / 2000
    assert np.abs(observed - share).max() < 0.05
    found = ci_test(x, y, model="acid-base", null="permutation", permutations=39)
    assert found.pvalue == 1 / 40


@pytest.mark.filterwarnings("ignore:a deterministic relation")
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), d_z=st.integers(0, 3), levels=st.sampled_from([None, 3]))
def test_invariances(tiny_model: TrainedModel, seed: int, d_z: int, levels: int | None) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40, 2 + d_z)) @ rng.normal(size=(2 + d_z, 2 + d_z))
    if levels:
        x = np.floor(levels * x.argsort(axis=0).argsort(axis=0) / 40)
    model = trained_on_levels(tiny_model)

    def ask(data: np.ndarray, i: int, j: int, cond: Sequence[int]) -> float:
        tester = Tester(data, model=model, null="permutation", permutations=19)
        return tester.test(i, j, cond).pvalue

    cond = tuple(range(2, 2 + d_z))
    expected = ask(x, 0, 1, cond)
    columns, rows = rng.permutation(2 + d_z), rng.permutation(40)
    inverse = np.argsort(columns)
    scale = np.exp(rng.normal(scale=3, size=2 + d_z))
    assert ask(x, 1, 0, [*cond[::-1], *cond]) == expected
    assert ask(x[rows], 0, 1, cond) == expected
    assert ask(scale * x + scale, 0, 1, cond) == expected
    turned = ask(x[:, columns], inverse[0], inverse[1], [inverse[k] for k in cond])
    assert turned == expected


def test_batches_move_nothing(tiny_model: TrainedModel, table: np.ndarray) -> None:
    asked = [(0, 1, ()), (0, 2, ()), (0, 3, (2,)), (1, 4, (2,)), (4, 5, (0, 1))]
    options: dict[str, Any] = {"model": tiny_model, "null": "permutation", "permutations": 19}
    expected = [r.pvalue for r in Tester(table, **options).test_many(asked)]
    small = Tester(table, **options, batch_entries=1, cache_bytes=0)
    assert [small.test(*question).pvalue for question in asked] == expected


def test_copies_are_encoded_within_the_bound(
    tiny_model: TrainedModel, table: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[int] = []
    encode = tiny_model.network.encode_targets

    def spy(x: torch.Tensor, conditioning: Conditioning, **kind: bool) -> TargetEncoding:
        encoded.append(x.numel())
        return encode(x, conditioning, **kind)

    monkeypatch.setattr(tiny_model.network, "encode_targets", spy)
    options: dict[str, Any] = {"null": "permutation", "permutations": 30, "batch_entries": 1000}
    Tester(table, model=tiny_model, **options).test(0, 1, (2, 3))
    assert max(encoded) <= 1000
    assert sum(encoded) == (2 + 30) * 120


def test_several_components(tiny_model: TrainedModel, table: np.ndarray) -> None:
    x, y, z = table[:40, :2], table[:40, 3:5], table[:40, [5]]
    options: dict[str, Any] = {"model": tiny_model, "null": "permutation", "permutations": 19}
    expected = ci_test(x, y, z, **options).pvalue
    assert ci_test(y[:, ::-1], x, z, **options).pvalue == expected


def test_pc_with_permutations(tiny_model: TrainedModel, table: np.ndarray) -> None:
    options: dict[str, Any] = {"model": tiny_model, "null": "permutation", "permutations": 19}
    found = pc(table[:60, :4], 0.05, acid, show_progress=False, **options)
    pvalues = found.test.pvalue_cache
    assert len(pvalues) >= 6
    for question, pvalue in pvalues.items():
        assert pvalue == Tester(table[:60, :4], **options).test(*question).pvalue
        assert pvalue * 20 == pytest.approx(round(pvalue * 20), abs=1e-9)


@pytest.mark.usefixtures("wrong_types")
@pytest.mark.parametrize("wrong", [18, 0, -5, 99.0, "199", True, None])
def test_too_few_permutations_are_refused(
    tiny_model: TrainedModel, table: np.ndarray, wrong: Any
) -> None:
    with pytest.raises(OptionError, match="permutations must be a whole number, 19 or more"):
        Tester(table, model=tiny_model, permutations=wrong)


def test_permutations_must_reach_the_level(tiny_model: TrainedModel, table: np.ndarray) -> None:
    """With 199 no p-value is below .005, so that nothing would be rejected at .001."""
    options: dict[str, Any] = {"model": tiny_model, "null": "permutation"}
    message = "permutations must be a whole number, 999 or more at alpha = 0.001, not 199"
    with pytest.raises(OptionError, match=message):
        Tester(table, **options, alpha=0.001)
    with pytest.raises(OptionError, match=message):
        pc(table[:, :3], 0.001, acid, null="permutation", show_progress=False)
    Tester(table, **options, alpha=0.001, permutations=999)


@pytest.mark.usefixtures("wrong_types")
def test_the_fingerprint_knows_the_number_of_permutations(
    tiny_model: TrainedModel, table: np.ndarray
) -> None:
    def fingerprint(**options: Any) -> str:
        return Tester(table, model=tiny_model, **options).fingerprint

    assert fingerprint(null="permutation") != fingerprint()
    assert fingerprint(null="permutation") == fingerprint(null="permutation", permutations=199)
    assert fingerprint(null="permutation") != fingerprint(null="permutation", permutations=99)
    assert fingerprint(permutations=99) == fingerprint()  # a fitted null draws nothing
    of_numpy: Any = np.int64(19)
    assert Tester(table, model=tiny_model, permutations=of_numpy).permutations == 19


def test_random_state_is_neither_used_nor_moved(
    tiny_model: TrainedModel, table: np.ndarray
) -> None:
    options: dict[str, Any] = {"model": tiny_model, "null": "permutation", "permutations": 19}
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    expected = Tester(table, **options).test(0, 2, (1,)).pvalue
    state = torch.get_rng_state()
    torch.manual_seed(2)
    np.random.seed(2)  # noqa: NPY002
    assert Tester(table, **options).test(0, 2, (1,)).pvalue == expected
    torch.manual_seed(1)
    assert torch.equal(torch.get_rng_state(), state)
