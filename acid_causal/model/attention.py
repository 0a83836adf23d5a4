"""The paper's attention block, over dimensions or over samples.

`MHAttn(A, B) = A Wq + Drop(FFN(LN(A Wq + Drop(mha(A, B)))))` (section "Model architecture").

Tensors have their samples last, (batch, e, tokens, n): operations on each sample are contiguous in
memory, and a linear map is one large matrix product for each dataset.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

# Up to this many tokens on either side an explicit loop is faster than torch's attention (CPU).
_FEW_TOKENS = 12
# Above this many tokens on both sides `_attend` is faster, in spite of its copies.
_MANY_TOKENS = 64


def linear_map(
    linear: nn.Linear, x: Float[Tensor, "batch width_in tokens n"]
) -> Float[Tensor, "batch width_out tokens n"]:
    """Applies a linear map to every token of every sample."""
    weight = linear.weight.expand(len(x), -1, -1)
    if linear.bias is None:
        y = torch.bmm(weight, x.flatten(2))
    else:
        y = torch.baddbmm(linear.bias[:, None], weight, x.flatten(2))
    return y.unflatten(2, x.shape[2:])


class FeedForward(nn.Sequential):
    """Two linear maps with a GELU between them, along the second dimension."""

    def __init__(self, width_in: int, hidden: int, width_out: int) -> None:
        super().__init__(nn.Linear(width_in, hidden), nn.GELU(), nn.Linear(hidden, width_out))

    def forward(
        self, x: Float[Tensor, "batch width_in tokens n"]
    ) -> Float[Tensor, "batch width_out tokens n"]:
        """Applies them to every token of every sample."""
        first, _, second = self
        assert isinstance(first, nn.Linear)
        assert isinstance(second, nn.Linear)
        return linear_map(second, gelu(linear_map(first, x)))


class TokenNorm(nn.LayerNorm):
    """Layer norm of each token, along the second dimension."""

    def forward(self, x: Float[Tensor, "batch e tokens n"]) -> Float[Tensor, "batch e tokens n"]:
        """Standardises every token of every sample, then scales and shifts it."""
        centred = x - x.mean(dim=1, keepdim=True)
        scale = (centred.square().mean(dim=1, keepdim=True) + self.eps).rsqrt()
        return torch.addcmul(self.bias[:, None, None], centred * scale, self.weight[:, None, None])


class MHAttn(nn.Module):
    """Multi-head attention of A to B with the paper's inner skip, layer norm and FFN.

    Args:
        e: width of a token.
        heads: attention heads; must divide e.
        dropout: dropout probability.
    """

    def __init__(self, e: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(e, e, bias=False)
        self.key = nn.Linear(e, e, bias=False)
        self.value = nn.Linear(e, e, bias=False)
        self.norm = TokenNorm(e)
        self.ffn = FeedForward(e, e, e)
        self.drop = nn.Dropout(dropout)

    def forward(
        self, a: Float[Tensor, "batch e tokens_a n"], b: Float[Tensor, "batch e tokens_b n"]
    ) -> Float[Tensor, "batch e tokens_a n"]:
        """Lets each token of `a` attend to the tokens of `b` in the same sample."""
        return self.attend(a, *self.keys_values(b))

    def keys_values(
        self, b: Float[Tensor, "batch e tokens_b n"]
    ) -> tuple[Float[Tensor, "batch e tokens_b n"], Float[Tensor, "batch e tokens_b n"]]:
        """Computes the keys and values of B for `attend`; they can be shared by many A."""
        return linear_map(self.key, b), linear_map(self.value, b)

    def attend(
        self,
        a: Float[Tensor, "batch e tokens_a n"],
        key: Float[Tensor, "batch e tokens_b n"],
        value: Float[Tensor, "batch e tokens_b n"],
    ) -> Float[Tensor, "batch e tokens_a n"]:
        """Finishes the block for A, given the keys and values of B."""
        query = linear_map(self.query, a)
        tokens_a, tokens_b = query.shape[2], key.shape[2]
        if tokens_b == 1:  # attention to a single token returns its value
            return self._finish(query, value.expand_as(query))
        heads = (self._split(query), self._split(key), self._split(value))
        if min(tokens_a, tokens_b) <= _FEW_TOKENS:
            return self._finish(query, _attend_one_by_one(*heads).flatten(1, 2))
        q, k, v = (tokens.permute(0, 4, 1, 3, 2) for tokens in heads)  # (batch, n, heads, _, w)
        attend = (
            scaled_dot_product_attention if min(tokens_a, tokens_b) <= _MANY_TOKENS else _attend
        )
        return self._finish(query, attend(q, k, v).permute(0, 2, 4, 3, 1).flatten(1, 2))

    def to_itself(self, a: Float[Tensor, "batch e tokens n"]) -> Float[Tensor, "batch e tokens n"]:
        """Lets each token attend only to itself."""
        return self._finish(linear_map(self.query, a), linear_map(self.value, a))

    def over_samples(
        self, a: Float[Tensor, "batch e columns n"]
    ) -> Float[Tensor, "batch e columns n"]:
        """Lets each sample of a column attend to the samples of the same column (SoS)."""
        query = linear_map(self.query, a)
        heads = (self._split(tokens) for tokens in (query, *self.keys_values(a)))
        q, k, v = (tokens.permute(0, 3, 1, 4, 2) for tokens in heads)  # (batch, _, heads, n, w)
        attended = _attend(q, k, v).permute(0, 2, 4, 1, 3).flatten(1, 2)
        return self._finish(query, attended)

    def _finish(
        self, query: Float[Tensor, "batch e tokens n"], attended: Float[Tensor, "batch e tokens n"]
    ) -> Float[Tensor, "batch e tokens n"]:
        return query + self.drop(self.ffn(self.norm(query + self.drop(attended))))

    def _split(self, tokens: Tensor) -> Tensor:  # (batch, e, _, n) -> (batch, heads, w, _, n)
        return tokens.unflatten(1, (self.heads, -1))


def _attend(
    query: Float[Tensor, "batch outer heads tokens_a w"],
    key: Float[Tensor, "batch outer heads tokens_b w"],
    value: Float[Tensor, "batch outer heads tokens_b w"],
) -> Float[Tensor, "batch outer heads tokens_a w"]:
    """Attends without storing the weights of all pairs of tokens.

    PyTorch's memory-efficient kernels need four dimensions, the last one contiguous.
    """
    q, k, v = (tokens.flatten(0, 1).contiguous() for tokens in (query, key, value))
    return scaled_dot_product_attention(q, k, v).unflatten(0, query.shape[:2])


def _attend_one_by_one(
    query: Float[Tensor, "batch heads w tokens_a n"],
    key: Float[Tensor, "batch heads w tokens_b n"],
    value: Float[Tensor, "batch heads w tokens_b n"],
) -> Float[Tensor, "batch heads w tokens_a n"]:
    """Attends to a few tokens in a loop over tokens, vectorised over samples.

    One small matrix product and softmax per sample would be mostly overhead.
    """
    tokens, scale = range(key.shape[3]), 1 / math.sqrt(query.shape[2])
    scores = torch.stack([(query * key[:, :, :, j : j + 1]).sum(2, keepdim=True) for j in tokens])
    weight = torch.softmax(scores * scale, dim=0)
    attended = weight[0] * value[:, :, :, :1]
    for j in tokens[1:]:
        attended = torch.addcmul(attended, weight[j], value[:, :, :, j : j + 1])
    return attended
