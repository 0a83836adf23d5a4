"""Heads and attention against their formulas, written out in numpy."""

import numpy as np
import pytest
import torch
from scipy.special import erf

from acid_causal.model.attention import MHAttn
from acid_causal.model.config import ModelConfig
from acid_causal.model.heads import (
    CrossCovarianceHead,
    Lifted,
    PaperHead,
    joint_correlations,
    residual_correlations,
    squared_norms,
)

N, D_X, D_Y, HEADS, WIDTH = 30, 2, 3, 2, 4


def features(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(1, D_X, HEADS, WIDTH, N, generator=generator)
    y = torch.randn(1, D_Y, HEADS, WIDTH, N, generator=generator)
    y[:, 1] = 0.7 * x[:, 0] + 0.5 * y[:, 1]
    return x - x.mean(4, keepdim=True), y - y.mean(4, keepdim=True)


def compared(
    head: PaperHead | CrossCovarianceHead, x: torch.Tensor, y: torch.Tensor
) -> torch.Tensor:
    lifted = (Lifted(v, squared_norms(v), head.spread(v)) for v in (x, y))
    return head.compare(*lifted).amax((1, 2))


def test_papers_head() -> None:
    x, y = features(0)
    head = PaperHead(ModelConfig(head="paper", head_count=HEADS, head_width=WIDTH))
    got = compared(head, x, y)[0]
    a, b = x[0].numpy(), y[0].numpy()
    for h in range(HEADS):
        pairs = [
            np.mean([(a[i, h, :, r] @ b[j, h, :, r]) ** 2 / WIDTH for r in range(N)])
            for i in range(D_X)
            for j in range(D_Y)
        ]
        np.testing.assert_allclose(got[h].item(), max(pairs), rtol=1e-5)


def test_cross_covariance_head() -> None:
    x, y = features(1)
    head = CrossCovarianceHead(ModelConfig(head_count=HEADS, head_width=WIDTH))
    got = compared(head, x, y)[0]
    a, b = x[0].double().numpy(), y[0].double().numpy()
    for h in range(HEADS):
        statistics, effects = [], []
        for i in range(D_X):
            for j in range(D_Y):
                u, v = a[i, h].T, b[j, h].T
                products = (u @ u.T) * (v @ v.T)
                t = (products.sum() - np.trace(products)) / N  # pairs of different rows only
                spread = np.linalg.norm(u.T @ u / N) * np.linalg.norm(v.T @ v / N)
                statistics.append(np.arcsinh(t / (np.sqrt(2) * spread)))
                effects.append(np.log(np.linalg.norm(u.T @ v / N) ** 2 / spread + 1e-6))
        np.testing.assert_allclose(got[h].item(), max(statistics), rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(got[HEADS + h].item(), max(effects), rtol=1e-3, atol=1e-4)


def test_studentised_statistic_is_standard_under_h0_even_if_spreads_move_together() -> None:
    """Features whose spreads share a cause, and whose means do not: t has mean 0 and sd about 1."""
    generator = torch.Generator().manual_seed(2)
    m, n = 2000, 200
    scale = torch.exp(0.5 * torch.randn(m, 1, 1, 1, n, generator=generator))
    x, y = (scale * torch.randn(m, 1, 1, 8, n, generator=generator) for _ in range(2))
    head = CrossCovarianceHead(ModelConfig(head_count=1, head_width=8))
    t = torch.sinh(compared(head, x, y)[:, 0])
    assert abs(t.mean()) < 5 * t.std() / m**0.5
    # The spreads' own dependence shows in the sd, as it must: within a factor of two.
    assert 0.8 < t.std() < 2.5


def attention_block() -> MHAttn:
    torch.manual_seed(0)
    block = MHAttn(8, 2, dropout=0.5).eval()
    with torch.no_grad():
        block.norm.weight.uniform_(0.5, 1.5)
        block.norm.bias.uniform_(-0.5, 0.5)
    return block


def by_formula(block: MHAttn, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The block for tokens (tokens_a, e) and (tokens_b, e) of one sample."""
    weights = {name: p.detach().numpy() for name, p in block.named_parameters()}
    query, key, value = (
        tokens @ weights[f"{name}.weight"].T
        for name, tokens in (("query", a), ("key", b), ("value", b))
    )
    heads = []
    for part in (slice(0, 4), slice(4, 8)):
        score = query[:, part] @ key[:, part].T / 2  # the root of a head's width
        score = np.exp(score - score.max(1, keepdims=True))
        heads.append(score / score.sum(1, keepdims=True) @ value[:, part])
    inner = query + np.hstack(heads)
    normed = (inner - inner.mean(1, keepdims=True)) / np.sqrt(inner.var(1, keepdims=True) + 1e-5)
    normed = normed * weights["norm.weight"] + weights["norm.bias"]
    hidden = normed @ weights["ffn.0.weight"].T + weights["ffn.0.bias"]
    hidden = 0.5 * hidden * (1 + erf(hidden / np.sqrt(2)))
    return query + hidden @ weights["ffn.2.weight"].T + weights["ffn.2.bias"]


# One token, few on either side, and so many that other ways of computing take over.
@pytest.mark.parametrize("tokens", [(3, 5), (4, 1), (2, 30), (30, 2), (15, 20), (70, 80)])
def test_attention_is_the_papers_formula(tokens: tuple[int, int]) -> None:
    block = attention_block()
    a, b = (torch.randn(2, 8, count, 6) for count in tokens)
    with torch.no_grad():
        got = block(a, b)
    for dataset in range(2):
        for row in range(6):
            expected = by_formula(block, *(t[dataset, ..., row].T.numpy() for t in (a, b)))
            np.testing.assert_allclose(got[dataset, ..., row].T, expected, rtol=1e-4, atol=1e-5)


def test_attention_over_samples_and_to_itself() -> None:
    block = attention_block()
    a = torch.randn(2, 8, 3, 6)
    with torch.no_grad():
        over_samples, to_itself = block.over_samples(a), block.to_itself(a)
    for dataset in range(2):
        for column in range(3):
            rows = a[dataset, :, column].T.numpy()
            np.testing.assert_allclose(
                over_samples[dataset, :, column].T,
                by_formula(block, rows, rows),
                rtol=1e-4,
                atol=1e-5,
            )
            alone = np.concatenate([by_formula(block, row[None], row[None]) for row in rows])
            np.testing.assert_allclose(to_itself[dataset, :, column].T, alone, rtol=1e-4, atol=1e-5)


def test_residual_correlations() -> None:
    generator = np.random.default_rng(3)
    x, y = generator.normal(size=(N, D_X, 3)), generator.normal(size=(N, D_Y, 3))
    y[:, 2, 1] += x[:, 0, 1]
    x, y = ((v - v.mean(0)) / v.std(0) for v in (x, y))
    of_x, of_y = (torch.from_numpy(v).permute(1, 2, 0)[None] for v in (x, y))
    got = residual_correlations(of_x, of_y).amax((1, 2))[0].numpy()
    r2 = np.einsum("nik,njk->ijk", x, y) ** 2 / N**2
    # The robust t statistic of a regression without a constant (White 1980).
    t = N * r2 / np.einsum("nik,njk->ijk", x**2, y**2) * N
    expected = [np.arcsinh(t).max((0, 1)), np.log(r2 + 1e-5).max((0, 1))]
    np.testing.assert_allclose(got, np.concatenate(expected), rtol=1e-6)


def normal(*shape: int, seed: int) -> torch.Tensor:
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    x = x - x.mean(-1, keepdim=True)
    return x / x.square().mean(-1, keepdim=True).sqrt()


def correlated(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Correlates one channel, which also stands for its deviations from neighbours."""
    x, y = (torch.cat([v, v], dim=2) for v in (x, y))
    return joint_correlations(x, y, 1, 1, deviations_of=0)


@pytest.mark.parametrize("d", [1, 5, 20])
def test_joint_correlations_are_standard_under_h0_for_any_number_of_components(d: int) -> None:
    # Components that are alike: each shares half of its variance with the others.
    common, x = normal(300, 1, 1, 200, seed=0), normal(300, d, 1, 200, seed=1)
    x = (x + common) / (x + common).square().mean(-1, keepdim=True).sqrt()
    t, _ = correlated(x, normal(300, d, 1, 200, seed=2))
    assert t.shape == (300, 1, 1, 2)
    assert abs(t[..., 0].mean()) < 0.2
    assert 0.7 < t[..., 0].std() < 1.3
    # There are no neighbours in this test, but the variance of the last channel allows for them.
    assert t[..., 1].std() < t[..., 0].std()


def test_joint_correlations_grow_with_strength_and_rows() -> None:
    def statistic(rho: float, n: int) -> float:
        x, e = normal(40, 1, 1, n, seed=3), normal(40, 1, 1, n, seed=4)
        y = rho * x + (1 - rho**2) ** 0.5 * e
        y = (y - y.mean(-1, keepdim=True)) / y.std(-1, keepdim=True, correction=0)
        return float(correlated(x, y)[0][..., 0].median())

    by_strength = [statistic(rho, 200) for rho in (0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99)]
    assert (np.diff(by_strength) > 0).all()
    by_rows = [statistic(0.9, n) for n in (100, 1000, 10_000)]
    np.testing.assert_allclose(np.diff(np.log(by_rows)), np.log(10), rtol=0.1)


def test_joint_statistics_of_one_component_are_those_of_the_pair() -> None:
    torch.manual_seed(0)
    head = CrossCovarianceHead(ModelConfig(e=16, attention_heads=2, head_count=2, head_width=4))
    x, y = (f[:, :1] for f in features(5))
    lifted = [
        Lifted(f, squared_norms(f), spread(f))
        for f, spread in ((x, head.spread), (y, head.joint_spread))
    ]
    of_x, of_y = lifted
    one_by_one = head.compare(of_x, of_y)
    t, effect = head.compare_jointly(of_x, of_y, 1, 1)
    torch.testing.assert_close(torch.asinh(t), one_by_one[..., :HEADS])
    torch.testing.assert_close(effect, one_by_one[..., HEADS:])
