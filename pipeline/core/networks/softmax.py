"""The exact softmax over the vocabulary, in blocks of words that stay in the processor's cache."""

import torch
from torch import Tensor, nn

SAFE = 30  # float32 holds exp of -87 to 88: what is lost below is at most e^-57 a word


def log_probabilities(z: Tensor, weight: Tensor, bias: Tensor, target: Tensor) -> Tensor:
    """Natural-log probability (B,) of each target (B,) where words have the scores bias + weight z."""
    own = (z * weight[target]).sum(1) + bias[target]
    return own - log_partition(z, weight, bias)


@torch.no_grad()
def log_partition(z: Tensor, weight: Tensor, bias: Tensor, block: int = 512) -> Tensor:
    """log sum_i exp(bias_i + weight_i z), (B,), from z (B, D), weight (V, D), bias (V,).

    block: words of the vocabulary at a time. Without the usual shift by the maximum, which is one more pass over all
    scores. A batch for which this comes near the limits of exp in float32 is done again with care.
    """
    blocks = list(zip(weight.split(block), bias.split(block), strict=True))
    total = sum(nn.functional.linear(z, *rows).exp_().sum(1) for rows in blocks).log()
    if bool((total.abs() < SAFE).all()):
        return total
    return torch.logsumexp(torch.stack([torch.logsumexp(nn.functional.linear(z, *rows), 1) for rows in blocks]), 0)
