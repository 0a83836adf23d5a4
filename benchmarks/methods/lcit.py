"""LCIT: the correlation of the latent variables of X and Y under conditional normalising flows.

References:
    Duong and Nguyen, "Conditional Independence Testing via Latent Representation Learning",
    ICDM 2022.
"""

import math

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from acid_causal.errors import InputError
from benchmarks.methods.method import Array, Method, one_by_one, single_columns, standardised

COMPONENTS = 32
# The paper does not say. On 60 datasets 4 to 64 units made no visible difference.
HIDDEN = 32
LEARNING_RATE = 5e-3
WEIGHT_DECAY = 5e-5
EPOCHS = 100
BATCH = 64
VALIDATION = 0.3
PATIENCE = 10
QUANTILES = (0.025, 0.975)  # to which the data are clipped
# Phi^-1 of this is -5. Further out the cumulative probability of a flow is not reliable.
_SMALLEST_U = 3e-7


def lcit(x: Array, y: Array, z: Array | None) -> float:
    """Tests whether the latent variables of X and Y given Z are correlated.

    Args:
        x: Shape (n, 1).
        y: Shape (n, 1).
        z: Shape (n, d_z), or None.

    Returns:
        Two-sided p-value of Fisher's z with n - 3 degrees of freedom.

    Raises:
        InputError: More than one column each, a constant one, or fewer than four rows.
    """
    x, y, z = single_columns("LCIT", x, y, z)
    if len(x) < 4:
        raise InputError(f"LCIT needs at least four rows, got {len(x)}")
    x, y, z = _clipped(x), _clipped(y), _clipped(z)
    targets = np.stack([standardised(x), standardised(y)])
    # Constant columns of Z are left out. The explicit shape covers the case that none is left.
    varying = [standardised(column) for column in z.T if np.ptp(column) > 0]
    given = np.reshape(varying, (len(varying), len(x))).T
    latent_x, latent_y = latents(torch.as_tensor(targets), torch.as_tensor(given)).numpy()
    correlation = np.mean(standardised(latent_x) * standardised(latent_y))
    statistic = math.sqrt(len(x) - 3) * np.arctanh(np.clip(correlation, -1 + 1e-12, 1 - 1e-12))
    return float(2 * stats.norm.sf(abs(statistic)))


def _clipped(values: Array) -> Array:
    # Before standardising, so that an outlier does not set the scale.
    return np.clip(values, *np.quantile(values, QUANTILES, axis=0))


def latents(targets: Tensor, given: Tensor) -> Tensor:
    """Fits a flow for each target and maps the target to its latent normal variable.

    The flows share no parameters, and each has its own early stopping; they only share the loop.

    Args:
        targets: Shape (targets, n).
        given: Z, shape (n, d_z).

    Returns:
        Shape (targets, n).
    """
    count, n = targets.shape
    order = torch.randperm(n)
    held_out, train = order.split([math.ceil(VALIDATION * n), n - math.ceil(VALIDATION * n)])
    parameters = _initial(count, given.shape[1], given.dtype)
    optimizer = torch.optim.Adam(
        parameters, lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY, fused=True
    )
    best = [parameter.detach().clone() for parameter in parameters]
    best_loss = torch.full((count,), math.inf, dtype=given.dtype)
    waited = torch.zeros(count, dtype=torch.long)
    for _ in range(EPOCHS):
        for rows in train[torch.randperm(len(train))].split(BATCH):
            loss = _loss(parameters, targets[:, rows], given[rows])
            optimizer.zero_grad()
            loss.sum().backward()
            optimizer.step()
        with torch.no_grad():
            loss = _loss(parameters, targets[:, held_out], given[held_out])
            better = (loss < best_loss) & (waited < PATIENCE)
            best_loss = torch.where(better, loss, best_loss)
            waited = torch.where(better, 0, waited + 1)
            for kept, parameter in zip(best, parameters, strict=True):
                kept[better] = parameter[better]
        if (waited >= PATIENCE).all():
            break
    return _latent(best, targets, given)


# ---- the flows -----------------------------------------------------------------


def _initial(count: int, d_z: int, dtype: torch.dtype) -> list[Tensor]:
    """Draws weights and biases of one hidden layer and of the output, for each of the flows."""
    parameters = []
    for inputs, outputs in ((d_z, HIDDEN), (HIDDEN, 3 * COMPONENTS)):
        bound = 1 / math.sqrt(max(inputs, 1))
        for rows in (inputs, 1):
            uniform = 2 * torch.rand(count, rows, outputs, dtype=dtype) - 1
            parameters.append((bound * uniform).requires_grad_())
    return parameters


def _mixture(parameters: list[Tensor], given: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns log w_k(z), m_k(z) and log s_k(z), each of shape (flows, n, components)."""
    weight, bias, weight_out, bias_out = parameters
    hidden = torch.relu(torch.baddbmm(bias, given.expand(len(weight), -1, -1), weight))
    logits, m, log_s = torch.baddbmm(bias_out, hidden, weight_out).chunk(3, dim=-1)
    return torch.log_softmax(logits, dim=-1), m, log_s


def _loss(parameters: list[Tensor], targets: Tensor, given: Tensor) -> Tensor:
    """Returns each flow's mean negative log-likelihood, without constants, shape (flows,)."""
    log_w, m, log_s = _mixture(parameters, given)
    scaled = (targets[..., None] - m) * torch.exp(-log_s)
    return -torch.logsumexp(log_w - log_s - 0.5 * scaled**2, dim=-1).mean(dim=-1)


def _latent(parameters: list[Tensor], targets: Tensor, given: Tensor) -> Tensor:
    """Returns Phi^-1(sum_k w_k Phi((x - m_k) / s_k)), shape (flows, n)."""
    log_w, m, log_s = _mixture(parameters, given)
    scaled = (targets[..., None] - m) * torch.exp(-log_s)
    u = (torch.exp(log_w) * torch.special.ndtr(scaled)).sum(dim=-1)
    return torch.special.ndtri(u.clamp(_SMALLEST_U, 1 - _SMALLEST_U))


METHODS = (
    Method(
        "lcit",
        one_by_one(lcit),
        lambda n, d_z: n > 3,
        f"runs at n > 3; at n <= 92 one batch holds all training rows: at most {EPOCHS} steps.",
    ),
)
