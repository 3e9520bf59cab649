"""The softmax over the vocabulary: its gradient over some candidates, and its exact logarithm in blocks of words that
stay in the processor's cache."""

import math

import torch
from torch import Tensor

Slope = tuple[Tensor | None, Tensor]  # the rows of a parameter that were touched (None: all), and their gradient

SAFE = 30  # float32 holds exp of -87 to 88: what is lost below is at most e^-57 a word


def softmax_gradient(y: Tensor, log_inclusion: Tensor, column: Tensor) -> tuple[Tensor, Tensor]:
    """Loss () and its gradient (B, K) on y, in whose place it comes.

    y: (B, K) logits of the candidates less log_inclusion (K,); column: (B,) the target's place among them. The loss is
    the mean over the batch of log sum exp(y) less the target's own logit.
    """
    own = log_inclusion[column]
    y -= y.amax(1, keepdim=True)
    target = y.gather(1, column[:, None])
    total = y.exp_().sum(1, keepdim=True)
    loss = (total.log() - target).mean() - own.mean()
    y /= total * len(y)
    y.scatter_add_(1, column[:, None], torch.full_like(target, -1 / len(y)))
    return loss, y


@torch.no_grad()
def output_gradient(
    z: Tensor, weight: Tensor, bias: Tensor, target: Tensor, candidates: Tensor, log_inclusion: Tensor
) -> tuple[Tensor, Tensor, Slope, Slope]:
    """One batch through y = bias + weight z: the mean loss (), its gradient on z (B, D), on weight and on bias.

    z: (B, D); weight: (V, D); bias: (V,); target: (B,); candidates and log_inclusion: (K,), as Network.gradient has
    them.
    """
    every = len(candidates) == len(bias)
    rows = weight if every else weight[candidates]  # no copy of all of them
    y = torch.addmm(bias[candidates] - log_inclusion, z, rows.T)
    loss, dy = softmax_gradient(y, log_inclusion, torch.searchsorted(candidates, target))
    touched = None if every else candidates
    return loss, dy @ rows, (touched, dy.T @ z), (touched, dy.sum(0))


@torch.no_grad()
def log_partition(z: Tensor, weight: Tensor, bias: Tensor, block: int = 512) -> Tensor:
    """log sum_i exp(bias_i + weight_i z), (B,), from z (B, D), weight (V, D), bias (V,).

    block: words of the vocabulary at a time. exp(b_i + y_i) is taken as exp(b_i) exp(y_i), so that biases and sum are
    one product of matrix and vector, and without the usual shift by the maximum: each would be one more pass over all
    logits. A batch for which this comes near the limits of exp in float32 is done again with care.
    """
    blocks = [slice(start, start + block) for start in range(0, len(bias), block)]
    scale = bias.exp()
    total, space = z.new_zeros(len(z)), z.new_empty(len(z), block)
    for rows in blocks:
        y = space[:, : len(scale[rows])]
        total.addmv_(torch.mm(z, weight[rows].T, out=y).exp_(), scale[rows])
    log_total = total.log()
    if bool((log_total.abs() < SAFE).all() & (bias.abs() < SAFE).all()):
        return log_total
    log_total = torch.full_like(total, -math.inf)
    for rows in blocks:
        exact = torch.addmm(bias[rows], z, weight[rows].T)
        log_total = torch.logaddexp(log_total, torch.logsumexp(exact, 1))
    return log_total
