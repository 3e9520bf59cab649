"""The gradient of the mean negative log-likelihood of a batch, written by hand: no graph, few passes over memory.

Beside equation 1, for one example with target t among the candidates:
    dL/dy = softmax(y) - [t];  dL/dWU = dL/dy z^T;  dL/dz = WU^T dL/dy with z = [x; a]
    dL/da -> dL/d(d + Hx) = dL/da (1 - a^2);  dL/dx = its W part + H^T dL/d(d + Hx);  dL/dC by words of the context.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.core.network import Network


@dataclass
class Gradient:
    """Gradients; those of C, WU and b only for the rows that the batch touched."""

    loss: Tensor  # (), mean negative log-likelihood, natural log
    words: Tensor  # (R,) distinct words of the contexts
    C: Tensor  # (R, m)
    H: Tensor  # (h, (n-1)m)
    d: Tensor  # (h)
    candidates: Tensor  # (K,)
    WU: Tensor  # (K, D)
    b: Tensor  # (K)


def softmax_gradient(z: Tensor, rows: Tensor, bias: Tensor, column: Tensor) -> tuple[Tensor, Tensor]:
    """Loss () and dL/dy (B, K) of y = bias + rows z with targets at `column` (B,); L is the mean over the batch."""
    y = torch.addmm(bias, z, rows.T)
    y -= y.amax(1, keepdim=True)
    target = y.gather(1, column[:, None])
    total = y.exp_().sum(1, keepdim=True)
    loss = (total.log() - target).mean()
    y /= total * len(y)
    y.scatter_add_(1, column[:, None], torch.full_like(target, -1 / len(y)))
    return loss, y


@torch.no_grad()
def gradient(
    network: Network,
    context: Tensor,
    target: Tensor,
    candidates: Tensor,
    log_inclusion: Tensor,
    dropout: float = 0.0,
    generator: torch.Generator | None = None,
) -> Gradient:
    """One batch: context (B, n-1) and target (B,) ids, candidates (K,) rising with log_inclusion (K,).

    dropout: each unit of z = [x; a] is zeroed with this probability on its way to the output, the rest scaled up.
    """
    direct = network.architecture.direct
    x = network.features(context)
    a = network.hidden(x)
    z = torch.cat([x, a], 1) if direct else a
    if dropout:
        keep = torch.rand(z.shape, dtype=z.dtype, device=z.device, generator=generator).ge_(dropout).div_(1 - dropout)
        z = z * keep
    rows = network.WU if len(candidates) == len(network.b) else network.WU[candidates]  # no copy of all of them
    column = torch.searchsorted(candidates, target)
    loss, dy = softmax_gradient(z, rows, network.b[candidates] - log_inclusion, column)

    dz = dy @ rows
    if dropout:
        dz *= keep
    split = x.shape[1] if direct else 0
    dpre = dz[:, split:] * (1 - a * a)
    dx = dpre @ network.H
    if direct:
        dx += dz[:, :split]
    words, place = torch.unique(context, return_inverse=True)
    dC = torch.zeros(len(words), network.C.shape[1], dtype=dx.dtype, device=dx.device)
    dC.index_add_(0, place.flatten(), dx.view(-1, dC.shape[1]))
    return Gradient(loss, words, dC, dpre.T @ x, dpre.sum(0), candidates, dy.T @ z, dy.sum(0))
