"""The paper's attention block, over dimensions or over samples.

`MHAttn(A, B) = A Wq + Drop(FFN(LN(A Wq + Drop(mha(A, B)))))` (section "Model architecture").
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

# Up to so many tokens attention is done by hand; measured on a CPU, heads of width 8.
_FEW = 8


class FeedForward(nn.Sequential):
    """Two linear maps with a GELU between them."""

    def __init__(self, width_in: int, hidden: int, width_out: int) -> None:
        super().__init__(nn.Linear(width_in, hidden), nn.GELU(), nn.Linear(hidden, width_out))


class MHAttn(nn.Module):
    """Multi-head attention of A to B with the paper's inner skip, layer norm and FFN.

    Args:
        e: width of a token.
        heads: attention heads; must divide e.
        dropout: chance of dropping a unit, in training.
    """

    def __init__(self, e: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(e, e, bias=False)
        self.key = nn.Linear(e, e, bias=False)
        self.value = nn.Linear(e, e, bias=False)
        self.norm = nn.LayerNorm(e)
        self.ffn = FeedForward(e, e, e)
        self.drop = nn.Dropout(dropout)

    def forward(
        self, a: Float[Tensor, "*rows length_a e"], b: Float[Tensor, "*rows length_b e"]
    ) -> Float[Tensor, "*rows length_a e"]:
        """Lets each token of `a` attend to the tokens of `b` in the same row."""
        return self.attend(a, *self.keys_values(b))

    def keys_values(
        self, b: Float[Tensor, "*rows length_b e"]
    ) -> tuple[Float[Tensor, "*rows length_b e"], Float[Tensor, "*rows length_b e"]]:
        """Computes what `attend` needs of B, to be shared by many A."""
        return self.key(b), self.value(b)

    def attend(
        self,
        a: Float[Tensor, "*rows length_a e"],
        key: Float[Tensor, "*rows length_b e"],
        value: Float[Tensor, "*rows length_b e"],
    ) -> Float[Tensor, "*rows length_a e"]:
        """Finishes the block for A, given the keys and values of B."""
        query = self.query(a)
        heads = (self._split(query), self._split(key), self._split(value))
        length_b = key.shape[-2]
        if length_b == 1:  # attention to a single token is that token
            attended = value.expand_as(query)
        elif length_b <= _FEW:
            attended = _attend_few(*heads).flatten(-2)
        else:
            q, k, v = (tokens.transpose(-2, -3) for tokens in heads)
            attended = scaled_dot_product_attention(q, k, v).transpose(-2, -3).flatten(-2)
        return query + self.drop(self.ffn(self.norm(query + self.drop(attended))))

    def _split(self, tokens: Tensor) -> Tensor:  # (*rows, length, e) -> (*rows, length, heads, w)
        return tokens.unflatten(-1, (self.heads, -1))


def _attend_few(
    query: Float[Tensor, "*rows length_a heads w"],
    key: Float[Tensor, "*rows length_b heads w"],
    value: Float[Tensor, "*rows length_b heads w"],
) -> Float[Tensor, "*rows length_a heads w"]:
    """Attention to a handful of tokens, one at a time, over all rows at once.

    Matrix products and softmaxes of this size, one for each row, are all overhead.
    """
    count, scale = key.shape[-3], 1 / math.sqrt(query.shape[-1])
    tokens = range(count)
    scores = torch.stack([(query * key[..., j : j + 1, :, :]).sum(-1) for j in tokens])
    weight = torch.softmax(scores * scale, dim=0)[..., None]
    attended = weight[0] * value[..., :1, :, :]
    for j in tokens[1:]:
        attended = torch.addcmul(attended, weight[j], value[..., j : j + 1, :, :])
    return attended


def over_samples(
    block: MHAttn, tokens: Float[Tensor, "batch n columns e"]
) -> Float[Tensor, "batch n columns e"]:
    """Applies a block along the samples of each column (SoS)."""
    by_column = tokens.transpose(1, 2)
    return block(by_column, by_column).transpose(1, 2)
